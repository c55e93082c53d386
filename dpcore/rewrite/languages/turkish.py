"""Turkish: i has the capital İ, and ı the capital I. There are no function words."""

from __future__ import annotations

from dpcore.rewrite.languages.language import Language

TURKISH = Language(code="tr", name="Turkish", thousands=".", upper_of={"i": "İ", "ı": "I"})
