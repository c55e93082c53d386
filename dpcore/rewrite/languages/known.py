"""Languages with a table of rules."""

from __future__ import annotations

from functools import lru_cache

from dpcore.rewrite.languages.english import ENGLISH
from dpcore.rewrite.languages.german import GERMAN
from dpcore.rewrite.languages.language import Language

# Turkish: i has the capital İ, and ı the capital I. There are no function words.


TURKISH = Language(code="tr", name="Turkish", thousands=".", upper_of={"i": "İ", "ı": "I"})


LANGUAGES = {language.code: language for language in (ENGLISH, GERMAN, TURKISH)}
"""Tables by language code."""


@lru_cache(maxsize=64)
def rules_of(code: str) -> Language:
    """Return the table of a language; one without a table gets an empty one (Unicode's rules).

    Args:
        code: of ISO 639, as `Lexicon.language`.
    """
    return LANGUAGES.get(code) or Language(code)


def describe_language(code: str) -> str:
    """Describe a language and its missing rules in one line."""
    language = rules_of(code)
    if not language.name:
        return f"{code}: no rules of its own, so capitals by Unicode and no function words"
    return language.name if language.stop_words else f"{language.name}: no function words"
