"""Labelled texts: what cannot be learned from is refused with a reason."""

import numpy as np
import pytest

from dpcore.errors import CorpusError
from dpcore.learn.labelled import LabelledTexts
from dpcore.limits import MIN_CLASS_TEXTS
from tests.fixtures import MakeRng

TEXTS = [f"text {i}" for i in range(20)]


def test_labels_of_any_kind_become_classes() -> None:
    found = LabelledTexts.of(TEXTS, [1, 0, 0, 0] * 5)
    assert found.classes == ("0", "1")
    assert found.labels.tolist()[:4] == [1, 0, 0, 0]
    assert len(found) == 20
    assert found.majority == 0.75
    assert not found.labels.flags.writeable
    part = found.part(range(20))
    assert part.texts == tuple(TEXTS)
    assert part.classes == found.classes


@pytest.mark.parametrize(
    ("texts", "labels", "said"),
    [
        (TEXTS, ["a"] * 20, "at least two classes.*'a'"),
        ([], [], "have 0"),
        (TEXTS[:3], ["a", "b", "a"], f"at least {MIN_CLASS_TEXTS} texts; 'b' has 1 of 3"),
        (TEXTS, ["a"] * 19, "20 texts and 19 labels"),
        (TEXTS, ["a"] * 19 + ["b"], "'b' has 1 of 20"),
    ],
)
def test_what_cannot_be_learned_from_is_refused(
    texts: list[str], labels: list[str], said: str
) -> None:
    with pytest.raises(CorpusError, match=said):
        LabelledTexts.of(texts, labels)


def test_a_split_divides_each_class_alike(rng: MakeRng) -> None:
    found = LabelledTexts.of([f"t{i}" for i in range(100)], [0] * 80 + [1] * 20)
    train, test = found.split(0.25, rng())
    assert (len(train), len(test)) == (75, 25)
    assert np.bincount(test.labels).tolist() == [20, 5]
    assert set(train.texts).isdisjoint(test.texts)
    assert found.split(0.25, rng())[0].texts == train.texts
    with pytest.raises(CorpusError, match="above 0 and below 1"):
        found.split(float("nan"), rng())
    with pytest.raises(CorpusError, match="at least"):
        found.part(range(70, 90)).split(0.9, rng())
