"""The audit of a function: it catches what is broken, passes what is tight, and says how far it
sees.

Each refutation of something true, and each lower bound above the truth, has probability 1e-6.
"""

import json
import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest
from scipy.spatial.distance import cdist
from scipy.stats import binom

import dpcore
from dpcore.arrays import FloatArray
from dpcore.audit.blackbox.audit import audit_function
from dpcore.audit.blackbox.report import FunctionReport
from dpcore.audit.exact import audit_laws
from dpcore.audit.montecarlo import loss_bound
from dpcore.audit.verdict import Outcome
from dpcore.errors import DpcoreError, EpsilonError, ParameterError
from dpcore.lexicon.lexicon import Lexicon
from dpcore.mechanisms.exponential.tem import tem_gamma
from dpcore.mechanisms.registry import create
from tests.audit import canaries
from tests.chance import FALSE_ALARM
from tests.fixtures import MakeRng
from tests.mechanisms import lexicons

Batch = Callable[[Sequence[str]], list[str]]


def of_law(logs: FloatArray, lexicon: Lexicon, rng: np.random.Generator) -> Batch:
    """A function of a list of words whose outputs have these laws; other strings become w0."""
    cumulated = np.cumsum(np.exp(logs), axis=1)

    def replaced(words: Sequence[str]) -> list[str]:
        rows = [lexicon.index(word) if word in lexicon else 0 for word in words]
        below = cumulated[rows] < rng.random((len(rows), 1)) * cumulated[rows, -1:]
        return [lexicon.words[i] for i in below.sum(axis=1)]

    return replaced


def crowd(n: int = 60, far: float = 2.0) -> Lexicon:
    """A crowd and one word outside it: there the normaliser of an exponential law matters."""
    rng = np.random.default_rng(1)
    return lexicons.lexicon(np.concatenate((rng.standard_normal((n, 2)) / 50, [[far, 0.0]])))


def bridge() -> Lexicon:
    """Two crowds that are just further apart than TEM's γ at ε = 8 and β = 1/2, and one between."""
    gamma = tem_gamma(8.0, 101, 0.5)
    spread = np.linspace(0.0, 0.002, 50)
    return lexicons.line(*spread, *(1.01 * gamma + spread), 0.505 * gamma)


def apart(lexicon: Lexicon) -> FloatArray:
    points = lexicon.vectors.astype(np.float64)
    return cdist(points, points)


def audited(function: Any, lexicon: Lexicon, epsilon: float = 1.0, **more: Any) -> FunctionReport:
    return audit_function(function, epsilon, lexicon=lexicon, **{"samples": 20_000} | more)


# -- what is broken is caught, and not beyond what is true


BROKEN: dict[str, Callable[[FloatArray], FloatArray]] = {
    "without the factor 2": lambda d: canaries.exponential(d, 1.0, halved=False),
    "wrong ⊥": lambda d: canaries.tem_wrong_bottom(d, 8.0, beta=0.5),
    "identity": lambda d: canaries.identity(len(d)),
}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "lexicon", "epsilon"),
    [
        ("without the factor 2", crowd(), 1.0),
        ("wrong ⊥", bridge(), 8.0),
        ("identity", lexicons.cloud(40, 3), 1.0),
    ],
)
def test_canaries_are_caught(name: str, lexicon: Lexicon, epsilon: float, rng: MakeRng) -> None:
    logs = BROKEN[name](apart(lexicon))
    report = audited(of_law(logs, lexicon, rng()), lexicon, epsilon, samples=200_000)
    assert report.outcome is Outcome.REFUTED, report.shown
    true = audit_laws(logs, apart(lexicon), epsilon)
    assert epsilon < report.epsilon_low <= true.epsilon_effective
    assert 0 < report.delta_low <= true.delta
    best = report.evidence[0]
    assert best.broken
    assert best.distance is not None
    assert best.loss > best.allowed == pytest.approx(epsilon * best.distance)


@pytest.mark.slow
def test_an_output_that_only_distances_tell_is_found(rng: MakeRng) -> None:
    """Of 900 outputs each is too rare to be learned; how far they are from both words is not."""
    lexicon = lexicons.cloud(900, 2)
    distance = apart(lexicon)
    # Twice the exponent that is claimed, but spread over hundreds of near words.
    logs = canaries.exponential(distance, 6.0)
    report = audited(of_law(logs, lexicon, rng()), lexicon, 1.0, samples=60_000)
    assert report.outcome is Outcome.REFUTED
    assert any(e.by_distance for e in report.evidence)
    assert report.epsilon_low <= audit_laws(logs, distance, 1.0).epsilon_effective


LAWS: dict[str, tuple[Lexicon, Callable[[FloatArray], FloatArray]]] = {
    "k-ary": (lexicons.cloud(12, 3), lambda d: canaries.randomised_response(len(d), 2.0)),
    "exponential": (crowd(), lambda d: canaries.exponential(d, 1.0)),
    "identity": (lexicons.cloud(40, 3), lambda d: canaries.identity(len(d))),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", LAWS)
def test_no_test_finds_more_than_the_best_one_of_the_law(name: str, rng: MakeRng) -> None:
    lexicon, law = LAWS[name]
    logs = law(apart(lexicon))
    report = audited(of_law(logs, lexicon, rng()), lexicon, samples=100_000)
    band = report.tests
    assert band is not None
    word, other = (np.exp(logs[lexicon.index(each)]) for each in (band.word, band.other))
    with np.errstate(divide="ignore", invalid="ignore"):  # outputs that neither gives come last
        order = np.argsort(-np.nan_to_num(word / other, nan=-1.0, posinf=np.inf), kind="stable")
    rates, powers = (np.concatenate(([0.0], np.cumsum(each[order]))) for each in (other, word))
    assert band.points
    assert [p.rate for p in band.points] == sorted(p.rate for p in band.points)
    for point in band.points:
        assert point.rate_low <= point.rate <= point.rate_high
        assert point.power_low <= point.power <= point.power_high
        assert point.power_low <= np.interp(point.rate_high, rates, powers) + 1e-12
    # Not for nothing: what is sure is most of what is true.
    best = max(p.power_low - np.interp(p.rate_high, rates, powers) for p in band.points)
    assert best > -0.05
    fields = json.loads(json.dumps(report.to_dict()))["tests"]
    assert fields["word"] == band.word
    assert [p["power_low"] for p in fields["points"]] == [p.power_low for p in band.points]
    assert band.sentence.startswith("A test that is wrong in at most ")


@pytest.mark.slow
def test_all_intervals_of_tests_hold_at_once(rng: MakeRng) -> None:
    """At an error of 0.2 at most so many of 60 audits miss a rate or a power."""
    lexicon = lexicons.cloud(6, 2)
    logs = canaries.randomised_response(6, 1.5)
    law, missed, audits = np.exp(logs), 0, 60
    for _ in range(audits):
        report = audited(of_law(logs, lexicon, rng()), lexicon, samples=4_000, error=0.2)
        band = report.tests
        assert band is not None
        word, other = (law[lexicon.index(each)] for each in (band.word, band.other))
        # Any set of outputs has one of these pairs of probabilities: with the word or without it,
        # with the other or without it, and some of the four alike ones.
        p, q = word.max(), word.min()
        sets = [
            (a * q + b * p + k * q, a * p + b * q + k * q)
            for a in (0, 1)
            for b in (0, 1)
            for k in range(5)
        ]
        for point in band.points:
            missed += not any(
                point.rate_low <= rate <= point.rate_high
                and point.power_low <= power <= point.power_high
                for rate, power in sets
            )
        assert other.max() == pytest.approx(p)
    assert missed <= binom.isf(FALSE_ALARM, audits, 0.2)


# -- what is tight passes


TIGHT: dict[str, Callable[[FloatArray], FloatArray]] = {
    "k-ary at ε": lambda d: canaries.randomised_response(len(d), 1.0),
    "constant": lambda d: canaries.constant(len(d)),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", TIGHT)
@pytest.mark.parametrize("size", [2, 12])
def test_what_is_exactly_as_claimed_passes(name: str, size: int, rng: MakeRng) -> None:
    lexicon = lexicons.cloud(size, 3)
    function = of_law(TIGHT[name](apart(lexicon)), lexicon, rng())
    report = audited(function, lexicon, 1.0, metric="any", samples=100_000)
    assert report.outcome is Outcome.NOT_REFUTED
    assert report.epsilon_low <= 1.0
    assert report.delta_low == 0.0
    assert report.label.startswith("not refuted (")
    if name == "k-ary at ε":  # it sees nearly all of what there is, but for 1e-6
        assert report.epsilon_low >= least_seen(1.0, size, 100_000)


def least_seen(true: float, size: int, calls: int) -> float:
    """Largest ε that k-ary response can be shown to have, except with probability 1e-6."""
    draws = int(0.97 * calls) // 8
    p, q = np.exp(canaries.randomised_response(size, true))[:, 0][:2]
    count = int(binom.ppf(0.5 * FALSE_ALARM, draws, p))
    other = int(binom.isf(0.5 * FALSE_ALARM, draws, q))
    return loss_bound(count, draws, other, draws, delta=0.0, error=0.5 * 1e-6 / 4)


@pytest.mark.slow
@pytest.mark.parametrize("key", ["optimal", "tem", "madlib", "tem-calibrated"])
def test_our_mechanisms_pass(key: str, rng: MakeRng) -> None:
    lexicon = crowd(40)
    mechanism, generator = create(key, lexicon), rng()

    def replaced(words: list[str]) -> list[str]:
        known = [word if word in lexicon else "w0" for word in words]
        return [lexicon.words[i] for i in mechanism.sample(generator, known, 1.0)]  # type: ignore[arg-type]

    report = audited(replaced, lexicon, 1.0, samples=60_000)
    assert report.outcome is Outcome.NOT_REFUTED
    assert report.epsilon_low <= 1.0
    assert not report.findings


@pytest.mark.slow
def test_a_claim_with_delta_is_judged_at_its_delta(rng: MakeRng) -> None:
    """Randomised response at ε = 1 that shows the word with probability 0.1: δ = 0.1 exactly."""
    lexicon = lexicons.cloud(5, 2)
    response = np.exp(canaries.randomised_response(5, 1.0))
    # Words beyond the first five are never private words: outputs that name the word.
    named = [f"only {word}" for word in lexicon.words]
    generator = rng()

    def replaced(word: str) -> str:
        i = lexicon.index(word) if word in lexicon else 0
        if generator.random() < 0.1:
            return named[i]
        return lexicon.words[int(generator.choice(5, p=response[i]))]

    kept = audited(replaced, lexicon, 1.0, metric="any", delta=0.1, samples=60_000)
    assert kept.outcome is Outcome.NOT_REFUTED
    assert 0.05 < kept.delta_low <= 0.1
    broken = audited(replaced, lexicon, 1.0, metric="any", delta=0.05, samples=60_000)
    assert broken.outcome is Outcome.REFUTED
    assert broken.epsilon_low > 1.0
    assert kept.outside > 0
    assert kept.outsiders[0] in named


@pytest.mark.slow
def test_the_false_alarms_are_as_rare_as_said(rng: MakeRng) -> None:
    """At error 0.4 half of which the bounds have; more of 150 than the binomial allows fail."""
    lexicon, repetitions, error = lexicons.line(0, 1), 150, 0.4
    generator = rng()
    function = of_law(canaries.randomised_response(2, 1.0), lexicon, generator)
    refuted = 0
    for seed in range(repetitions):
        report = audited(
            function, lexicon, 1.0, metric="any", samples=2_000, seed=seed, error=error
        )
        refuted += report.outcome is Outcome.REFUTED
    assert refuted <= binom.isf(FALSE_ALARM, repetitions, 0.5 * error)


# -- how small a violation is seen


def seen_for_sure(claimed: float, calls: int) -> float:
    """The least true ε of randomised response with two words that is refuted but for 1e-6.

    3 % of the calls are for other things; half of the rest counts the event of two words, and each
    count is no further from its mean than with probability 5e-7.
    """
    draws = int(0.97 * calls) // 4
    low, high = claimed, claimed + 5.0
    for _ in range(50):
        true = 0.5 * (low + high)
        p = 1.0 / (1.0 + math.exp(-true))
        count = int(binom.ppf(0.5 * FALSE_ALARM, draws, p))
        other = int(binom.isf(0.5 * FALSE_ALARM, draws, 1.0 - p))
        bound = loss_bound(count, draws, other, draws, delta=0.0, error=0.5 * 1e-6 / 4)
        low, high = (low, true) if bound > claimed else (true, high)
    return high


@pytest.mark.parametrize(
    ("claimed", "calls", "true"), [(1.0, 10_000, 1.51), (1.0, 100_000, 1.16), (4.0, 100_000, 4.58)]
)
def test_a_violation_of_a_stated_size_is_seen(
    claimed: float, calls: int, true: float, rng: MakeRng
) -> None:
    """The figures of docs/commands.md."""
    assert seen_for_sure(claimed, calls) <= true < seen_for_sure(claimed, calls) + 0.02
    lexicon = lexicons.line(0, 1)
    function = of_law(canaries.randomised_response(2, true), lexicon, rng())
    report = audited(function, lexicon, claimed, metric="any", samples=calls)
    assert report.outcome is Outcome.REFUTED
    assert report.epsilon_low <= true


def test_out_of_reach_is_said(rng: MakeRng) -> None:
    """No number of calls tells a mechanism at ε·d = 80 from one that returns the word."""
    lexicon = lexicons.line(0, 2)
    report = audited(lambda word: word, lexicon, 40.0)
    assert report.outcome is Outcome.NOT_REFUTED
    assert report.within_reach == 0
    assert "the guarantee allows more for all 1 pairs" in report.label
    assert 0 < report.epsilon_low < 40
    assert any("came out as it went in" in finding for finding in report.findings)


# -- other statements


def test_what_comes_through_is_named(rng: MakeRng) -> None:
    lexicon = lexicons.lexicon(np.eye(8))
    generator = rng()

    def leaks(word: str) -> str:
        return lexicon.words[int(generator.integers(8))] if word in lexicon else word

    report = audited(leaks, lexicon, 1.0)
    assert report.outcome is Outcome.NOT_REFUTED
    (finding,) = report.findings
    for part in ("a number (“7", "an e-mail address", "@", "20 of 20 calls"):
        assert part in finding
    unknown = [probe for probe in report.probes if probe.plain is None]
    assert len(unknown) == 6
    assert all(probe.tally.unchanged == probe.tally.calls for probe in unknown)
    assert report.told_apart is None
    assert report.unchanged.low < 1 / 8 < report.unchanged.high or report.unchanged.words == 8


def test_unknown_words_that_are_told_apart_are_found(rng: MakeRng) -> None:
    lexicon = lexicons.lexicon(np.eye(8))
    generator = rng()

    def by_length(word: str) -> str:
        if word in lexicon:
            return lexicon.words[int(generator.integers(8))]
        return lexicon.words[sum(map(ord, word)) % 8 if generator.random() < 0.9 else 0]

    report = audited(by_length, lexicon, 1.0, seed=3)
    assert report.told_apart is not None
    assert report.told_apart > 1
    assert any("told apart" in finding for finding in report.findings)
    steady = audited(of_law(canaries.constant(8), lexicon, rng(1)), lexicon, 1.0)
    assert steady.told_apart is not None
    assert steady.told_apart <= 0


def test_capital_letters_that_show_are_found(rng: MakeRng) -> None:
    words = ("red", "green", "blue", "black")
    lexicon = Lexicon("colours", words, np.eye(4, dtype=np.float32))
    generator = rng()

    def cased(word: str) -> str:
        output = words[int(generator.integers(4))]
        return output.capitalize() if word[:1].isupper() else output

    report = audited(cased, lexicon, 1.0)
    (finding,) = report.findings
    assert finding.startswith("Capital letters show in what comes out: in 20 of 20 calls for “")
    assert " in 0 for “" in finding


def test_words_that_are_refused_are_left_out_and_counted(rng: MakeRng) -> None:
    lexicon = lexicons.cloud(30, 3)
    generator = rng()

    def refuses(word: str) -> str:
        if word not in lexicon or lexicon.index(word) % 3 == 0:
            raise KeyError(word)
        return lexicon.words[1 + 3 * int(generator.integers(9))]

    report = audited(refuses, lexicon, 1.0)
    assert report.outcome is Outcome.NOT_REFUTED
    assert (report.refused, report.tried) == (10, 30)
    assert "10 of 30 words of the lexicon were refused and left out (KeyError" in str(
        report.findings
    )
    assert all(probe.tally.refused == probe.tally.calls for probe in report.probes)


def test_an_output_that_sometimes_is_none_counts_as_one(rng: MakeRng) -> None:
    """Refusing one word more often than another tells them apart as any output does."""
    lexicon = lexicons.line(0, 1)
    generator = rng()

    def sometimes(word: str) -> str | None:
        if word == "w0" and generator.random() < 0.4:
            return None
        return "w1"

    function = audit_function(sometimes, 1.0, lexicon=lexicon, samples=20_000, seed=1)
    assert function.outcome is Outcome.REFUTED
    assert "⟨no word⟩" in function.evidence[0].outputs


def test_a_list_that_is_sometimes_refused_is_counted_word_by_word(rng: MakeRng) -> None:
    """One word of a list that is refused takes the list along. Were only the lists counted in which
    that did not happen, a refusal would seem never to happen, and so tell nothing: here it is all
    that tells the words apart."""
    lexicon = lexicons.line(0, 1)
    generator = rng()

    def refuses(words: list[str]) -> list[str]:
        often = np.array([0.3 if word == "w0" else 0.01 for word in words])
        if (generator.random(len(words)) < often).any():
            raise RuntimeError("no")
        return ["w1"] * len(words)

    report = audit_function(refuses, 1.0, lexicon=lexicon, samples=40_000, form="words")
    assert report.outcome is Outcome.REFUTED
    assert report.epsilon_low <= math.log(0.3 / 0.01)
    assert report.calls <= 40_000


# -- stopping, progress, forms


def test_a_stop_gives_what_there_is() -> None:
    lexicon = lexicons.cloud(20, 3)
    told: list[tuple[str, int, int]] = []

    def stopping(stage: str, when: float) -> Callable[[str, int, int], None]:
        def progress(name: str, done: int, total: int) -> None:
            told.append((name, done, total))
            if name == stage and done > when * total:
                raise KeyboardInterrupt

        return progress

    late = audited(lambda w: w, lexicon, 0.5, progress=stopping("bounding", 0.5))
    assert late.stopped
    assert late.outcome is Outcome.REFUTED
    early = audited(lambda w: w, lexicon, 0.5, progress=stopping("searching", 0.5))
    assert early.stopped
    assert early.label == "not refuted (stopped before anything was bounded)"
    assert early.evidence == ()
    assert "ε ≥ 0, δ ≥ 0" in repr(early)
    json.dumps(early.to_dict(), allow_nan=False)
    assert {name for name, _, _ in told} == {"probing", "searching", "bounding"}
    assert all(0 < done <= total for _, done, total in told)


@pytest.mark.slow
@pytest.mark.parametrize("samples", [2_000, 12_345, 60_000])
def test_no_more_calls_are_made_than_were_allowed(samples: int) -> None:
    calls = 0

    def counted(words: list[str]) -> list[str]:
        nonlocal calls
        calls += len(words)
        return list(words)

    report = audit_function(
        counted, 1.0, lexicon=lexicons.cloud(300, 4), samples=samples, form="words"
    )
    assert 0.9 * samples < report.calls == calls <= samples


@pytest.mark.slow
def test_a_seed_chooses_the_same_words_again(rng: MakeRng) -> None:
    lexicon = lexicons.cloud(300, 4)
    logs = canaries.exponential(apart(lexicon), 1.0)
    first, again = (
        audited(of_law(logs, lexicon, rng()), lexicon, 1.0, seed=7).to_dict() for _ in range(2)
    )
    del first["microseconds"], again["microseconds"]
    assert first == again


def test_the_front_door_takes_a_function(rng: MakeRng) -> None:
    lexicon = lexicons.cloud(20, 3)
    report = dpcore.audit(lambda word: word, 1.0, lexicon=lexicon, samples=4_000)
    assert report.label == "refuted"
    assert repr(report).startswith("FunctionReport(test_the_front_door_takes_a_function.")
    card = report._repr_html_()
    assert "refuted" in card
    assert "<lambda>" not in card  # escaped
    for nonsense in (3, None, ["a"]):
        with pytest.raises(ParameterError, match="needs a mechanism, a function"):
            dpcore.audit(nonsense, 1.0)  # type: ignore[call-overload]


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ({"epsilon": 0}, "epsilon must be a finite number > 0, got 0"),
        ({"epsilon": math.nan}, "finite number > 0, got nan"),
        ({"delta": 1}, r"delta must be in \[0, 1\), got 1"),
        ({"metric": "cosine"}, "or 'any' for any two words"),
        ({"samples": 100}, "samples must be a whole number from 2,000 to 10,000,000, got 100"),
        ({"samples": 2000.5}, "whole number"),
        ({"samples": "many"}, "whole number"),
        ({"error": 0}, "error probability"),
        ({"seed": -1}, "a seed"),
        ({"form": "sentence"}, "a form is one of auto, word, words"),
    ],
)
def test_nonsense_is_refused_with_a_sentence(more: dict[str, Any], message: str) -> None:
    options: dict[str, Any] = {"epsilon": 1.0, "lexicon": lexicons.line(0, 1)} | more
    with pytest.raises(DpcoreError, match=message) as caught:
        audit_function(lambda word: word, **options)
    assert isinstance(caught.value, EpsilonError) == ("epsilon" in more)


def test_a_function_that_takes_one_word_alone_cannot_be_compared() -> None:
    lexicon = lexicons.cloud(30, 3)

    def one(word: str) -> str:
        if word != "w3":
            raise ValueError("unknown")
        return word

    with pytest.raises(ParameterError, match="takes 1 of 30 words"):
        audited(one, lexicon)
