"""Estimates from private texts: intervals that hold, groups, and refusals."""

import math

import numpy as np
import pytest
from scipy.stats import binom

from dpcore.arrays import IntArray
from dpcore.crowd.estimates import (
    BIASED,
    POPULATION,
    TEXTS,
    UNBIASED,
    UNKNOWN,
    Estimates,
    OutputCounts,
    Tally,
    half_widths,
    sums_of,
)
from dpcore.crowd.queries import of_indices, of_lists
from dpcore.crowd.undo import undo
from dpcore.errors import ParameterError
from dpcore.limits import MAX_CROWD_GROUPS
from dpcore.mechanisms.registry import create
from tests.mechanisms.contract import SMALL, typical

N = len(SMALL)
REPEATED = 400
# 95 % of 400 intervals hold but for 4 standard errors: once in 30,000 tests by chance.
LEAST = 0.95 - 4.0 * math.sqrt(0.95 * 0.05 / REPEATED)


@pytest.fixture(autouse=True)
def _fresh(tmp_path: object, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DPCORE_CACHE", str(tmp_path))


def observed(outputs: IntArray, texts: int = 10) -> OutputCounts:
    return OutputCounts(("all",), np.array([texts]), outputs[None])


@pytest.mark.parametrize("name", ["k-ary", "tem", "custext", "diffractor", "optimal", "budget"])
@pytest.mark.parametrize("size", [60, 600, 6_000])
def test_intervals_for_these_texts_hold(name: str, size: int) -> None:
    """Of words from the commonest to one that does not occur, in three sizes of a group."""
    mechanism = create(name, SMALL)
    epsilon = typical(mechanism)
    asked = of_indices(SMALL, np.array([0, 5, 20, 39]))
    estimators = undo(mechanism, epsilon, asked, size)
    counts = np.floor(size * 0.5 ** np.arange(1, N + 1)).astype(int)
    counts[0] += size - counts.sum()
    channel = np.array([mechanism.law(word, [epsilon]).dense(N)[0] for word in range(N)])
    rng = np.random.default_rng(1)
    held = np.zeros(len(asked))
    for _ in range(REPEATED):
        outputs = sum(rng.multinomial(c, p / p.sum()) for c, p in zip(counts, channel, strict=True))
        rows = Estimates(
            name, epsilon, TEXTS, 0.95, False, observed(np.asarray(outputs)), estimators
        ).rows
        truth = counts[[0, 5, 20, 39]].tolist()
        held += [row.low <= true <= row.high for row, true in zip(rows, truth, strict=True)]
    assert np.all(held / REPEATED >= LEAST), held / REPEATED


def test_intervals_for_the_population_hold() -> None:
    """Texts of a few words, all alike within a text: the noise alone is far too narrow."""
    mechanism, texts, length = create("k-ary", SMALL), 200, 6
    estimators = undo(mechanism, 3.0, of_indices(SMALL, np.array([0])), texts * length)
    rng = np.random.default_rng(2)
    held = narrow = 0
    for _ in range(REPEATED):
        topics = rng.random(texts) < 0.3
        words = np.where(topics[:, None], 0, rng.integers(1, N, size=(texts, length))).reshape(-1)
        tally = Tally(N, estimators)
        offsets = np.arange(0, words.size + 1, length)
        tally.add(mechanism.sample(rng, words, 3.0), offsets)
        seen = tally.observed()
        for of in (POPULATION, TEXTS):
            sums = sums_of(estimators, seen, of)
            hit = abs(sums.estimate[0, 0] - 0.3 * texts * length) <= (
                half_widths(sums, seen, of, 0.95) + sums.bias
            )
            held += of == POPULATION and bool(hit)
            narrow += of == TEXTS and bool(hit)
    assert held / REPEATED >= LEAST
    assert narrow / REPEATED < 0.9


def test_a_tally_is_the_plain_count_in_any_batches() -> None:
    rng = np.random.default_rng(3)
    words = rng.integers(-1, N, size=500)
    offsets = np.sort(np.append(rng.integers(0, 500, size=49), [0, 500]))
    groups = rng.choice(["b", "a"], size=50).tolist()
    mechanism = create("k-ary", SMALL)
    estimators = undo(mechanism, 3.0, of_indices(SMALL, np.array([4, 7])), 500)
    whole, parts = Tally(N, estimators), Tally(N, estimators)
    whole.add(words, offsets, groups)
    for i in range(50):
        a, b = offsets[i : i + 2]
        parts.add(words[a:b], np.array([0, b - a]), groups[i : i + 1])
    first, second = whole.observed(), parts.observed()
    assert first.groups == ("a", "b")
    np.testing.assert_array_equal(first.outputs, second.outputs)
    np.testing.assert_array_equal(first.texts, [groups.count("a"), groups.count("b")])
    for g, name in enumerate(first.groups):
        own = [words[offsets[i] : offsets[i + 1]] for i in range(50) if groups[i] == name]
        plain = np.bincount(np.concatenate(own)[np.concatenate(own) >= 0], minlength=N)
        np.testing.assert_array_equal(first.outputs[g], plain)
        # The variance of a ratio of sums over texts, by its formula.
        h = estimators.values.astype(float)
        sums = np.array([h[text[text >= 0]].sum(axis=0) for text in own])
        sizes = np.array([(text >= 0).sum() for text in own])
        rest = sums - sums.sum(axis=0) / sizes.sum() * sizes[:, None]
        expected = (rest**2).sum(axis=0) * len(own) / (len(own) - 1)
        for seen in (first, second):
            assert seen.moments is not None
            variance = seen.moments[g].variance(float(sizes.sum()), len(own))
            np.testing.assert_allclose(variance, expected)
            both = np.maximum(expected, sums_of(estimators, seen, TEXTS).variance[g])
            np.testing.assert_allclose(sums_of(estimators, seen, POPULATION).variance[g], both)


@pytest.mark.parametrize("of", [TEXTS, POPULATION])
def test_a_word_that_never_came_out_may_still_be_there(of: str) -> None:
    """At a large ε most outputs are the words; that one is absent says little of a rare one."""
    mechanism, size, rare = create("k-ary", SMALL), 200, 2
    estimators = undo(mechanism, 5.0, of_indices(SMALL, np.array([9])), size)
    words, rng = np.append(np.zeros(size - rare, dtype=int), [9] * rare), np.random.default_rng(5)
    held = 0
    for _ in range(REPEATED):
        tally = Tally(N, estimators)
        tally.add(mechanism.sample(rng, words, 5.0), np.arange(0, size + 1, 10))
        seen = tally.observed()
        (row,) = Estimates("k-ary", 5.0, of, 0.95, False, seen, estimators).rows
        assert row.high > 0
        held += row.low <= rare <= row.high
    assert held / REPEATED >= LEAST


@pytest.mark.parametrize("places", [[9], [2, 3, 5]])
@pytest.mark.parametrize("size", [12, 40])
@pytest.mark.parametrize("level", [0.9, 0.999])
def test_few_outputs_of_response_have_exact_intervals(
    places: list[int], size: int, level: float
) -> None:
    """All counts under which neither tail is too small, each tail from all outcomes."""
    mechanism, epsilon = create("k-ary", SMALL), 3.0
    asked = of_lists(SMALL, {"these": [SMALL.words[place] for place in places]})
    estimators = undo(mechanism, epsilon, asked, size)
    assert estimators.chances is not None
    inside, outside = estimators.chances[:, 0].tolist()
    law = mechanism.law(places[0], [epsilon]).dense(N)[0]
    assert inside == pytest.approx(law[places].sum(), rel=1e-9)
    assert outside == pytest.approx(law[0] * len(places), rel=1e-9)
    for came in range(min(size, 6)):
        outputs = np.zeros(N, dtype=int)
        outputs[places[0]], outputs[0] = came, size - came
        (row,) = Estimates(
            "k-ary", epsilon, TEXTS, level, False, observed(outputs), estimators
        ).rows
        possible = []
        for count in range(size + 1):
            masses = np.convolve(
                binom.pmf(np.arange(count + 1), count, inside),
                binom.pmf(np.arange(size - count + 1), size - count, outside),
            )
            if min(masses[came:].sum(), masses[: came + 1].sum()) > 0.5 * (1.0 - level):
                possible.append(count)
        assert (row.low, row.high) == (possible[0], possible[-1])


def test_one_text_is_no_crowd_and_too_many_groups_are_none() -> None:
    tally = Tally(N)
    tally.add(np.array([1, 2]), np.array([0, 2]), ["alone"])
    with pytest.raises(ParameterError, match="one text is no crowd"):
        tally.observed()
    with pytest.raises(ParameterError, match="no text"):
        Tally(N).observed()
    many = Tally(N)
    labels = [f"g{i}" for i in range(MAX_CROWD_GROUPS + 1)]
    with pytest.raises(ParameterError, match="different values"):
        many.add(np.zeros(len(labels), dtype=int), np.arange(len(labels) + 1), labels)


def rows_of(name: str, epsilon: float, size: int, **settings: object) -> Estimates:
    mechanism = create(name, SMALL, settings)
    estimators = undo(mechanism, epsilon, of_indices(SMALL, np.array([0, 1])), size)
    drawn = mechanism.sample(np.random.default_rng(4), np.zeros(size, dtype=int), epsilon)
    seen = observed(np.bincount(drawn, minlength=N))
    return Estimates(name, epsilon, TEXTS, 0.95, True, seen, estimators)


def test_rows_stay_within_what_is_possible_and_say_how_they_were_made() -> None:
    first, second = rows_of("k-ary", 3.0, 2_000).rows
    assert first.method == second.method == UNBIASED
    assert 0 <= first.low <= first.high <= 2_000
    assert 0 <= second.low <= second.high
    assert abs(first.estimate - 2_000) < 5 * first.error + 1
    assert first.to_dict()["estimate"] == first.estimate


def test_an_inverse_that_explodes_says_so() -> None:
    """At a tiny ε the outputs say nothing: no number of a thousand million is printed."""
    for row in rows_of("k-ary", 1e-6, 2_000).rows:
        assert row.method == UNKNOWN
        assert math.isnan(row.estimate)
        assert (row.low, row.high) == (0.0, 2_000.0)
        assert row.to_dict()["estimate"] is None
    methods = {row.method for row in rows_of("neighbour-response", 4.0, 2_000, k=3).rows}
    assert methods <= {UNBIASED, BIASED, UNKNOWN}


def test_all_at_once_is_wider_than_one_at_a_time() -> None:
    together = rows_of("k-ary", 3.0, 2_000)
    alone = Estimates("k-ary", 3.0, TEXTS, 0.95, False, together.observed, together.estimators)
    assert together.rows[1].high > alone.rows[1].high


def test_the_json_form_has_the_fields_that_programs_read() -> None:
    answer = rows_of("k-ary", 3.0, 2_000).to_dict()
    assert {"mechanism", "epsilon", "words_total", "rows"} <= set(answer)
    assert {"query", "group", "estimate", "low", "high", "biased_by", "method"} <= set(
        answer["rows"][0]
    )
    assert len(rows_of("k-ary", 3.0, 2_000).to_pandas()) == 2
