"""Labelled texts: refusals, with a reason, of texts from which nothing can be learned."""

import numpy as np
import pytest

from dpcore.errors import CorpusError
from dpcore.learn.corpus import LabelledTexts
from dpcore.limits import MIN_CLASS_TEXTS
from tests.fixtures import MakeRng

TEXTS = [f"text {i}" for i in range(20)]


def test_labels_of_any_kind_become_classes() -> None:
    result = LabelledTexts.of(TEXTS, [1, 0, 0, 0] * 5)
    assert result.classes == ("0", "1")
    assert result.labels.tolist()[:4] == [1, 0, 0, 0]
    assert len(result) == 20
    assert result.majority == 0.75
    assert not result.labels.flags.writeable
    part = result.part(range(20))
    assert part.texts == tuple(TEXTS)
    assert part.classes == result.classes


@pytest.mark.parametrize(
    ("texts", "labels", "message"),
    [
        (TEXTS, ["a"] * 20, "at least two classes.*'a'"),
        ([], [], "have 0"),
        (TEXTS[:3], ["a", "b", "a"], f"at least {MIN_CLASS_TEXTS} texts; 'b' has 1 of 3"),
        (TEXTS, ["a"] * 19, "20 texts and 19 labels"),
        (TEXTS, ["a"] * 19 + ["b"], "'b' has 1 of 20"),
    ],
)
def test_what_cannot_be_learned_from_is_refused(
    texts: list[str], labels: list[str], message: str
) -> None:
    with pytest.raises(CorpusError, match=message):
        LabelledTexts.of(texts, labels)


def test_a_split_divides_each_class_alike(rng: MakeRng) -> None:
    result = LabelledTexts.of([f"t{i}" for i in range(100)], [0] * 80 + [1] * 20)
    train, test = result.split(0.25, rng())
    assert (len(train), len(test)) == (75, 25)
    assert np.bincount(test.labels).tolist() == [20, 5]
    assert set(train.texts).isdisjoint(test.texts)
    assert result.split(0.25, rng())[0].texts == train.texts
    with pytest.raises(CorpusError, match="above 0 and below 1"):
        result.split(float("nan"), rng())
    with pytest.raises(CorpusError, match="at least"):
        result.part(range(70, 90)).split(0.9, rng())
