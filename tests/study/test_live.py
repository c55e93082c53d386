"""Live runs: the texts, the jobs, their rows and examples, and the command line."""

import gc
import json
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from dpcore.cli.main import main
from dpcore.errors import CorpusError, ParameterError, StudyError
from dpcore.learn.corpus import LabelledTexts, teaching_corpus
from dpcore.learn.table import read_table
from dpcore.limits import LIVE_EPSILONS, LIVE_SEEDS, MAX_LIVE_RUNS
from dpcore.study import live
from dpcore.study.live import (
    VALUES,
    WORDS,
    Course,
    Live,
    run_job,
    shortened,
    table_texts,
    teaching_texts,
)
from dpcore.study.plan import COLUMNS, Arm
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
    results = [run_job(job) for job in jobs]
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
    assert run_job(jobs[1], told.append) == results[1]
    assert {message["stage"] for message in told} == {WORDS, VALUES}
    assert all(0 <= message["done"] <= message["total"] for message in told)


def test_membership_is_left_out_on_demand(texts: LabelledTexts) -> None:
    rows = run_job(Live(texts, "colour", ARMS, attack=False).jobs()[0])["rows"]
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


# Live runs in the background: partial results, waiting, stopping, errors, who holds them, and how
# far each is.


PATIENCE = 60.0
PARTS = [(name, trial) for trial in range(2) for name in ("baseline", "madlib", "tem")]


class Plan:
    """Replacement of `Live`: four jobs."""

    def jobs(self) -> list[dict[str, Any]]:
        names = ["baseline", "tem", "madlib", "laplace"]
        cells = [{"label": name, "seed": 0} for name in names]
        return [{"number": number, "cell": cell} for number, cell in enumerate(cells)]


PLAN: Any = Plan()
ROW: Any = 0  # of the first job


class Slow:
    """An executor whose jobs are done when the test says so."""

    workers = 1

    def __init__(self, fails_at: int = -1) -> None:
        self.go = threading.Semaphore(0)
        self.left = threading.Event()
        self.fails_at = fails_at

    def __call__(self, listen: Any) -> "Slow":
        self.tell = listen
        return self

    def __enter__(self) -> "Slow":
        return self

    def __exit__(self, *_: object) -> None:
        self.left.set()
        self.go.release()

    def run(self, function: str, payloads: Any) -> Any:
        for job in payloads:
            self.go.acquire()
            if self.left.is_set():
                raise StudyError("a worker process died")
            if job["number"] == self.fails_at:
                raise CorpusError("the labels teach nothing: choose others")
            self.tell({"stage": WORDS, "done": 5, "total": 10})
            yield job, {"rows": [job["number"]], "examples": [{"of": job["number"]}]}


def until(condition: Any) -> None:
    done = threading.Event()
    for _ in range(int(PATIENCE / 0.01)):
        if condition():
            return
        done.wait(0.01)
    raise AssertionError("nothing happened")


def begun(run: live.LiveRun) -> None:
    until(lambda: at_work(run))


def at_work(run: live.LiveRun) -> bool:
    return run.progress()[1].startswith("Part ")


def test_rows_come_as_they_are_done() -> None:
    slow = Slow()
    run = live.start_run(PLAN, slow)
    begun(run)
    assert (run.finished, run.rows, run.done) == (0, (), False)
    slow.go.release()
    until(lambda: run.finished == 1)
    assert run.rows == (ROW,)
    assert run.progress()[1].startswith("Part 2 of 4 (tem, trial 1): ")
    slow.go.release()
    until(lambda: run.finished == 2)
    assert "left" in run.progress()[1]
    slow.go.release(2)
    assert run.wait(PATIENCE)
    assert (run.finished, run.error, run.stopped) == (4, None, False)
    assert len(run.examples) == 4
    run.stop()
    assert not run.stopped  # it had ended


def test_a_stop_keeps_what_is_done() -> None:
    slow = Slow()
    run = live.start_run(PLAN, slow)
    slow.go.release()
    until(lambda: run.finished == 1)
    run.stop()
    assert run.wait(PATIENCE)
    assert run.stopped
    assert run.error is None
    assert run.rows == (ROW,)


def test_a_refusal_is_said_and_what_is_done_stays() -> None:
    slow = Slow(fails_at=1)
    slow.go.release(2)
    run = live.start_run(PLAN, slow)
    assert run.wait(PATIENCE)
    assert run.error == "the labels teach nothing: choose others"
    assert len(run.rows) == 1


def test_others_wait_their_turn_and_may_give_up() -> None:
    first = [Slow() for _ in range(MAX_LIVE_RUNS)]
    runs = [live.start_run(PLAN, slow) for slow in first]
    until(lambda: all(at_work(run) for run in runs))
    waiting, leaving = live.start_run(PLAN, Slow()), live.start_run(PLAN, Slow())
    assert waiting.progress() == (0.0, "Waiting: 1 before you")
    assert leaving.progress() == (0.0, "Waiting: 2 before you")
    leaving.stop()
    assert leaving.wait(PATIENCE)
    runs[0].stop()
    until(lambda: at_work(waiting))
    for run in (*runs, waiting):
        run.stop()
        assert run.wait(PATIENCE)


def test_a_run_that_no_one_holds_ends() -> None:
    slow = Slow()
    run = live.start_run(PLAN, slow)
    begun(run)
    del run
    gc.collect()
    assert slow.left.wait(PATIENCE)


@pytest.mark.parametrize("stop", [False, True])
def test_in_a_real_process(stop: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """The worker refuses these jobs, which is enough to see that it runs and can be ended."""
    run = live.start_run(PLAN)
    if stop:
        run.stop()
    assert run.wait(PATIENCE)
    assert (run.error is None) == stop
    assert run.rows == ()


def test_it_moves_within_a_part_and_never_back() -> None:
    course = Course(PARTS, begun=10.0)
    assert course.progress(11.0) == (
        0.0,
        "Part 1 of 6 (baseline, trial 1): reading texts; 1 s so far",
    )
    course.finish_part(12.0)
    shares = []
    for now, stage, done in ((13, WORDS, 100), (14, WORDS, 200), (15, VALUES, 3), (16, VALUES, 6)):
        course.hear(stage, done, 6 if stage == VALUES else 200)
        share, message = course.progress(float(now))
        assert message.startswith(f"Part 2 of 6 (madlib, trial 1): {done:,} of ")
        assert stage in message
        shares.append(share)
    assert shares == sorted(shares)
    assert 0 < shares[0] < shares[-1] < 1
    course.finish_part(16.0)
    course.hear(WORDS, 1, 1_000)  # slower than it looked
    assert course.progress(40.0)[0] >= shares[-1]


def test_the_time_left_is_that_of_the_same_mechanism_in_another_trial() -> None:
    course = Course(PARTS, begun=0.0)
    for end in (1.0, 11.0, 51.0, 52.0):  # 1 s, 10 s, 40 s, and the second baseline
        course.finish_part(end)
    share, message = course.progress(52.0)
    assert message.endswith("52 s so far, about 50 s left")
    assert share == pytest.approx(52 / 102)
    course.finish_part(62.0)
    assert course.progress(64.0)[1].endswith("64 s so far, about 38 s left")


def test_the_pace_of_a_part_is_what_is_known_of_a_new_mechanism() -> None:
    course = Course([("baseline", 0), ("madlib", 0), ("tem", 0)], begun=0.0)
    course.finish_part(1.0)
    assert "left" not in course.progress(1.5)[1]  # of a mechanism nothing is known
    course.hear(WORDS, 1, 2)  # half of the way from 0.05 to 0.6 of the part
    # 9.2 s a part, 3 are over.
    assert course.progress(4.0)[1].endswith("4 s so far, about 15 s left")
    course.finish_part(401.0)
    assert course.progress(402.0)[1].endswith("about 7 min left")
    course.finish_part(801.0)
    assert course.progress(801.0) == (1.0, "All 3 parts done after 801 s")
