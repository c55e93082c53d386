"""English: function words, contractions and endings, the pronoun with a capital."""

from __future__ import annotations

from dpcore.rewrite.languages.language import Ending, Language

_STOP_WORDS = """
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
