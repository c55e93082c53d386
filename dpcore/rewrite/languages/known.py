"""Which languages have a table of their own."""

from __future__ import annotations

from functools import lru_cache

from dpcore.rewrite.languages.english import ENGLISH
from dpcore.rewrite.languages.german import GERMAN
from dpcore.rewrite.languages.language import Language
from dpcore.rewrite.languages.turkish import TURKISH

LANGUAGES = {language.code: language for language in (ENGLISH, GERMAN, TURKISH)}
"""By their codes."""


@lru_cache(maxsize=64)
def rules_of(code: str) -> Language:
    """The table of a language; for one without a table an empty one: Unicode's rules alone.

    Args:
        code: of ISO 639, as `Lexicon.language`.
    """
    return LANGUAGES.get(code) or Language(code)


def described(code: str) -> str:
    """A language and what is missing of it, in a line."""
    language = rules_of(code)
    if not language.name:
        return f"{code}: no rules of its own, so capitals by Unicode and no function words"
    return language.name if language.stop_words else f"{language.name}: no function words"
