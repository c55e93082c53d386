"""Live runs: the texts, the jobs, their rows and examples, and the command line."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from dpcore.cli.main import main
from dpcore.errors import ParameterError
from dpcore.learn.corpus import teaching_corpus
from dpcore.learn.labelled import LabelledTexts
from dpcore.learn.table import read_table
from dpcore.limits import LIVE_EPSILONS, LIVE_SEEDS
from dpcore.study import live
from dpcore.study.live import (
    VALUES,
    WORDS,
    Live,
    perform,
    shortened,
    table_texts,
    teaching_texts,
)
from dpcore.study.plan import Arm
from dpcore.study.rows import COLUMNS
from tests.study import toy_corpus


@pytest.fixture
def texts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[LabelledTexts]:
    """120 texts of made-up words, and their lexicon in place of any of the catalogue."""
    result = pd.read_parquet(toy_corpus.write(tmp_path / "toy.parquet"))
    result = result[result["split"] == "train"]
    live._lexicon.cache_clear()
    live._mechanism.cache_clear()
    monkeypatch.setattr("dpcore.lexicon.catalogue.load", lambda *_, **__: toy_corpus.lexicon())
    yield LabelledTexts.of(result["text"].tolist(), result["label"].tolist())
    live._lexicon.cache_clear()
    live._mechanism.cache_clear()


ARMS = (Arm("madlib", (0.5, 50.0)), Arm("laplace", (1.0,), (("clip_norm", 2.0),)))


def test_jobs_are_trial_by_trial_with_the_baseline_first(texts: LabelledTexts) -> None:
    jobs = Live(texts, "colour", ARMS, seeds=2).jobs()
    cells = [(job["cell"]["mechanism"], job["cell"]["seed"]) for job in jobs]
    assert cells == [("", 0), ("madlib", 0), ("laplace", 0), ("", 1), ("madlib", 1), ("laplace", 1)]
    assert jobs[0]["texts"] == list(texts.texts)
    assert json.loads(json.dumps(jobs)) == json.loads(json.dumps(jobs, allow_nan=False))


def test_a_job_gives_rows_and_of_the_first_trial_examples(texts: LabelledTexts) -> None:
    jobs = [json.loads(json.dumps(job)) for job in Live(texts, "colour", ARMS, seeds=2).jobs()]
    results = [perform(job) for job in jobs]
    rows = [row for result in results for row in result["rows"]]
    assert all(set(row) == set(COLUMNS) for row in rows)
    assert {row["quantity"] for row in rows} >= {"accuracy", "majority", "nw", "auc", "rouge1"}
    losses = {
        (row["label"], row["epsilon"]): (row["value"], row["variant"], row["seed"])
        for row in rows
        if row["quantity"] == "claimed_loss"
    }
    assert losses["laplace", 1.0] == (1.0, "proved", 0)
    assert losses["madlib", 0.5][0] == pytest.approx(0.5 * toy_corpus.lexicon().extent.diameter)
    assert [bool(result["examples"]) for result in results] == [False, True, True] + [False] * 3
    for message in results[1]["examples"]:
        assert message["original"] in texts.texts
        assert message["true"] != message["guessed"]
        assert "unheard" not in message["private"]  # a word outside the vocabulary
    told: list[Any] = []
    assert perform(jobs[1], told.append) == results[1]
    assert {message["stage"] for message in told} == {WORDS, VALUES}
    assert all(0 <= message["done"] <= message["total"] for message in told)


def test_membership_is_left_out_on_demand(texts: LabelledTexts) -> None:
    rows = perform(Live(texts, "colour", ARMS, attack=False).jobs()[0])["rows"]
    assert not {row["quantity"] for row in rows} & {"auc", "roc", "tpr"}


def test_too_much_or_nothing_is_refused(texts: LabelledTexts) -> None:
    for arms, more, message in (
        ((), {}, "at least one mechanism"),
        (ARMS, {"seeds": LIVE_SEEDS + 1}, f"1 to {LIVE_SEEDS} trials"),
        ((Arm("tem", tuple(range(1, LIVE_EPSILONS + 2))),), {}, f"at most {LIVE_EPSILONS} values"),
        (ARMS, {"learner": "oracle"}, "no classifier 'oracle'"),
    ):
        with pytest.raises(ParameterError, match=message):
            Live(texts, "colour", arms, **more)


def test_texts_of_the_teaching_corpus_take_turns() -> None:
    result = teaching_texts("topic", 100)
    corpus = teaching_corpus()
    kinds = [corpus.kind[corpus.texts.index(text)] for text in result.texts]
    assert kinds == ["message", "review"] * 50
    assert len(result.classes) == 6
    assert len(teaching_texts("sentiment")) == len(corpus)
    with pytest.raises(ParameterError, match="the labelling must be one of"):
        teaching_texts("colour")


def test_long_texts_are_cut(texts: LabelledTexts) -> None:
    cut = shortened(texts, most=30, words=4)
    assert len(cut) == 30
    assert all(len(text.split()) == 4 for text in cut.texts)
    rows = "\n".join(f"one two three {i} {'w ' * 100},{i % 2}" for i in range(40))
    chosen = table_texts(read_table(f"a,b\n{rows}".encode(), typed=["a"]), "a", "b", 1000)
    assert max(len(text.split()) for text in chosen.texts.texts) == 60


def test_the_command_line(
    texts: LabelledTexts, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    table = pd.DataFrame({"words": texts.texts, "kind": texts.labels})
    table.to_csv(tmp_path / "own.csv", index=False)
    run = ["utility", "--file", str(tmp_path / "own.csv"), "--text-column", "words"]
    run += ["--label-column", "kind", "--mechanism", "madlib", "--epsilon", "0.5,50"]
    run += ["--trials", "1", "--texts", "120"]
    assert main([*run, "--json"]) == 0
    parsed = json.loads(capsys.readouterr().out)
    assert (parsed["texts"], parsed["classes"], parsed["trials"]) == (120, ["0", "1"], 1)
    assert {row["label"] for row in parsed["rows"]} == {"baseline", "madlib"}
    assert main(run) == 0
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 2 + 3
    share = next(
        row["value"]
        for row in parsed["rows"]
        if row["quantity"] == "accuracy" and row["epsilon"] == 50 and row["tested_on"] == "private"
    )
    assert lines[-1].split()[:3] == ["madlib", "50", f"{share:.3f}"]
    for wrong, message in (
        (["--text-column", "no"], "there is no column 'no' in the table; it has 2"),
        (["--texts", "0"], "0 is not in the range 1<=x<=1500"),
        (["--file", "absent.csv"], "absent.csv cannot be read (No such file"),
        (["--epsilon", "tem=3"], "is for a mechanism that is not measured"),
    ):
        assert main([*run, *wrong]) == 2
        assert message in capsys.readouterr().err
    assert np.isfinite(share)
