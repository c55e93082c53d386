"""The recorded experiments: complete, undamaged, as defined, and compared."""

import dataclasses
import json
import math
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dpcore import __version__
from dpcore.learn.corpus import teaching_corpus
from dpcore.lexicon.cache import sha256_of_file
from dpcore.mechanisms.registry import create
from dpcore.noise.streams import generator
from dpcore.papers.comparison import comparison_rows
from dpcore.papers.ours.teaching import STUDY as TEACHING
from dpcore.papers.studies import EXPERIMENTS
from dpcore.rewrite.redact.redaction import REDACTORS
from dpcore.study import recorded as on_disk
from dpcore.study.labelled_trial import rewriting
from dpcore.study.recorded import MANIFEST, Recorded, read_manifest, read_recorded
from dpcore.study.recording import seeds
from dpcore.study.utility_summary import baseline, curves
from dpcore.study.vocabularies import load_vocabulary, plain_rows

MOST_BYTES = 1_500_000
FOLDER = on_disk.bundled_results() / on_disk.FOLDER
ENTRIES = {entry.name: entry for entry in read_manifest(FOLDER)}
PAPERS = [name for name, experiment in EXPERIMENTS.items() if experiment.source]


def _version(text: str) -> tuple[int, ...]:
    return tuple(int(part) for part in text.split("."))


def test_every_experiment_is_recorded_and_nothing_else_lies_there() -> None:
    assert set(ENTRIES) == set(EXPERIMENTS)
    files = {path.name: path.stat().st_size for path in FOLDER.iterdir()}
    assert set(files) == {MANIFEST, *(entry.file for entry in ENTRIES.values())}
    assert sum(files.values()) < MOST_BYTES


@pytest.mark.slow
@pytest.mark.parametrize("name", EXPERIMENTS)
def test_a_recorded_experiment_is_what_its_definition_says(name: str) -> None:
    experiment, result = EXPERIMENTS[name], read_recorded(name)
    entry, table = result.entry, result.table
    assert (entry.title, entry.source, entry.sizes) == (
        experiment.title, experiment.source, experiment.sizes,
    )  # fmt: skip
    # The task is where the function stood in the version that recorded it: it may have moved.
    defined = json.loads(json.dumps(experiment.plan.to_json()))
    planned = entry.plan | {"task": experiment.plan.task}
    if experiment.complete is not None:  # its arms were found: tests/papers/ours
        named = [arm for arm in defined["arms"] if arm["mechanism"]]
        assert planned["arms"][: len(named)] == named
        assert len(planned["arms"]) > len(named)
        planned |= {"arms": defined["arms"]}
    assert planned == defined
    assert _version(entry.version) <= _version(__version__)
    assert name in entry.command
    assert {lexicon["name"] for lexicon in entry.lexicons} == set(experiment.plan.lexicons) - {""}
    if experiment.complete is not None:
        return
    assert set(table["seed"]) == set(seeds(entry))
    for arm in experiment.plan.arms:
        rows = table[table["label"] == arm.name]
        if (name, arm.name) == ("persons-facts", "redactors"):  # its rows name each redactor
            rows = table[table["label"].isin([redactor.name for redactor in REDACTORS])]
        assert set(rows["lexicon"]) == set(experiment.plan.lexicons)
        totals = dict(experiment.plan.options).get("totals", ()) if arm.options else ()
        assert set(rows["epsilon"].dropna()) == set(arm.epsilons or totals)  # ε of whole texts
    if not experiment.rewrites:
        return
    assert set(table["variant"]) >= {"proved"}
    kept = curves(table, "nw", lexicon=experiment.plan.lexicons[0])
    for _, rows in kept.groupby("curve"):
        assert rows["trials"].min() == len(experiment.plan.seeds)
        assert np.all(np.diff(rows["mean"]) > -0.01)  # a larger ε keeps no fewer words


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_the_data_are_those_that_were_read(name: str, data_dir: Path) -> None:
    for file, digest in ENTRIES[name].data.items():
        assert sha256_of_file(data_dir / file) == digest


@pytest.mark.slow
@pytest.mark.parametrize("name", PAPERS)
def test_every_figure_is_compared_with_a_reason(name: str) -> None:
    rows = comparison_rows(read_recorded(name))
    assert len(rows) >= 7
    for row in rows:
        fields = dataclasses.asdict(row)
        assert all(text for field, text in fields.items() if field != "difference")
        assert not any(re.search(r"\b(nan|None|inf)\b", text) for text in fields.values())
    assert len({(row.figure, row.quantity) for row in rows}) == len(rows)


@pytest.mark.slow
@pytest.mark.parametrize("name", PAPERS)
def test_our_side_follows_the_record(name: str) -> None:
    """Other recorded numbers give other sentences: none of them is typed."""
    recorded = read_recorded(name)
    shifted = recorded.table.assign(value=0.2 + 0.1 * recorded.table["value"])
    before = comparison_rows(recorded)
    after = comparison_rows(Recorded(recorded.entry, shifted))
    for first, second in zip(before, after, strict=True):
        assert first.ours != second.ours
        assert (first.paper, first.figure) == (second.paper, second.figure)


def test_examples_are_of_our_own_texts_alone() -> None:
    """Texts of a real corpus are not to be passed on."""
    result = read_recorded("teaching-corpus").examples
    assert set(result["original"]) <= set(teaching_corpus().texts)
    assert (result["private"] != result["original"]).mean() > 0.9  # a few lose no word at a large ε
    assert (result["true"] != result["guessed"]).all()
    assert set(result["learner"]) == set(dict(TEACHING.plan.options)["learners"])
    assert set(result["seed"]) == {0}
    for name in EXPERIMENTS:
        assert name == "teaching-corpus" or read_recorded(name).examples is None


def test_an_experiment_without_a_paper_has_nothing_to_compare() -> None:
    recorded = read_recorded(PAPERS[0])
    entry = dataclasses.replace(recorded.entry, name="toy")
    assert comparison_rows(Recorded(entry, recorded.table)) == ()


def test_the_conclusions_drawn_from_imdb_hold_in_the_record() -> None:
    """Reasons that the comparison gives in words, as inequalities between means."""
    table = read_recorded("carvalho2021-figure-1").table
    where = {"learner": "tf-idf", "tested_on": "clean"}
    clean = baseline(table, "accuracy", **where)
    assert clean.low > baseline(table, "majority").mean + 0.1
    result: Any = curves(table, "accuracy", **where).set_index(["curve", "epsilon"])
    assert result.loc[("tem", 4.0), "low"] > result.loc[("madlib", 4.0), "high"]
    assert result.loc[("madlib", 2.0), "high"] < clean.low
    true = table[table["quantity"] == "true_epsilon"]
    assert np.all(true["value"] <= true["epsilon"])
    assert np.all(table.loc[table["quantity"] == "document_auc", "value"] > 0.999)


@pytest.mark.slow
def test_a_recorded_cell_comes_out_again(data_dir: Path) -> None:
    """The same seed gives the same noise; another machine may break a tie in float32 otherwise.

    Another version may read other words out of the texts, and so draw other noise. Then shares of
    the words differ by a few standard errors of two such draws, 6 here: a false alarm of 1e-8.
    """
    tables = read_recorded("huang2024-tables-yelp")
    lexicon = load_vocabulary("yelp", data_dir).lexicon
    fingerprints = {lexicon["name"]: lexicon["fingerprint"] for lexicon in tables.entry.lexicons}
    same = tables.entry.version == __version__
    assert lexicon.fingerprint == fingerprints["yelp"] or not same
    file = "yelp_sentences.parquet"
    count = dict(tables.entry.plan["options"])["rewritten"]
    texts = plain_rows(data_dir / file, "test", count, generator(1, "sentences", file))
    rows = rewriting(texts, lexicon, create("madlib", lexicon), (10.0, 20.0), 1)
    again = {(row["quantity"], row["epsilon"]): row["value"] for row in rows}
    where = {"label": "madlib", "lexicon": "yelp", "seed": 1}
    words = sum(len(text.split()) for text in texts)
    slack = 0.005 if same else 6.0 * math.sqrt(2 * 0.25 / words)
    assert slack < 0.11  # from one ε to the other they differ by more
    for quantity in ("nw", "rouge1", "matching"):
        recorded = tables.rows(quantity, **where).set_index("epsilon")["value"]
        for epsilon in (10.0, 20.0):
            assert again[quantity, epsilon] == pytest.approx(recorded[epsilon], abs=slack)


def test_the_conclusions_drawn_from_yelp_hold_in_the_record() -> None:
    table = read_recorded("huang2024-tables-yelp").table
    points = curves(table, "rouge1_recall", lexicon="yelp")
    half = 0.5 * baseline(table, "rouge1_recall", lexicon="yelp").mean
    local = points[~points["mechanism"].isin(["madlib", "mahalanobis", "random-projection"])]
    assert (local.loc[local["epsilon"] <= 200, "mean"] < half).all()
    assert points.loc[points["mechanism"] == "trlaplace", "mean"].max() < 0.05
    refuted = table[(table["quantity"] == "claimed_loss") & (table["label"] == "trlaplace")]
    assert set(refuted["variant"]) == {"refuted"}
