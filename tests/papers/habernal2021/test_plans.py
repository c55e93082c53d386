"""ADePT on an intent corpus: splits and measurements, on a toy of two intents."""

import dataclasses
import math
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from dpcore.errors import StudyError
from dpcore.lexicon.lexicon import Lexicon
from dpcore.mechanisms.clipped.adept import FORMS, true_epsilon
from dpcore.papers.habernal2021.plans import (
    NO_NOISE,
    STUDY,
    measure_adept,
    overlap_rows,
    read_corpus,
    trained,
    unprotected,
)  # fmt: skip
from dpcore.study.plan import Arm, Plan, Row, canonical
from dpcore.study.runner import Sources, gather
from dpcore.study.tables import check_trials, tidy
from tests.fixtures import MakeRng

PLAN = STUDY.plan
CITIES = ("lima", "oslo", "cairo", "hanoi", "quito", "accra", "tunis", "doha")
DAYS = ("today", "tomorrow", "on monday", "on friday", "at noon")
FARE, TRIP = "what is the fare to {} {}", "show flights to {} {}"
DATA = "toy.parquet"
OPTIONS = {
    "public": 30,
    "private": 24,
    "longest": 8,
    "epochs": 3,
    "hidden": 16,
    "latent": 4,
    "learners": ("tf-idf",),
    "compared": 10,
    "attacked": 40,
    "pairs": 500,
}
EPSILONS = (1.0, 1e6)


def utterances() -> list[tuple[str, str]]:
    both = ((FARE, "fare"), (TRIP, "trip"))
    return [(kind.format(c, d), label) for c in CITIES for d in DAYS for kind, label in both]


@pytest.fixture(scope="module")
def corpus_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    rows = utterances()
    extra = [
        ("Show flights to Lima today!", "trip", "train"),  # one that is there already
        ("a b c d e f g h i j", "trip", "train"),  # too long
        ("...", "trip", "train"),
        ("which lonely airport is this", "lonely", "train"),
        ("show flights to lima today", "trip", "test"),  # not the test of what was trained on
    ]
    split = [(*row, "test" if i % 8 < 2 else "train") for i, row in enumerate(rows)]
    order = np.random.default_rng(3).permutation(len(split) + len(extra))
    path = tmp_path_factory.mktemp("toy") / DATA
    frame = pd.DataFrame([[*split, *extra][i] for i in order], columns=["text", "label", "split"])
    frame.to_parquet(path)
    return path


@pytest.fixture(scope="module")
def toy(corpus_file: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[Plan, Sources]:
    words = tuple(sorted({word for text, _ in utterances() for word in text.split()}))
    vectors = np.random.default_rng(1).standard_normal((len(words), 5)).astype(np.float32)
    lexicon = Lexicon("toy", words, vectors)
    plan = dataclasses.replace(
        PLAN,
        arms=(Arm(""), *(Arm(name, EPSILONS) for name in FORMS)),
        data=(DATA,),
        seeds=(0,),
        options=tuple(OPTIONS.items()),
    )
    folder = tmp_path_factory.mktemp("run")
    return plan, gather(plan, folder, lexicons={"bundled": lexicon}, files={DATA: corpus_file})


@pytest.fixture(scope="module")
def rows(toy: tuple[Plan, Sources]) -> dict[str, list[Row]]:
    plan, sources = toy
    return {cell.label: measure_adept(cell, sources) for cell in plan.cells()}


def of(rows: list[Row], quantity: str, **where: Any) -> list[Any]:
    return [
        row["value"]
        for row in rows
        if row["quantity"] == quantity and all(row[name] == x for name, x in where.items())
    ]


def test_the_parts_are_disjoint_and_the_network_sees_the_public_one_alone(
    corpus_file: Path,
) -> None:
    corpus = read_corpus(corpus_file, OPTIONS, 0)
    parts = [corpus.public.texts, corpus.private.texts, corpus.testing.texts]
    assert len(set(corpus.all_texts)) == sum(len(part) for part in parts)
    assert len(corpus.private.texts) == 24
    assert len(corpus.public.texts) == 30
    assert all(len(text.split()) <= 8 for text in corpus.all_texts)
    assert "show flights to lima today" in corpus.public.texts + corpus.private.texts
    assert read_corpus(corpus_file, OPTIONS, 1).private.texts != corpus.private.texts
    options = canonical({name: value for name, value in OPTIONS.items() if name != "learners"})
    model = trained(corpus_file, 0, options)[1]
    assert set(model.vocabulary.words) <= {w for text in corpus.public.texts for w in text.split()}
    assert model.facts["texts"] == 30


def test_a_rare_intent_is_left_out_and_one_alone_is_refused(corpus_file: Path) -> None:
    corpus = read_corpus(corpus_file, OPTIONS | {"private": 50}, 0)
    names, private, testing = corpus.intents()
    assert names == ("fare", "trip")
    kept = [label for label in corpus.private.labels if label != "lonely"]
    assert [names[i] for i in private[private >= 0]] == kept
    assert set(testing.tolist()) == {0, 1}
    alone = dataclasses.replace(corpus.testing, labels=("fare",) * len(corpus.testing.labels))
    with pytest.raises(StudyError, match="two intents or more"):
        dataclasses.replace(corpus, testing=alone).intents()
    with pytest.raises(StudyError, match="too few"):
        read_corpus(corpus_file, OPTIONS | {"private": 61}, 0)


def test_every_noise_is_measured_at_every_epsilon(rows: dict[str, list[Row]]) -> None:
    for label, row in rows.items():
        check_trials(tidy(row))
        if label == "baseline":
            continue
        form = FORMS[label]
        for epsilon in EPSILONS:
            keys = {"epsilon": epsilon}
            for quantity in ("rouge1", "rouge1_recall", "bleu", "exact", "rank", "first", "bayes"):
                assert len(of(row, quantity, **keys)) == 1
            assert of(row, "accuracy", learner="tf-idf", tested_on="clean", **keys)[0] <= 1.0
            true = true_epsilon(form, epsilon, 4)
            assert of(row, "true_epsilon", **keys) == [pytest.approx(true)]
            for variant, value in (("claimed", epsilon), ("true", true)):
                size = next(r["count"] for r in row if r["quantity"] == "first_bound")
                bound = 1.0 / (1.0 + (size - 1) * math.exp(-value))
                assert of(row, "first_bound", variant=variant, **keys) == [pytest.approx(bound)]


def test_without_noise_the_text_and_the_attack_are_those_of_the_clipped_vector(
    rows: dict[str, list[Row]],
) -> None:
    base, same = rows["baseline"], {"variant": NO_NOISE}
    for label in ("adept", "laplace", "l2-laplace"):  # (a) clips by another norm
        result = rows[label]
        for quantity in ("rouge1", "bleu", "exact"):
            assert of(result, quantity, epsilon=1e6) == pytest.approx(of(base, quantity, **same))
        assert of(result, "rank", epsilon=1e6)[0] < 1.5
        assert of(result, "bayes", epsilon=1e6)[0] > 0.9
    assert of(base, "accuracy", variant="")[0] > 0.9  # the words name the intent
    assert len(of(base, "unprotected")) == len(of(base, "widest_pair")) == 1


def test_a_cell_comes_out_again_whatever_was_measured_before(
    rows: dict[str, list[Row]], toy: tuple[Plan, Sources]
) -> None:
    plan, sources = toy
    trained.cache_clear()
    last = plan.cells()[-1]
    assert measure_adept(last, sources) == rows[last.label]


def test_pairs_that_the_noise_does_not_cover_are_counted(rng: MakeRng) -> None:
    corner = np.full(4, 0.5)
    latents = np.concatenate([np.tile(corner, (50, 1)), np.tile(-corner, (50, 1))])
    share, widest = (row["value"] for row in unprotected(rng(), latents, 4_000))
    # 50 of the 99 others are opposite: 2·√4·C apart, twice what is covered; the rest is at 0.
    limit = 4.9 * math.sqrt(0.25 / 4_000)
    assert share == pytest.approx(50 / 99, abs=limit)
    assert widest == pytest.approx(2.0)
    assert [row["value"] for row in unprotected(rng(), latents[:50], 100)] == [0.0, 0.0]


def test_rewriting_is_compared_with_the_original() -> None:
    rows = overlap_rows(["a b c d", "e f"], ["a b c d", "g"])
    result = {row["quantity"]: row["value"] for row in rows}
    assert result["exact"] == 0.5
    assert result["rouge1"] == result["rouge1_recall"] == 0.5
    assert 0 < result["bleu"] < 100


def test_the_plan_names_the_noises_and_the_baseline_first() -> None:
    assert [arm.mechanism for arm in PLAN.arms] == ["", *FORMS]
    assert all(arm.epsilons == PLAN.arms[1].epsilons for arm in PLAN.arms[1:])
    options = dict(PLAN.options)
    for name, message in (("longest", "at most 15 words"), ("private", "800 are private")):
        assert str(options[name]) in message
        assert message in STUDY.sizes
    assert f"{options['latent']} latent" in STUDY.sizes
    assert f"at most {options['epochs']} epochs" in STUDY.sizes
