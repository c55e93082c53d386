"""Examples of wrong answers: right when clean, wrong when private, and their record."""

from typing import Any

import numpy as np
import pytest

from dpcore.learn.classifiers import learner_of, train
from dpcore.mechanisms.registry import create
from dpcore.noise.streams import generator
from dpcore.study.labelled_trial import Material, Wanted, labelled_trial, read_material
from dpcore.study.plan import COLUMNS
from dpcore.study.tables import EXAMPLE, TEXTS, WrongAnswers, tidy
from dpcore.study.vocabularies import labelled_rows
from tests.study import toy_corpus

MOST = 3


@pytest.fixture(scope="module")
def material(tmp_path_factory: pytest.TempPathFactory) -> Material:
    path = toy_corpus.write(tmp_path_factory.mktemp("toy") / "toy.parquet")
    rng = np.random.default_rng(1)
    parts = labelled_rows(path, "train", 200, rng), labelled_rows(path, "test", 200, rng)
    return read_material({"mine": parts}, toy_corpus.lexicon())


@pytest.fixture(scope="module")
def watched(material: Material) -> Any:
    result = WrongAnswers(material, "mine", "tf-idf", 0, MOST)
    lexicon = material.training.lexicon
    mechanism, wanted = create("madlib", lexicon), Wanted(("averaged", "tf-idf"))
    list(labelled_trial(material, mechanism, (1e-6, 1e6), 0, wanted, result))
    return result.examples


def test_a_clean_classifier_gets_the_examples_right(material: Material, watched: Any) -> None:
    labels, true = material.labels["mine"]
    vectors = material.training.lexicon.vectors
    rng = generator(0, "learner", "tf-idf")
    clean = train(learner_of("tf-idf"), material.bags[0], labels, vectors, rng)
    answers = clean.predict(material.bags[1])
    classes = material.classes["mine"]
    for row in watched:
        place = material.originals.index(row["original"])
        assert classes[answers[place]] == row["true"] == classes[true[place]]
        assert row["guessed"] != row["true"]
        assert row["private"] != row["original"]
        assert (row["data"], row["learner"]) == ("mine", "tf-idf")


def test_they_are_of_one_classifier_and_few(watched: Any) -> None:
    values = [row["epsilon"] for row in watched]
    assert values.count(1e-6) == MOST  # at so much noise many answers are wrong
    assert values.count(1e6) <= MOST


def test_a_table_has_the_texts_only_if_there_are_examples(watched: Any) -> None:
    fields = {"label": "madlib", "mechanism": "madlib", "lexicon": "toy", "seed": 0}
    table = tidy([fields | row for row in watched])
    assert tuple(table.columns) == COLUMNS + TEXTS
    assert set(table["quantity"]) == {EXAMPLE}
    assert table["value"].isna().all()
    assert tuple(tidy([fields | {"quantity": "nw", "value": 1.0}]).columns) == COLUMNS
