"""Turkish: i has the capital İ, and ı the capital I. It has no function words here."""

from __future__ import annotations

from dpcore.rewrite.languages.language import Language

TURKISH = Language(code="tr", name="Turkish", thousands=".", upper_of={"i": "İ", "ı": "I"})
