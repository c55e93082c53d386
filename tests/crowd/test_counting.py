"""Counts in lists of private texts, and in private copies with their records."""

import json
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import dpcore as dp
from dpcore.crowd import counting
from dpcore.crowd.check import CHANCE, check_law
from dpcore.crowd.comparison import compare
from dpcore.crowd.counting import estimate_counts, open_copy, true_counts
from dpcore.crowd.estimates import UNBIASED, OutputCounts, Tally
from dpcore.crowd.queries import (
    of_direction,
    of_indices,
    of_kinds,
    of_lists,
    of_near,
    of_numbers,
    of_words,
)
from dpcore.errors import ParameterError, StudyError, UnknownWordError
from dpcore.jobs.cluster import Cluster
from dpcore.jobs.executors import Processes
from dpcore.lexicon.lexicon import Lexicon
from dpcore.mechanisms.registry import create
from dpcore.privatize.order import Order
from dpcore.privatize.run import privatize
from dpcore.rewrite.policy import Treatment
from dpcore.tables.files import Columns
from tests.mechanisms.contract import SMALL

LEXICON, _ = Lexicon.build(
    "test", ["good", "bad", "the", "film", *(f"w{i}" for i in range(36))], SMALL.vectors
)
TEXTS = ["the good film the good", "bad film the bad bad"] * 300
LABELS = ["praise", "blame"] * 300


@pytest.fixture(autouse=True)
def _fresh(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DPCORE_CACHE", str(tmp_path / "cache"))


def copy(
    folder: Path, treatment: Treatment | None = None, epsilon: float = 5.0, end: str = "csv"
) -> tuple[Path, Path]:
    """A private copy of the texts, and its record."""
    table, source = pd.DataFrame({"text": TEXTS, "label": LABELS}), folder / f"in.{end}"
    if end == "csv":
        table.to_csv(source, index=False)
    else:
        table.to_parquet(source)
    out, columns = folder / f"out.{end}", Columns("text", ("label",))
    mechanism = create("k-ary", LEXICON)
    order = Order(source, out, mechanism, epsilon, columns, treatment or Treatment())
    privatize(order)
    return out, order.record


@pytest.mark.parametrize("end", ["csv", "parquet"])
def test_a_copy_is_counted_by_a_kept_column(tmp_path: Path, end: str) -> None:
    out, record = copy(tmp_path, end=end)
    texts = open_copy(out, record, LEXICON, "label")
    rows = estimate_counts(texts, of_words(LEXICON, ["good", "bad"]), level=1 - 1e-6).rows
    found = {(row.query, row.group): row for row in rows}
    truth = {("good", "praise"): 600, ("good", "blame"): 0, ("bad", "blame"): 900}
    for key, count in truth.items():
        row = found[key]
        assert row.low <= count <= row.high, (key, row)
        assert row.words == 1_500
        assert row.method == UNBIASED


@pytest.mark.slow
@pytest.mark.parametrize("workers", [Processes, Cluster])
def test_workers_count_alike_to_the_last_digit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, workers: Any
) -> None:
    monkeypatch.setattr(counting, "SPAN_BYTES", 2_000)  # many parts, which end in any order
    out, record = copy(tmp_path)
    asked = of_words(LEXICON, ["good", "bad"])
    alone = estimate_counts(open_copy(out, record, LEXICON, "label"), asked, of="population")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of Dask about itself
        with workers(workers=2) as executor:
            texts = open_copy(
                out, record, LEXICON, "label", executor=executor, folder=tmp_path / "shared"
            )
            together = estimate_counts(texts, asked, of="population")
            assert len(list(texts.batches())) > 5
    assert together.to_dict() == alone.to_dict()


def test_a_copy_in_a_list_is_counted_alike(tmp_path: Path) -> None:
    out, record = copy(tmp_path)
    table = pd.read_csv(out)
    mechanism = create("k-ary", LEXICON)
    listed = dp.count(table.text.tolist(), mechanism, 5.0, ["good"], by=table.label.tolist())
    read = estimate_counts(open_copy(out, record, LEXICON, "label"), of_words(LEXICON, ["good"]))
    assert [row.estimate for row in listed.rows] == [row.estimate for row in read.rows]
    assert list(listed.to_pandas().columns)[:3] == ["query", "group", "words"]
    top = dp.count(table.text.tolist(), mechanism, 5.0, top=3)
    assert {row.query for row in top.rows} >= {"the", "bad"}
    labels = table.label.tolist()
    differ = dp.count(table.text.tolist(), mechanism, 5.0, top=2, by=labels, of="population")
    assert {row.query for row in differ.rows} == {"good", "bad"}
    assert {row.query for row in compare(differ).found} == {"good", "bad"}
    population = dp.count(table.text.tolist(), mechanism, 5.0, "good", of="population")
    assert population.of == "population"


def test_function_words_that_were_kept_are_not_counted_as_outputs(tmp_path: Path) -> None:
    out, record = copy(tmp_path, Treatment(keep_stop_words=True))
    texts = open_copy(out, record, LEXICON)
    assert texts.used is not None
    assert not texts.used[LEXICON.index("the")]
    (row,) = estimate_counts(texts, of_words(LEXICON, ["good"]), level=1 - 1e-6).rows
    assert row.low <= 600 <= row.high
    assert row.words < 2_101  # without the function words, and without outputs that look like them


def test_another_lexicon_and_other_columns_are_refused(tmp_path: Path) -> None:
    out, record = copy(tmp_path)
    with pytest.raises(StudyError, match="another fingerprint"):
        open_copy(out, record, SMALL)
    with pytest.raises(StudyError, match="no column that was kept; kept were: label"):
        open_copy(out, record, LEXICON, "author")
    with pytest.raises(StudyError, match="no record"):
        open_copy(out, out, LEXICON)
    with pytest.raises(StudyError, match="cannot be read"):
        open_copy(out, tmp_path / "missing.json", LEXICON)


def test_what_is_asked_is_checked() -> None:
    mechanism = create("k-ary", LEXICON)
    for wrong in (
        {}, {"words": ["good"], "top": 3}, {"words": ["good"], "by": ["a"]}, {"top": 0},
        {"words": ["good"], "of": "persons"}, {"words": ["good"], "level": 1.0},
    ):  # fmt: skip
        with pytest.raises(ParameterError):
            dp.count(TEXTS, mechanism, 5.0, **wrong)
    with pytest.raises(UnknownWordError):
        dp.count(TEXTS, mechanism, 5.0, ["nowhere"])
    with pytest.raises(ParameterError, match="one text"):
        dp.count(TEXTS[:2], mechanism, 5.0, ["good"], by=["a", "b"])
    with pytest.raises(ParameterError, match="no exact law"):
        dp.count(TEXTS, create("madlib", LEXICON), 5.0, ["good"])


def test_queries_are_what_they_are_called() -> None:
    lexicon = LEXICON
    lists = of_lists(lexicon, {"both": ["good", "bad", "good"]})
    assert lists.matrix()[:, 0].nonzero()[0].tolist() == [0, 1]
    near = of_near(lexicon, "film", 3)
    assert near.matrix().sum() == 3
    assert near.matrix()[lexicon.index("film")] == 1
    direction = of_direction(lexicon, "good", "bad").matrix()[:, 0]
    vectors = lexicon.vectors.astype(float)
    length = np.linalg.norm(vectors[0] - vectors[1])
    assert direction[0] - direction[1] == pytest.approx(length)
    kinds = of_kinds(dp.lexicon())
    assert kinds.binary
    assert "noun.person" in kinds.names
    assert np.all(kinds.matrix().sum(axis=1) <= 1)
    with pytest.raises(ParameterError, match="no word"):
        of_lists(lexicon, {"none": []})
    with pytest.raises(ParameterError, match="finite"):
        of_numbers(lexicon, ["x"], np.full((len(lexicon), 1), np.nan))
    with pytest.raises(ParameterError, match="1 to"):
        of_indices(lexicon, np.array([], dtype=int))


def test_a_sum_of_numbers_is_estimated_as_any_count(tmp_path: Path) -> None:
    out, record = copy(tmp_path)
    numbers = np.linspace(-1.0, 1.0, len(LEXICON))[:, None]
    asked = of_numbers(LEXICON, ["sum"], numbers)
    (row,) = estimate_counts(open_copy(out, record, LEXICON), asked, level=1 - 1e-6).rows
    indices = [LEXICON.index(word) for text in TEXTS for word in text.split()]
    assert row.low <= numbers[indices, 0].sum() <= row.high


# The check of a copy against its record.


def seen(mechanism_epsilon: float, words: np.ndarray) -> OutputCounts:
    mechanism = create("k-ary", LEXICON)
    tally = Tally(len(LEXICON))
    outputs = mechanism.sample(np.random.default_rng(0), words, mechanism_epsilon)
    tally.add(outputs, np.array([0, words.size // 2, words.size]))
    return tally.observed()


def test_texts_of_the_stated_law_pass_and_others_are_found_out() -> None:
    """A canary: less noise than the record states, and outputs of a smaller vocabulary."""
    mechanism, words = create("k-ary", LEXICON), np.repeat(np.arange(4), 2_000)
    good = check_law(mechanism, 3.0, seen(3.0, words))
    assert not good.refuted
    assert "Nothing" in good.sentence
    less = check_law(mechanism, 3.0, seen(4.0, words))
    assert (less.refuted and less.high < 0) or less.absent
    assert "not of the stated law" in less.sentence
    own = seen(3.0, words)
    smaller = OutputCounts(own.groups, own.texts, own.outputs * (np.arange(len(LEXICON)) < 30))
    found = check_law(mechanism, 3.0, smaller)
    assert found.absent == 10
    assert found.refuted
    assert json.loads(json.dumps(found.to_dict()))["refuted"] is True


def test_the_check_refutes_the_true_law_as_rarely_as_it_says() -> None:
    mechanism, words = create("tem", LEXICON), np.repeat(np.arange(10), 300)
    rng = np.random.default_rng(1)
    refuted = 0
    for _ in range(100):
        outputs = np.bincount(mechanism.sample(rng, words, 2.0), minlength=len(LEXICON))
        check = check_law(mechanism, 2.0, OutputCounts(("a",), np.array([2]), outputs[None]))
        refuted += check.refuted
    # Three of 100 would come by chance once in 6 million times.
    assert refuted <= 2, CHANCE


def test_the_truth_is_that_of_the_originals_in_the_order_of_the_estimates() -> None:
    mechanism = create("k-ary", LEXICON)
    private = dp.privatize_column(TEXTS, mechanism, 5.0)
    found = dp.count(private, mechanism, 5.0, ["good", "bad", "the"], by=LABELS)
    truth = true_counts(found, TEXTS, LEXICON, by=LABELS)
    assert found.observed.groups == ("blame", "praise")
    assert truth.tolist() == [[0, 900, 300], [600, 0, 600]]
    kept = Treatment(keep_stop_words=True)
    assert true_counts(found, TEXTS, LEXICON, by=LABELS, treatment=kept)[:, 2].tolist() == [0, 0]
    with pytest.raises(ParameterError, match="other groups"):
        true_counts(found, TEXTS, LEXICON)


def test_words_that_were_chosen_by_their_outputs_have_intervals_for_all() -> None:
    mechanism = create("k-ary", LEXICON)
    private = dp.privatize_column(TEXTS, mechanism, 5.0)
    (chosen,) = (r for r in dp.count(private, mechanism, 5.0, top=3).rows if r.query == "bad")
    named = dp.count(private, mechanism, 5.0, list(LEXICON.words)).rows
    (one,) = (row for row in named if row.query == "bad")
    assert (chosen.low, chosen.high) == pytest.approx((one.low, one.high))
