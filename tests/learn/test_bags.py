"""Bags of words: the positions of rewriting, as classifiers see them."""

import numpy as np
import pytest

from dpcore.learn.corpus import Bags, bags_of
from dpcore.lexicon.lexicon import Lexicon
from dpcore.rewrite.sentence import prepare
from tests.fixtures import MakeRng
from tests.mechanisms import lexicons

WORDS = ("the", "dog", "barks", "well-known", "London", "a", "cat")
TEXTS = ("The dog barks.", "", "A well-known<br />cat, in London!", "42 … dogs? the-cat")


@pytest.fixture(scope="module")
def lexicon() -> Lexicon:
    return Lexicon("few", WORDS, lexicons.cloud(len(WORDS), 3).vectors)


def test_places_are_those_of_rewriting(lexicon: Lexicon) -> None:
    bags = bags_of(TEXTS, lexicon)
    for i, text in enumerate(TEXTS):
        plain = [] if not text else prepare(text.replace("<br />", " "), lexicon).words.tolist()
        assert bags.words[bags.offsets[i] : bags.offsets[i + 1]].tolist() == plain
    assert bags.lengths.tolist()[:2] == [3, 0]
    assert (bags.words < 0).sum() == 3  # "in", "42", "dogs"


def test_a_text_is_cut_to_its_first_places(lexicon: Lexicon) -> None:
    whole, cut = bags_of(TEXTS, lexicon), bags_of(TEXTS, lexicon, 2)
    assert cut.lengths.max() == 2
    assert cut.words[:2].tolist() == whole.words[:2].tolist()


def test_counts_leave_unknown_words_out(lexicon: Lexicon) -> None:
    result = bags_of(["the the dog", "in 42", "cat"], lexicon).counts().toarray()
    assert result.shape == (3, len(WORDS))
    assert result[0].tolist() == [2, 1, 0, 0, 0, 0, 0]
    assert not result[1].any()


def test_unknown_words_get_random_stand_ins(lexicon: Lexicon, rng: MakeRng) -> None:
    bags = bags_of(["in " * 500], lexicon)
    inputs = bags.inputs(rng())
    assert inputs.min() >= 0
    assert len(np.unique(inputs)) == len(WORDS)
    known = bags_of(["the dog"], lexicon)
    assert known.inputs(rng()).tolist() == known.words.tolist()


def test_parts_and_other_words(lexicon: Lexicon) -> None:
    bags = bags_of(TEXTS, lexicon)
    part = bags.part([2, 0])
    assert part.words.tolist() == [*bags.words[3 : bags.offsets[3]].tolist(), 0, 1, 2]
    assert len(bags.part([])) == 0
    assert not bags.words.flags.writeable
    other = bags.with_words(np.zeros(bags.words.size))
    assert isinstance(other, Bags)
    assert other.counts().toarray()[:, 0].tolist() == bags.lengths.tolist()


def test_documents_are_counted_once(lexicon: Lexicon) -> None:
    bags = bags_of(TEXTS, lexicon)
    assert bags.counts() is bags.counts()
    assert bags.with_words(bags.words).counts() is not bags.counts()
