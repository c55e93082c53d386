"""The recorded benchmarks: complete, as defined, and equal to the page in docs."""

import json

import pytest

from dpcore.attack.bounds.meter import meter
from dpcore.attack.output.prior import parse_prior
from dpcore.guarantee import Status
from dpcore.lexicon.catalogue import load
from dpcore.mechanisms.registry import create
from dpcore.papers.ours.benchmark.board import GUESSED, NEAR, boards, interpolation_error
from dpcore.papers.ours.benchmark.cells import (
    HOLDS,
    LADDER,
    LOCAL,
    METRIC,
    WHOLE,
    everything,
    label_of,
)
from dpcore.papers.ours.benchmark.findings import report
from dpcore.papers.ours.benchmark.record import KEPT, STUDIES, Benchmark, read_benchmark, study
from dpcore.study.plan import PRIVATE
from tests.needs import ROOT

NAMES = [each.name for each in STUDIES]
LABELS = [label_of(*each) for each in everything()]


@pytest.fixture(scope="module", params=NAMES)
def benchmark(request: pytest.FixtureRequest) -> Benchmark:
    return read_benchmark(request.param)


def test_every_mechanism_of_the_registry_is_there_or_says_why(benchmark: Benchmark) -> None:
    assert {line.label for line in benchmark.bare} == set(LABELS)
    for board in boards(benchmark):
        if not board.bounds:
            assert {line.label for line in board.lines} == set(LABELS)
        for line in board.lines:
            assert bool(line.why) != (line.epsilon is not None)


def test_every_trial_of_every_epsilon_is_there(benchmark: Benchmark) -> None:
    plan = benchmark.figures.entry.plan
    arms = {arm["label"] or arm["mechanism"]: arm["epsilons"] for arm in plan["arms"]}
    for (utility, label), numbers in benchmark.trials.items():
        assert set(numbers) == set(arms[label]), (utility, label)
        assert {len(values) for values in numbers.values()} == {WHOLE.trials}
    assert {utility for utility, _ in benchmark.trials} == {KEPT, "cosine", "auc", "sentiment"}


def test_what_is_guessed_on_a_board_is_its_level(benchmark: Benchmark) -> None:
    for board in boards(benchmark):
        if board.sense != GUESSED:
            continue
        assert len(board.there) >= 10
        for line in board.there:
            assert line.guessed is not None
            assert line.guessed.low <= (1 + NEAR) * board.level
            assert line.guessed.high >= (1 - NEAR) * board.level


def test_no_guarantee_that_holds_lets_more_be_guessed_than_any_could(benchmark: Benchmark) -> None:
    """Bounds on all mechanisms hold for these: measured ends against the bound."""
    for bounds in (METRIC, LOCAL):
        line = benchmark.figures.rows("bound", variant=bounds).sort_values("epsilon")
        words = benchmark.figures.rows(benchmark.words).set_index(["label", "epsilon"])
        promises = benchmark.figures.rows("promise", tested_on=bounds)
        checked = 0
        for promise in promises.to_dict("records"):
            if Status(promise["variant"]) not in HOLDS:
                continue
            above = line[line["epsilon"] >= promise["value"]]
            if len(above):
                checked += 1
                low = words.loc[(promise["label"], promise["epsilon"]), "low"]
                assert low <= above["high"].iloc[0] + 1e-9, promise["label"]
        assert checked >= 5


def test_the_waste_is_never_below_one_by_more_than_is_measured(benchmark: Benchmark) -> None:
    for board in boards(benchmark):
        for line in board.there:
            if line.waste is not None:
                assert line.waste > 0.95, line.label


@pytest.mark.slow
def test_the_guarantees_are_those_of_the_mechanisms() -> None:
    benchmark = read_benchmark()
    lexicon = load(None)
    rows = benchmark.figures.rows("promise").groupby("label").head(1)
    settings = {label_of(*each): each for each in everything()}
    for row in rows.to_dict("records"):
        short, given = settings[row["label"]]
        guarantee = create(short, lexicon, dict(given)).guarantee(row["epsilon"])
        assert str(guarantee.status) == row["variant"]


def test_at_the_guaranteed_epsilon_no_one_guesses_more_than_the_level() -> None:
    benchmark, lexicon = read_benchmark(), load(None)
    prior = parse_prior(lexicon, benchmark.stranger)
    for bounds in (METRIC, LOCAL):
        for share, epsilon in benchmark.least(bounds).items():
            (reading,) = meter(lexicon, [epsilon], prior, local=bounds == LOCAL).rows
            assert reading.high <= share * (1 + 1e-9)
            assert reading.high >= 0.6 * share  # of a metric the known ε are a grid


def test_no_noise_of_the_search_is_in_the_record() -> None:
    for each in STUDIES:
        assert 0 not in each.plan.seeds
        assert dict(each.plan.options)["trials"] == WHOLE.trials


def test_levels_are_looked_for_between_more_shares_than_are_shown(benchmark: Benchmark) -> None:
    found = benchmark.levels("level")
    assert {share for _, share in found} == set(LADDER)
    accuracy = benchmark.figures.rows("accuracy", tested_on=PRIVATE)
    assert set(accuracy["label"]) <= set(LABELS)
    assert interpolation_error(benchmark)["sentiment"][0] < 0.1


def test_an_own_study_needs_no_folder_of_data() -> None:
    made = study("mine", "Mine", "", "mine")
    assert not made.reads_data
    assert json.dumps(made.plan.to_json())


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_the_page_in_docs_is_what_the_command_writes(name: str) -> None:
    """`python -m dpcore benchmark --recorded NAME --out FILE.md` reproduces its part."""
    page = (ROOT / "docs/benchmark.md").read_text(encoding="utf-8")
    made = read_benchmark(name)
    assert "\n".join(report(made, boards(made))).rstrip() in page
