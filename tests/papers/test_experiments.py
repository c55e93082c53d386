"""An experiment from end to end on a toy corpus: rows, privacy rows, manifest, resumption."""

import dataclasses
import json
from pathlib import Path

import numpy as np
import pytest

from dpcore.cli.main import main
from dpcore.guarantee import Status
from dpcore.papers import studies
from dpcore.papers.studies import EXPERIMENTS, study_of
from dpcore.study import recording
from dpcore.study.plan import Arm, Plan, Study
from dpcore.study.recorded import read_recorded, write_recorded
from dpcore.study.recording import record
from dpcore.study.utility_summary import baseline, curves
from dpcore.study.vocabularies import CountedLexicon
from tests.study import toy_corpus

CLIP = (("clip_norm", 1.0),)
ARMS = (
    Arm(""),
    Arm("tem", (1.0, 20.0)),
    Arm("trlaplace", (0.05,), CLIP),
    Arm("laplace", (1.0,), CLIP),
)
OPTIONS = {
    "dpcore.papers.huang2024.plans:measure_classifiers": (
        ("train", 80), ("test", 60), ("test_split", "test"), ("most", 10), ("rewritten", 10),
        ("learners", ("averaged",)),
    ),
    "dpcore.papers.huang2024.plans:measure_rewriting": (
        ("split", "test"), ("rewritten", 12), ("encoder", ()),
    ),
    "dpcore.papers.carvalho2021.plans:measure_quarters": (
        ("quarter", 40), ("most", 10), ("learners", ("tf-idf",)),
    ),
}  # fmt: skip


@pytest.fixture
def data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    toy_corpus.write(tmp_path / "toy.parquet")
    lexicon = toy_corpus.lexicon()
    counted = CountedLexicon(lexicon, np.ones(len(lexicon)), len(lexicon), 0, {})
    monkeypatch.setattr(recording, "load_vocabulary", lambda *_: counted)
    return tmp_path


def toy(task: str, arms: tuple[Arm, ...] = ARMS) -> Study:
    plan = Plan("toy", task, arms, ("toy",), ("toy.parquet",), (0, 1), OPTIONS[task], True)
    return Study("A toy", "", plan, "few")


@pytest.mark.slow
@pytest.mark.parametrize("task", OPTIONS)
def test_an_experiment_is_recorded_with_what_is_true_of_it(
    task: str, data: Path, tmp_path: Path
) -> None:
    entry, table = record(toy(task), data, work=tmp_path / "work")
    written = write_recorded(entry, table, tmp_path / "out")
    recorded = read_recorded("toy", tmp_path / "out")
    assert recorded.entry == written
    assert recorded.entry.lexicons[0]["words"] == toy_corpus.WORDS
    assert recorded.entry.plan == json.loads(json.dumps(toy(task).plan.to_json()))
    status = {r["label"]: r["variant"] for _, r in recorded.rows("claimed_loss").iterrows()}
    assert status["trlaplace"] == Status.REFUTED
    assert status["tem"] == Status.PROVED
    assert recorded.rows("true_delta")["value"].iloc[0] > 0.2
    true = recorded.rows("true_epsilon").sort_values("epsilon")
    assert np.all(true["value"].to_numpy() <= true["epsilon"].to_numpy() * (1 + 1e-9))
    kept = curves(recorded.table, "nw")
    assert set(kept["curve"]) == {"tem", "trlaplace", "laplace"}
    assert kept["trials"].tolist() == [2] * len(kept)
    if "rewriting" in task:
        assert baseline(recorded.table, "bleu").trials == 2
    else:
        assert baseline(recorded.table, "accuracy").mean > 0.6
        assert recorded.rows("document_auc", label="trlaplace")["value"].tolist() == [1.0]


def test_a_run_that_was_stopped_goes_on(
    data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    task = "dpcore.papers.huang2024.plans:measure_rewriting"
    entry, table = record(toy(task), data, work=tmp_path / "work")
    monkeypatch.setattr("dpcore.papers.huang2024.plans.measure_rewriting", None)
    again, same = record(toy(task), data, work=tmp_path / "work")
    assert same.equals(table)
    assert again == dataclasses.replace(entry, date=again.date)


def test_the_command_line(
    data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    task = "dpcore.papers.huang2024.plans:measure_rewriting"
    monkeypatch.setitem(studies.EXPERIMENTS, "toy", toy(task, ARMS[:2]))
    run = ["study", "run", "toy", "--data", str(data), "--out", str(tmp_path / "out")]
    assert main(run) == 0
    assert "toy.parquet" in capsys.readouterr().out
    assert read_recorded("toy", tmp_path / "out" / "experiments").entry.title == "A toy"
    for wrong, message in (
        (["study", "run", "toy", "--data", str(data), "--words", "3"], "leave out --words"),
        (["study", "run", "no such", "--data", str(data)], "no study 'no such'; there are: xu2021"),
    ):
        assert main([*wrong, "--out", str(tmp_path / "out")]) == 2
        assert message in capsys.readouterr().err


def test_every_experiment_says_what_it_reads() -> None:
    for name, experiment in EXPERIMENTS.items():
        assert study_of(name).name == name
        assert experiment.plan.together or not experiment.rewrites
        # These are of the laws alone: there is no unchanged text to begin with.
        first = experiment.plan.cells()[0].mechanism
        assert first == "" or name in {"trade-off", "leak", "left", "counted", "intervals"}
        assert "toy" not in experiment.sizes
