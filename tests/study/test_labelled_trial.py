"""One draw of labelled texts: its measurements agree with the plain functions."""

from typing import Any

import numpy as np
import pytest

from dpcore.learn.corpus import LabelledTexts, bags_of
from dpcore.mechanisms.registry import create
from dpcore.study.labelled_trial import (
    ATTACKS,
    STRONGER,
    Material,
    Wanted,
    halves,
    labelled_trial,
    read_material,
)
from dpcore.study.plan import COLUMNS, PRIVATE, Prepared, Row
from dpcore.study.utility import baseline, trial
from dpcore.study.vocabularies import labelled_rows
from tests.fixtures import MakeRng
from tests.study import toy_corpus

NAMES = ("averaged", "tf-idf")


@pytest.fixture(scope="module")
def lexicon() -> Any:
    return toy_corpus.lexicon()


@pytest.fixture(scope="module")
def parts(tmp_path_factory: pytest.TempPathFactory) -> tuple[LabelledTexts, LabelledTexts]:
    path = toy_corpus.write(tmp_path_factory.mktemp("toy") / "toy.parquet")
    rng = np.random.default_rng(1)
    return labelled_rows(path, "train", 200, rng), labelled_rows(path, "test", 200, rng)


@pytest.fixture(scope="module")
def material(parts: tuple[LabelledTexts, LabelledTexts], lexicon: Any) -> Material:
    first, second = (
        LabelledTexts.of(part.texts, [1 - label for label in part.labels.tolist()])
        for part in parts
    )
    return read_material({"mine": parts, "turned": (first, second)}, lexicon)


def values(rows: list[Row], quantity: str, **where: Any) -> dict[Any, Any]:
    return {
        (row["epsilon"], row.get("data", ""), row["learner"], row["tested_on"]): row["value"]
        for row in rows
        if row["quantity"] == quantity and all(row[k] == v for k, v in where.items())
    }


def test_it_agrees_with_a_trial_of_one_labelling(
    material: Material, parts: tuple[LabelledTexts, LabelledTexts], lexicon: Any
) -> None:
    mechanism = create("madlib", lexicon)
    result = list(labelled_trial(material, mechanism, (1.0, 9.0), 3, Wanted(NAMES)))
    first, second = (Prepared(bags_of(part.texts, lexicon), part.labels) for part in parts)
    plain = [
        row | {"data": "mine"} for row in trial(first, second, mechanism, (1.0, 9.0), NAMES, 3)
    ]
    mine = values(result, "accuracy", data="mine")
    assert mine == values(plain, "accuracy")
    kept = {row["epsilon"]: row["value"] for row in result if row["quantity"] == "nw"}
    assert kept == {row["epsilon"]: row["value"] for row in plain if row["quantity"] == "nw"}
    # Classes in another order are the same task.
    turned = values(result, "accuracy", data="turned")
    for (epsilon, _, learner, where), share in mine.items():
        assert turned[epsilon, "turned", learner, where] == pytest.approx(share, abs=0.02)


def test_the_baseline_is_the_plain_one(
    material: Material, parts: tuple[LabelledTexts, LabelledTexts], lexicon: Any
) -> None:
    result = list(labelled_trial(material, None, (), 3, Wanted(NAMES, compared=5)))
    first, second = (Prepared(bags_of(part.texts, lexicon), part.labels) for part in parts)
    plain = [row | {"data": "mine"} for row in baseline(first, second, lexicon, NAMES, 3)]
    for quantity in ("accuracy", "majority"):
        assert values(result, quantity, data="mine") == values(plain, quantity)
    assert {row["quantity"] for row in result} >= {"rouge1", "bleu", "matching", "nw"}
    assert all(row["epsilon"] is None and set(row) <= set(COLUMNS) for row in result)


def test_membership_is_inferred_where_it_is_wanted(material: Material, lexicon: Any) -> None:
    mechanism = create("madlib", lexicon)
    wanted = Wanted(NAMES, attacked=("tf-idf",))
    clean = list(labelled_trial(material, None, (), 0, wanted))
    private = list(labelled_trial(material, mechanism, (1e-6, 1e6), 0, wanted))
    attacks = [row for row in (*clean, *private) if row["quantity"] in ATTACKS]
    assert {row["learner"] for row in attacks} == {"tf-idf"}
    assert {row["data"] for row in attacks} == {"mine", "turned"}
    before, after = (
        values(rows, "auc", variant=STRONGER, data="mine") for rows in (clean, private)
    )
    # Without noise the same texts give the same networks; unknown words have stand-ins.
    assert after[1e6, "mine", "tf-idf", ""] == pytest.approx(
        before[None, "mine", "tf-idf", ""], abs=0.1
    )
    assert sum(row["quantity"] == "accuracy" for row in clean) == 4  # those of quarters left out


def test_every_classifier_can_be_watched(material: Material, lexicon: Any) -> None:
    seen = []

    def watch(name: str, learner: str, epsilon: float | None, model: Any, tests: Any) -> None:
        seen.append((name, learner, epsilon, model.accuracy(tests, material.labels[name][1])))

    mechanism = create("tem", lexicon)
    rows = list(labelled_trial(material, mechanism, (1.0, 5.0), 0, Wanted(NAMES), watch))
    shares = values(rows, "accuracy", tested_on=PRIVATE)
    assert {(e, n, name, PRIVATE): share for n, name, e, share in seen} == shares


def test_halves_divide_every_class(rng: MakeRng) -> None:
    labels = np.array([0] * 7 + [1] * 4 + [2] * 6)
    first, second = halves(labels, rng())
    assert sorted([*first.tolist(), *second.tolist()]) == list(range(17))
    counts = [np.bincount(labels[part], minlength=3) for part in (first, second)]
    assert np.all(np.abs(counts[0] - counts[1]) <= 1)
    again = halves(labels, rng())
    assert np.array_equal(first, again[0])
