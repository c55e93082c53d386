"""Sums of guaranteed losses and repeated releases, against loops and enumeration."""

import math
from fractions import Fraction
from itertools import pairwise, product

import numpy as np
import pytest

from dpcore.arrays import FloatArray
from dpcore.attack.budget import RepeatedLeak, budget, repeated_leak, response_success
from dpcore.attack.leak import DRAWN, leak
from dpcore.attack.output.channel import open_channel
from dpcore.attack.output.prior import Prior
from dpcore.errors import EpsilonError, ParameterError
from dpcore.lexicon.catalogue import load
from dpcore.lexicon.metric import Metric, distances
from dpcore.mechanisms.mechanism import Mechanism
from dpcore.mechanisms.registry import create
from dpcore.plots.attack.success import RELEASED
from tests.mechanisms import lexicons

LEXICON = lexicons.cloud(60, 5)
D = distances(LEXICON.vectors, LEXICON.vectors)


def test_metric_losses_add_up_over_places_and_releases() -> None:
    tem = create("tem", LEXICON)
    text, other = [3, 7, 3, 9], [4, 7, 8, 1]
    total = budget(tem, text, 2.0, others=other, releases=5)
    assert total.other_loss == pytest.approx(
        5 * sum(2.0 * D[a, b] for a, b in zip(text, other, strict=True))
    )
    near = D + np.diag(np.full(60, np.inf))
    assert total.nearest_loss == pytest.approx(5 * sum(2.0 * near[a].min() for a in text))
    assert [(entry.word, entry.places, entry.releases) for entry in total.words] == [
        (3, 2, 10), (7, 1, 5), (9, 1, 5)
    ]  # fmt: skip
    assert total.words[0].nearest == int(near[3].argmin())
    assert total.words[1].other_loss == 0.0
    assert total.tokens == 4
    assert total.log_delta is None
    assert "20 protected words" in total.statement
    assert total.status == "proved"
    farthest = budget(tem, text, 2.0)
    assert farthest.other_loss == pytest.approx(sum(2.0 * D[a].max() for a in text))
    assert farthest.words[1].other == int(D[7].argmax())
    assert farthest.words[0].word == 3


def test_a_metric_of_its_own_is_used() -> None:
    tem = create("tem", LEXICON, {"metric": "manhattan"})
    far = distances(LEXICON.vectors, LEXICON.vectors, Metric.MANHATTAN)
    assert budget(tem, [1], 1.5, others=[2]).other_loss == pytest.approx(1.5 * far[1, 2])


def test_local_losses_count_places() -> None:
    laplace = create("laplace", LEXICON)
    total = budget(laplace, [1, 1, 2], 0.5, releases=2)
    assert total.nearest_loss == total.other_loss == pytest.approx(3.0)
    assert total.nearest_success == pytest.approx(1 / (1 + math.exp(-3.0)))
    gaussian = create("gaussian", LEXICON)
    both = budget(gaussian, [1, 2], 0.5, releases=3)
    assert both.log_delta == pytest.approx(math.log(6e-5))


def test_refusals() -> None:
    tem = create("tem", LEXICON)
    for words, keywords, message in (
        ([], {}, "1 to 200 words, got 0"),
        ([1] * 201, {}, "got 201"),
        ([1], {"releases": 0}, "releases must be"),
        ([1, 2], {"others": [1]}, "must have 2 words as well, got 1"),
        ([60], {}, "word indices"),
    ):
        with pytest.raises(ParameterError, match=message):
            budget(tem, words, 1.0, **keywords)
    with pytest.raises(EpsilonError):
        budget(tem, [1], 0.0)


# Repeated releases.

TINY = lexicons.cloud(5, 3)
SKEWED = np.array([0.4, 0.25, 0.2, 0.15, 0.0])


def laws(mechanism: Mechanism, epsilon: float) -> FloatArray:
    """Laws of all words, shape (n, n)."""
    n = len(mechanism.lexicon)
    return np.array([mechanism.law(word, epsilon).dense(n).reshape(n) for word in range(n)])


def enumerated(law: FloatArray, prior: FloatArray, releases: int) -> float:
    """Sum over all sequences of outputs: the product of channels."""
    total = 0.0
    for outputs in product(range(law.shape[1]), repeat=releases):
        total += max(prior * math.prod(law[:, output] for output in outputs))
    return total


def prior_of(chances: FloatArray) -> Prior:
    return Prior("typed", chances, "of a test")


@pytest.mark.parametrize("epsilon", [1e-6, 0.3, math.log(2), 2.0, 5.0, 60.0])
@pytest.mark.parametrize(
    "prior", [np.full(5, 0.2), SKEWED, 2.0 ** -np.array([1, 2, 3, 4, 4]), [0, 0, 0.5, 0.5, 0]]
)
def test_randomised_response_is_summed_exactly(prior: FloatArray, epsilon: float) -> None:
    """With ln 2 and powers of two posteriors tie across words of different counts."""
    stay = 1.0 / (1.0 + 4.0 * math.exp(-epsilon))
    law = np.full((5, 5), (1.0 - stay) / 4.0)
    np.fill_diagonal(law, stay)
    chances = np.asarray(prior, dtype=np.float64)
    shares = response_success(chances, stay, epsilon, 4)
    for r, share in enumerate(shares.tolist(), start=1):
        assert share == pytest.approx(enumerated(law, chances, r), rel=1e-12)


def most_often(n: int, releases: int) -> list[Fraction]:
    """Numbers of sequences of outputs whose most frequent word occurs 0, 1, … times."""
    at_most = []
    for m in range(releases + 1):
        one = [Fraction(1, math.factorial(i)) for i in range(m + 1)]
        power = [Fraction(1)] + [Fraction(0)] * releases
        for _ in range(n):
            power = [
                sum((power[k - i] * one[i] for i in range(min(k, m) + 1)), Fraction(0))
                for k in range(releases + 1)
            ]
        at_most.append(power[releases] * math.factorial(releases))
    return [at_most[0], *(more - less for less, more in pairwise(at_most))]


@pytest.mark.parametrize(("n", "releases"), [(2, 9), (40, 7), (300, 5)])
def test_equal_words_by_the_most_frequent_output(n: int, releases: int) -> None:
    """All words alike: S = q^r/n · Σ_m (sequences with largest count m)·e^(εm), in fractions."""
    epsilon = 3.0
    other = 1.0 / (math.exp(epsilon) + n - 1)
    counts = most_often(n, releases)
    assert sum(counts) == n**releases
    closed = sum(float(count) * math.exp(epsilon * m) for m, count in enumerate(counts))
    closed *= other**releases / n
    stay = other * math.exp(epsilon)
    shares = response_success(np.full(n, 1.0 / n), stay, epsilon, releases)
    assert shares[-1] == pytest.approx(closed, rel=1e-11)


def test_one_release_is_the_leak_and_more_never_help_less() -> None:
    k_ary = create("k-ary", LEXICON)
    answer = repeated_leak(k_ary, 3.0, 12, "equal")
    shares = [row.value for row in answer.rows]
    assert answer.memoised == shares[0]
    assert shares[0] == pytest.approx(leak(k_ary, 3.0, "equal").after)
    assert shares == pytest.approx(sorted(shares), rel=1e-12)
    assert answer.draws == 0
    assert answer.before == pytest.approx(1 / 60)
    assert all(row.exact and row.value <= row.guaranteed * (1 + 1e-9) for row in answer.rows)
    # Randomised response spends ε completely: of one release nothing else is permitted.
    assert answer.rows[0].guaranteed == pytest.approx(answer.memoised)
    assert answer.rows[3].total == pytest.approx(12.0)
    assert "of memoised answers" in answer.sentence


@pytest.mark.parametrize("short", ["tem", "neighbour-response"])
def test_drawn_releases_hold_the_enumerated_share(short: str) -> None:
    """Intervals of level 1 − 1e-6 in place of 95 %; four of them a mechanism fail with 4e-6."""
    settings = {"k": 2} if short == "neighbour-response" else {}
    mechanism = create(short, TINY, settings)
    law = laws(mechanism, 2.0)
    answer = repeated_leak(mechanism, 2.0, 4, prior_of(SKEWED), draws=2_000)
    for row in answer.rows:
        expected = enumerated(law, SKEWED, row.releases)
        half = max(row.value - row.low, row.high - row.value, 1e-9)
        # Bernstein's half-width grows with ln(4/δ) at most.
        assert abs(row.value - expected) <= half * math.log(4e6) / math.log(80)
        assert row.exact == (row.releases == 1)
        assert 0 < row.error < half or row.exact
    assert answer.rows[0].value == pytest.approx(enumerated(law, SKEWED, 1))


@pytest.mark.parametrize("short", ["tem", "k-ary", "neighbour-response", "santext"])
@pytest.mark.parametrize("words", ["few", "all"])
def test_the_agreement_of_two_outputs_is_that_of_the_laws(short: str, words: str) -> None:
    lexicon = TINY if words == "few" else lexicons.cloud(260, 3)  # beyond a list of words
    mechanism = create(short, lexicon)
    prior = np.arange(1.0, len(lexicon) + 1.0)
    prior /= prior.sum()
    answer = repeated_leak(mechanism, 2.0, 1, prior_of(prior), draws=2)
    expected = prior @ (laws(mechanism, 2.0) ** 2).sum(axis=1)
    # The spectrum of a whole lexicon gives normalisers with an error of their own.
    assert answer.agreement == pytest.approx(expected, rel=1e-5)
    assert answer.agreement_error == 0.0


def test_the_agreement_of_drawn_outputs(monkeypatch: pytest.MonkeyPatch) -> None:
    """As where a column takes an integral; six standard errors fail with less than 1e-6."""
    monkeypatch.setattr("dpcore.attack.budget.way_of", lambda *_: DRAWN)
    mechanism = create("tem", lexicons.cloud(260, 3))
    answer = repeated_leak(mechanism, 4.0, 2, "equal", draws=2_000)
    expected = (laws(mechanism, 4.0) ** 2).sum(axis=1).mean()
    assert 0 < answer.agreement_error < 0.1 * answer.agreement
    assert abs(answer.agreement - float(expected)) <= 6.0 * answer.agreement_error
    assert not answer.rows[0].exact
    assert answer.rows[0].low <= leak(mechanism, 4.0, "equal").after <= answer.rows[0].high


def test_columns_and_rows_agree_on_agreement() -> None:
    channel = open_channel(create("tem", TINY))
    squares = (laws(channel.mechanism, 2.0) ** 2).sum(axis=1)
    assert channel.agreeing(2.0) == pytest.approx(squares)


def made(agreement: float) -> RepeatedLeak:
    return RepeatedLeak("k-ary", 1.0, "equal", 0.1, 0, (), agreement, 0.0)


def test_the_words_that_recognise_a_person() -> None:
    """By enumeration: the others agree with the outputs of one person, each with chance Q."""
    kept, n, persons = 0.6, 4, 30
    law = [kept, *[(1 - kept) / (n - 1)] * (n - 1)]
    recognition = made(sum(p * p for p in law)).recognition(persons, 0.9)
    assert recognition.words is not None

    def alone(k: int) -> float:
        every = product(law, repeat=k)
        return sum(math.prod(q) * (1 - math.prod(q)) ** (persons - 1) for q in every)

    assert alone(recognition.words) >= 0.9
    assert recognition.wrong == pytest.approx(sum(p * p for p in law) ** recognition.words)
    # The least k by the bound of Jensen's inequality.
    assert (1 - recognition.agreement**recognition.words) ** (persons - 1) >= 0.9
    assert (1 - recognition.agreement ** (recognition.words - 1)) ** (persons - 1) < 0.9
    assert made(1.0).recognition().words is None
    assert made(1e-9).recognition().words == 1
    for wrong in ({"persons": 1}, {"certainty": 1.0}, {"certainty": math.nan}):
        with pytest.raises(ParameterError):
            made(0.5).recognition(**wrong)


def test_the_release_at_which_a_share_is_guessed() -> None:
    answer = repeated_leak(create("k-ary", LEXICON), 3.0, 12, "equal")
    shares = [row.value for row in answer.rows]
    reached = answer.reached(0.5)
    assert reached.releases == 1 + next(i for i, share in enumerate(shares) if share >= 0.5)
    assert reached.earliest == reached.latest == reached.releases
    assert answer.reached(0.9999999).releases is None
    with pytest.raises(ParameterError, match="share"):
        answer.reached(0.0)


def test_the_curves_of_a_figure() -> None:
    answer = repeated_leak(create("tem", TINY), 2.0, 3, "equal", draws=50)
    table = answer.to_pandas()
    assert tuple(table.columns) == RELEASED
    fresh, memoised, allowed = (rows for _, rows in table.groupby("curve", sort=False))
    assert fresh["right"].tolist() == [row.value for row in answer.rows]
    assert (fresh["low"] == fresh["high"]).tolist() == [True, False, False]  # the first is exact
    assert memoised["right"].tolist() == [answer.memoised] * 3
    assert allowed["high"].tolist() == [row.guaranteed for row in answer.rows]


def test_refused_releases() -> None:
    tem = create("tem", TINY)
    for keywords, message in (
        ({"releases": 0}, "releases"),
        ({"releases": 65}, "releases"),
        ({"releases": 2, "draws": 1}, "draws"),
    ):
        with pytest.raises(ParameterError, match=message):
            repeated_leak(tem, 2.0, **({"stranger": "equal"} | keywords))  # type: ignore[arg-type]
    with pytest.raises(ParameterError, match="does not read"):
        repeated_leak(create("tem", load(None)), 2.0, 2, "reads")
    with pytest.raises(ParameterError, match="no law"):
        repeated_leak(create("madlib", TINY), 2.0, 2, "equal")
