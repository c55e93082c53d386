"""Fixed public word lists: function words, contractions and endings of English.

They are part of the tokenizer and thus known to everybody: nothing here may be adapted to a
text that is to be protected.
"""

from __future__ import annotations

STOP_WORDS = frozenset(
    """
    a an the this that these those
    i me my mine myself you your yours yourself he him his himself she her hers herself
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
    """.split()
)
"""Function words that the stop-word option releases."""

CLITICS = frozenset(["n't", "'s", "'m", "'re", "'ve", "'ll", "'d"])
"""Endings that some lexicons hold as words of their own; written without a space before them."""

POSSESSIVE = "'s"

_IRREGULAR = {
    "can't": ("can", "not"),
    "cannot": ("can", "not"),
    "won't": ("will", "not"),
    "shan't": ("shall", "not"),
    "ain't": ("is", "not"),
    "let's": ("let", "us"),
}
_ENDINGS = {
    "n't": "not",
    "'m": "am",
    "'re": "are",
    "'ve": "have",
    "'ll": "will",
    "'d": "would",
}
# After these words 's is the verb; after any other it is taken for the possessive.
_BEFORE_IS = frozenset(
    "it that he she what there here who where how when why everything something".split()
)


def split_contraction(word: str) -> tuple[tuple[str, str], ...]:
    """Say how a contraction may be written as two words.

    Args:
        word: With a straight apostrophe, in any case.

    Returns:
        Candidates, the best first: word and ending ("do", "n't"), then word and word ("do",
        "not"). Empty for a word that is not a contraction. The case of the first part is kept.
    """
    lower = word.lower()
    if lower in _IRREGULAR:
        return (_IRREGULAR[lower],)
    for ending, full in _ENDINGS.items():
        if lower.endswith(ending) and len(lower) > len(ending):
            stem = word[: -len(ending)]
            return (stem, ending), (stem, full)
    if lower.endswith(POSSESSIVE) and lower[: -len(POSSESSIVE)] in _BEFORE_IS:
        stem = word[: -len(POSSESSIVE)]
        return (stem, POSSESSIVE), (stem, "is")
    return ()
