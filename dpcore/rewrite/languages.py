"""Rules of languages: function (stop) words, contractions, capitals, numbers.

A language is one table. It is part of the tokenizer and thus public: nothing in it may be adapted
to a text that is to be protected. A rule that a table leaves empty does not apply in that language;
nothing is borrowed from another one.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property, lru_cache


@dataclass(frozen=True)
class Ending:
    """A contracted ending.

    Attributes:
        text: as it is written, such as "n't".
        full: the word that it abbreviates.
        after: the words that it may follow, in lower case; None for any.
    """

    text: str
    full: str
    after: frozenset[str] | None = None


@dataclass(frozen=True, eq=False)
class Language:
    """Rules of a language.

    Attributes:
        code: of ISO 639, as `Lexicon.language`.
        name: in English; empty for a language without a table.
        stop_words: function words that the stop-word option releases, in lower case.
        clitics: endings that some lexicons hold as separate words; written without a space before
            them.
        possessive: an ending that is released where the word before it is known; "" for none.
        contractions: words that abbreviate two others, in lower case.
        endings: contracted endings, the first that fits counts.
        always_capital: words, in lower case, that are always written with a capital, so that it
            says nothing about a name.
        thousands: the character between groups of three digits; "" for none.
        capitals_released: information released where capitals are kept, to be shown to users; ""
            for the text of `CASE_RELEASES`.
        possessive_released: information released by `possessive`, to be shown to users; "" for
            none.
        stop_words_released: information released with the function words, to be shown to users.
        upper_of: capitals of small letters that are not Unicode's, both ways.
        any_capitals: True if a word is also found in other capitals of the lexicon ("HAUS" as
            "Haus"), not only in small letters.
    """

    code: str
    name: str = ""
    stop_words: frozenset[str] = frozenset()
    clitics: frozenset[str] = frozenset()
    possessive: str = ""
    contractions: Mapping[str, tuple[str, str]] = field(default_factory=dict)
    endings: tuple[Ending, ...] = ()
    always_capital: frozenset[str] = frozenset()
    thousands: str = ""
    capitals_released: str = ""
    possessive_released: str = ""
    stop_words_released: str = ""
    upper_of: Mapping[str, str] = field(default_factory=dict)
    any_capitals: bool = True

    def lower(self, text: str) -> str:
        """Return a text in small letters."""
        return text.translate(self._small).lower() if self.upper_of else text.lower()

    def upper(self, text: str) -> str:
        """Return a text in capitals."""
        return text.translate(self._large).upper() if self.upper_of else text.upper()

    def title(self, letter: str) -> str:
        """Return a letter as the first of a word with a capital."""
        return self.upper_of.get(letter) or letter.title()

    def split_contraction(self, word: str) -> tuple[tuple[str, str], ...]:
        """Return the ways to write a contraction as two words.

        Args:
            word: With a straight apostrophe, in any case.

        Returns:
            Candidates, the best first: word and ending ("do", "n't"), then word and word ("do",
            "not"). Empty for a word that is not a contraction. The case of the first part is kept.
        """
        lower = self.lower(word)
        if lower in self.contractions:
            return (self.contractions[lower],)
        for ending in self.endings:
            before = lower.removesuffix(ending.text)
            if before in ("", lower) or not (ending.after is None or before in ending.after):
                continue
            stem = word[: -len(ending.text)]
            return (stem, ending.text), (stem, ending.full)
        return ()

    def ungrouped(self, number: str) -> str:
        """Return a number without the marks between its thousands; "" if there are none."""
        if not self.thousands or not self._grouped.fullmatch(number):
            return ""
        return number.replace(self.thousands, "")

    @cached_property
    def _grouped(self) -> re.Pattern[str]:
        return re.compile(rf"\d{{1,3}}(?:{re.escape(self.thousands)}\d{{3}})+")

    @cached_property
    def _small(self) -> dict[int, str]:
        return {ord(large): small for small, large in self.upper_of.items()}

    @cached_property
    def _large(self) -> dict[int, str]:
        return {ord(small): large for small, large in self.upper_of.items()}


# English: function words, contractions and endings, the pronoun with a capital.


_STOP_WORDS = """
    a an the this that these those
    i me my mine myself you your yours yourself he
    him his himself she her hers herself
    it its itself we us our ours ourselves they them their theirs themselves
    who whom whose which what when where why how
    and or but nor so yet if then than because while although though unless until whether
    of in on at by for with from to into onto upon about above below over under between among
    through during before after against without within across behind beyond toward towards as
    up down out off
    be am is are was were been being have has had having do does did doing
    will would shall should can could may might must
    not no there here too very also just only both each either neither some any all
    i'm i've i'll i'd it's that's don't doesn't didn't isn't aren't wasn't weren't
    """

ENGLISH = Language(
    code="en",
    name="English",
    stop_words=frozenset(_STOP_WORDS.split()),
    clitics=frozenset(["n't", "'s", "'m", "'re", "'ve", "'ll", "'d"]),
    possessive="'s",
    contractions={
        "can't": ("can", "not"),
        "cannot": ("can", "not"),
        "won't": ("will", "not"),
        "shan't": ("shall", "not"),
        "ain't": ("is", "not"),
        "let's": ("let", "us"),
    },
    endings=(
        Ending("n't", "not"),
        Ending("'m", "am"),
        Ending("'re", "are"),
        Ending("'ve", "have"),
        Ending("'ll", "will"),
        Ending("'d", "would"),
        # After these words 's is the verb; after any other it is taken for the possessive.
        Ending(
            "'s",
            "is",
            frozenset(
                "it that he she what there here who where how when why everything something".split()
            ),
        ),
    ),
    always_capital=frozenset(["i", "i'm", "i've", "i'll", "i'd"]),
    thousands=",",
    possessive_released=(
        "the possessive ending 's of a word whose possessive is not in the vocabulary"
    ),
    stop_words_released=(
        "function words such as 'the' are released unchanged: "
        "their presence and position are not protected"
    ),
    any_capitals=False,
)


# German: function words, the contracted "es", points between thousands.
#
# Nouns have a capital. A word keeps the capitals that it has in the lexicon, so that a lexicon with
# capitals writes its nouns with them under either policy for capitals.


_STOP_WORDS_GERMAN = """
    der die das den dem des ein eine einen einem einer eines kein keine keinen keinem keiner
    keines
    dieser diese dieses diesen diesem jener jene jenes jenen jenem jeder jede jedes jeden jedem
    derselbe dieselbe dasselbe
    ich mich mir du dich dir er ihn ihm sie es wir uns ihr euch ihnen sich man
    mein meine meinen meinem meiner meines dein deine deinen deinem deiner deines
    sein seine seinen seinem seiner seines ihre ihren ihrem ihrer ihres
    unser unsere unseren unserem unserer euer eure euren eurem eurer
    wer wen wem wessen was wann wo woher wohin warum wie welcher welche welches welchen welchem
    und oder aber denn sondern sowie noch wenn als dann weil da während obwohl falls ob dass daß
    damit bevor nachdem bis seit seitdem sobald
    in im ins an am ans auf aufs aus bei beim mit nach von vom vor zu zum zur für gegen ohne um
    über
    unter zwischen neben hinter durch wegen trotz außer entlang
    bin bist ist sind seid war warst waren wart gewesen sei wäre wären
    habe hast hat haben habt hatte hattest hatten hattet gehabt hätte hätten
    werde wirst wird werden werdet wurde wurden worden würde würden
    kann kannst können könnt konnte konnten könnte könnten muss muß musst müssen müsst musste
    mussten
    soll sollst sollen sollte sollten will willst wollen wollte wollten darf dürfen durfte
    durften
    mag mögen möchte möchten
    nicht nichts nie nur auch sehr schon so hier dort ja nein doch etwas alle allem allen aller
    alles
    beide beiden
    """

# After these words 's is "es"; after a name it is a genitive, which the lexicon holds or not.
_ES = frozenset(
    """
    geht gibt ist war wird hat kann muss soll will macht steht kommt ich du er sie wir mir dir
    wie was wo wer wenn ob dass weil hab habe
    """.split()
)

GERMAN = Language(
    code="de",
    name="German",
    stop_words=frozenset(_STOP_WORDS_GERMAN.split()),
    clitics=frozenset(["'s"]),
    endings=(Ending("'s", "es", _ES),),
    thousands=".",
    stop_words_released=(
        "function words such as 'der' are released unchanged: "
        "their presence and position are not protected"
    ),
    capitals_released=(
        "which words begin with a capital letter and which are all in capitals "
        "(in German a capital inside a sentence marks a noun or a name)"
    ),
)


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
