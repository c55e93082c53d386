"""Verdicts: the known outcome of every claim, its figures, and that files keep them."""

import dataclasses
import json
import math
import re
import shlex
from collections.abc import Callable
from pathlib import Path
from string import Formatter
from typing import Any, ClassVar

import numpy as np
import pytest

from dpcore.audit import report as settings_module
from dpcore.audit import samplers
from dpcore.audit.exact import audit_mechanism
from dpcore.audit.report import AuditSettings, audit_report
from dpcore.audit.verdict import Condition, Outcome, Verdict
from dpcore.errors import ComputationError, ParameterError
from dpcore.lexicon import catalogue
from dpcore.lexicon.catalogue import load
from dpcore.lexicon.lexicon import Lexicon
from dpcore.lexicon.neighbours import rank
from dpcore.mechanisms.exponential.optimal import Optimal
from dpcore.mechanisms.gumbel.algorithm import lowest_epsilon, scale
from dpcore.mechanisms.gumbel.log_law import certify, log_law_from_distances, log_probability_bounds
from dpcore.mechanisms.registry import MECHANISMS, create
from dpcore.noise.samplers import poisson_weights
from dpcore.papers.claim import facts
from dpcore.papers.claims import (
    CLAIMS,
    COLUMNS,
    PROFILED,
    all_verdicts,
    allowed_delta,
    claimed_profile,
    read_recorded,
    verdict,
    verdicts_file,
    write_verdicts,
)
from dpcore.papers.lecuyer2019.claims import largest_margin
from dpcore.papers.overview import REPAIRS, USES, cost, headline, shown
from dpcore.papers.xu2021 import claims as claims_gumbel
from dpcore.plots import audit as plots
from tests import needs
from tests.mechanisms import lexicons
from tests.shell import result, run, small_vectors

# What a claim allows, beside the profile of the noise: formulas, and who is above whom.


@pytest.mark.parametrize("delta", [0.0, 1e-5, 0.3])
def test_the_allowed_delta_is_that_of_the_claim_s_own_worst_mechanism(delta: float) -> None:
    # It fails with probability δ; else it tells the truth with probability e^ε/(1 + e^ε).
    epsilon, epsilons = 1.5, np.linspace(0.0, 3.0, 31)
    truth = (1 - delta) / (1 + math.exp(-epsilon))
    p = np.array([delta, truth, 1 - delta - truth, 0.0])
    q = p[::-1]
    worst = np.array([np.maximum(p - math.exp(x) * q, 0.0).sum() for x in epsilons])
    assert allowed_delta(epsilon, delta, epsilons) == pytest.approx(worst, abs=1e-12)


@pytest.mark.slow
@pytest.mark.parametrize("key", PROFILED)
def test_only_a_refuted_claim_is_exceeded(key: str) -> None:
    words, settings = lexicons.cloud(50, 6), AuditSettings()
    table = claimed_profile(key, words, settings)
    assert key in CLAIMS
    assert tuple(table.columns) == COLUMNS
    assert (np.diff(table["epsilon"]) > 0).all()
    assert (table["claimed_epsilon"].iloc[0] == table["epsilon"]).sum() == 1
    assert (table["low"] <= table["high"]).all()
    refuted = verdict(key, words, settings).outcome is Outcome.REFUTED
    above = (table["low"] > table["allowed"] * (1 + 1e-6) + 1e-15).any()
    assert above == refuted
    message = plots.profile_caption(table).how
    assert ("true curve is above what the claim allows" in message) == refuted
    figure = plots.profile_figure(table)
    assert figure.data[0].name == "the claim allows at most"
    assert figure.layout.dragmode is False  # a finger that scrolls the page must not draw a box
    assert (figure.layout.yaxis.type == "log") == (table["claimed_delta"].iloc[0] > 0)


def test_a_claim_without_a_profile_is_refused() -> None:
    with pytest.raises(ParameterError, match="no privacy profile"):
        claimed_profile("madlib", lexicons.cloud(50, 6), AuditSettings())


REFUTED = {
    "xu-theorem-1", "xu-lemma-1", "huang-theorem-3", "adept-published", "pixeldp-slides",
    "santext-cosine", "custext-aggressive", "rantext", "wbb", "syntf-synonyms",
    "dp-st-cluster", "dp-bart-one-noise", "greedy-paraphrase", "budget-from-text",
    "dp-prompt-top-k", "dp-prompt-length", "hosted-temperature", "tokens-in-parallel",
    "budget-own-epsilon", "hyperbolic-flat",
}  # fmt: skip
SETTINGS = AuditSettings(words=4, draws=2000)


@pytest.fixture(scope="module")
def table() -> dict[str, Verdict]:
    needs.writer()  # one claim is about the language model
    return {entry.key: entry for entry in all_verdicts(lexicons.cloud(50, 6), SETTINGS)}


@pytest.mark.slow
def test_every_claim_has_its_known_outcome(table: dict[str, Verdict]) -> None:
    assert list(table) == list(CLAIMS)
    refuted = {key for key, verdict in table.items() if verdict.outcome is Outcome.REFUTED}
    # These fifty words are nearer to each other than those that ε = 2 tells apart.
    assert refuted == REFUTED | {"epsilon-two"}, "a claim that is refuted is named in REFUTED"
    # Below the critical ε nothing attains the bound: it is not known whether anything could.
    assert table["optimal"].outcome is Outcome.NOT_REFUTED
    # Measured on some words.
    assert table["neighbour-response"].outcome is Outcome.NOT_REFUTED
    conditional = {key for key, verdict in table.items() if verdict.outcome is Outcome.CONDITIONAL}
    assert conditional == {
        "huang-theorem-4", "dp-prompt-unclipped", "dp-mlm-stop-words", "dropped-words",
        "santext-plus", "custext",
    }  # fmt: skip
    settled = refuted | conditional | {"optimal", "neighbour-response"}
    others = {verdict.outcome for key, verdict in table.items() if key not in settled}
    assert others <= {Outcome.PROVED, Outcome.CHECKED}, "another outcome is named in this test"


def test_every_verdict_says_what_a_reader_needs(table: dict[str, Verdict]) -> None:
    shorts = {kind.short for kind in MECHANISMS.values()}
    for entry in table.values():
        assert all(
            (
                entry.title,
                entry.claim,
                entry.source,
                entry.computed,
                entry.numbers,
                entry.repair,
            )
        )
        assert entry.outcome is not Outcome.REFUTED or entry.failing_step
        assert entry.mechanism in {"", *shorts}
        words = shlex.split(entry.command)
        assert words[:6] == ["python", "-m", "dpcore", "audit", "--claim", entry.key]
        assert words[-2:] == ["--lexicon", "PATH-OF-THE-LEXICON"]  # it has no name here


@pytest.mark.parametrize(
    ("edge", "outcome", "message", "impossible"),
    [
        (1.01, Outcome.REFUTED, "The crafted vocabulary contradicts the claim; these", True),
        (4.0, Outcome.REFUTED, "The crafted vocabulary contradicts the claim; these", False),
        (100.0, Outcome.NOT_REFUTED, "Neither contradicts the claim.", False),
    ],
)
def test_what_is_said_of_theorem_1_is_true_at_this_epsilon(
    edge: float, outcome: Outcome, message: str, impossible: bool
) -> None:
    words = lexicons.cloud(2_000, 6)
    judgement = verdict("xu-theorem-1", words, dataclasses.replace(SETTINGS, edge=edge))
    assert judgement.outcome is outcome
    assert message in judgement.computed
    assert ("cannot hold for all n words" in judgement.failing_step) == impossible
    assert (float(judgement.numbers["n·exp(−e^(2Δ/b))"]) > 1) == impossible


def test_a_file_keeps_them(table: dict[str, Verdict]) -> None:
    for entry in table.values():
        assert kept_and_read(entry) == entry


def kept_and_read(first: Verdict) -> Verdict:
    return Verdict.from_dict(json.loads(json.dumps(first.to_dict(), allow_nan=False)))


def test_a_verdict_must_be_able_to_say_why() -> None:
    common: dict[str, Any] = {
        "key": "x", "title": "x", "claim": "x", "source": "x", "computed": "x", "command": "x"
    }  # fmt: skip
    with pytest.raises(ParameterError, match="how far"):
        Verdict(outcome=Outcome.NOT_REFUTED, **common)
    with pytest.raises(ParameterError, match="numbers"):
        Verdict(outcome=Outcome.REFUTED, **common)
    some = Verdict(outcome=Outcome.NOT_REFUTED, extent="9 draws", numbers={"a": math.inf}, **common)
    assert some.label == "not refuted (9 draws)"
    assert some.numbers == {"a": "∞"}
    with pytest.raises(ComputationError, match="NaN"):
        Verdict(outcome=Outcome.PROVED, numbers={"a": math.nan}, **common)


def test_a_proof_needs_its_conditions_and_a_condition_is_one_that_is_not_met() -> None:
    common: dict[str, Any] = {
        "key": "x", "title": "x", "claim": "x", "source": "x", "computed": "x", "command": "x"
    }  # fmt: skip
    unmet = (Condition("the sky is green", False),)
    with pytest.raises(ParameterError, match="not 'proved' unless the sky is green"):
        Verdict(outcome=Outcome.PROVED, conditions=unmet, **common)
    assert Verdict(outcome=Outcome.CONDITIONAL, conditions=unmet, **common).label == "conditional"
    for conditions in ((), (Condition("the sky is blue", True),)):
        with pytest.raises(ParameterError, match="condition not met"):
            Verdict(outcome=Outcome.CONDITIONAL, conditions=conditions, **common)


# -- a proof and a sampler are two findings --------------------------------------------------------


@pytest.mark.parametrize("key", ["madlib", "mahalanobis", "vickrey", "random-projection"])
def test_a_sampler_that_fails_its_tests_refutes_no_proof(
    key: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Noise that is a tenth too long: the law keeps its status, and the sampler has its own."""
    words = lexicons.cloud(50, 6)
    right = verdict(key, words, SETTINGS)
    assert (right.outcome, right.law, right.label) == ("proved", "proved", "proved")
    assert right.sampler.agrees
    radii: Any = vars(samplers)["radii"]
    monkeypatch.setattr(samplers, "radii", lambda *given: 1.1 * radii(*given))
    wrong = verdict(key, words, SETTINGS)
    assert (wrong.outcome, wrong.law) == (Outcome.DISAGREES, Outcome.PROVED)
    assert not wrong.sampler.agrees
    assert wrong.sampler.p_value < wrong.sampler.threshold
    assert wrong.label == (
        f"the sampler disagrees with its law (p = {wrong.sampler.p_value:.2g}); of the law: proved"
    )
    assert [kept_and_read(right), kept_and_read(wrong)] == [right, wrong]
    report = audit_report(create(key, words), 1.0)
    assert (report.outcome, report.epsilon_effective) == (Outcome.DISAGREES, 1.0)
    assert "of the law: proved" in report.label


def test_outputs_that_show_more_than_the_claim_are_the_samplers_fault(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    from dpcore.mechanisms.additive.euclidean import Vickrey

    monkeypatch.setattr(Vickrey, "sample", lambda self, rng, words, epsilon: words)
    judgement = verdict("vickrey", lexicons.cloud(50, 6), SETTINGS)
    assert (judgement.outcome, judgement.law) == (Outcome.DISAGREES, Outcome.PROVED)
    assert judgement.sampler.failed == ("outputs of two near words",)


def test_a_projection_whose_stretch_is_not_computed_is_conditional(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    from dpcore.papers import feyisetan as claims_noise

    monkeypatch.setattr(claims_noise, "MAX_AUDIT_WORDS", 20)
    judgement = verdict("random-projection", lexicons.cloud(50, 6), SETTINGS)
    assert judgement.outcome is Outcome.CONDITIONAL
    assert [condition.met for condition in judgement.conditions] == [True, False]
    paper = audit_report(create("random-projection", lexicons.cloud(50, 6), {"form": "paper"}), 1.0)
    assert (paper.outcome, paper.label) == (Outcome.CONDITIONAL, "conditional")


@pytest.mark.parametrize(
    ("dimension", "root", "outcome"),
    [(6, 0.25, Outcome.CONDITIONAL), (6, 0.9, Outcome.CONDITIONAL), (1, 0.25, "not refuted")],
)
def test_one_evaluation_proves_no_inequality(
    dimension: int, root: float, outcome: Outcome | str
) -> None:
    """Theorem 4 is of every ε and δ ≤ e^−d, and of a mechanism that is private for d = 1 only."""
    settings = dataclasses.replace(SETTINGS, epsilon=0.2, delta_root=root)
    judgement = verdict("huang-theorem-4", lexicons.cloud(20, dimension), settings)
    assert judgement.outcome == outcome
    assert [condition.met for condition in judgement.conditions] == [
        root < math.exp(-1),
        dimension == 1,
    ]


def test_unknown_claims_and_settings_are_refused() -> None:
    with pytest.raises(ParameterError, match="known are xu-theorem-1"):
        verdict("fermat", lexicons.cloud(10, 2))
    for wrong in (
        {"epsilon": 0.0}, {"delta": 1.0}, {"delta_root": math.nan}, {"edge": 1.0}, {"words": 1},
        {"draws": 10}, {"latent": 0}, {"clip_norm": -1.0}, {"seed": -1},
    ):  # fmt: skip
        with pytest.raises(ParameterError):
            AuditSettings(**wrong)


def test_a_command_names_only_what_differs() -> None:
    command = dataclasses.replace(SETTINGS, epsilon=3.0).command(
        "madlib", lexicons.cloud(10, 2), "epsilon", "words", "seed"
    )
    assert "--at epsilon=3.0 --at words=4" in command
    assert "seed" not in command


@pytest.mark.parametrize("name", ["mine", "my words", "a'b; rm -r *"])
def test_a_command_is_safe_in_a_shell(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.setattr(catalogue, "name_of", lambda _: name)
    command = SETTINGS.command("madlib", lexicons.cloud(10, 2))
    assert shlex.split(command)[-2:] == ["--lexicon", name]
    monkeypatch.setattr(catalogue, "name_of", lambda _: "default")
    assert SETTINGS.command("madlib", lexicons.cloud(10, 2)).endswith("--claim madlib")


# -- truncated Gumbel -----------------------------------------------------------------------------


@pytest.mark.parametrize("b", [0.3, 2.0, 200.0])
def test_bounds_enclose_the_law(b: float) -> None:
    distances = np.sort(np.random.default_rng(8).uniform(0.4, 3.0, 25))
    distances = np.concatenate(([0.0], distances))
    weights = poisson_weights(distances.size)
    logs = log_law_from_distances(distances, weights, b, 3.0)
    for i in (0, 1, 7, 25):
        low, high = log_probability_bounds(distances, i, weights, b, 3.0, gap=0.02)
        assert low <= high <= low + 0.03
        slack = 1e-4 * abs(logs[i]) + 1e-8
        assert low - slack <= logs[i] <= high + slack


def test_the_crafted_vocabulary_refutes_theorem_1_by_hand() -> None:
    """With b ≫ Δ the noise is nearly uniform on [−2, 2], and the m words must all miss.

    Where y has noise near −2, each of the m words at 1 must have noise above −1: probability 3/4
    each, (3/4)^m in all; P(y|w′) is ordinary, and w and w′ are 2 apart.
    """
    claimed, result = claims_gumbel.crafted(1.01, 1000)
    assert claimed == pytest.approx(1.01 * lowest_epsilon(1002, 1.0))
    assert result.epsilon > 7 * claimed
    by_hand = (1000 * math.log(4 / 3)) / 2
    assert result.epsilon == pytest.approx(by_hand, rel=0.08)
    # Fewer words, less damage: with 20 of them the claim holds.
    claimed, few = claims_gumbel.crafted(1.01, 20)
    assert few.epsilon < claimed


def test_the_crafted_rows_are_those_of_points() -> None:
    m = 6
    points = np.zeros((m + 2, m + 2))
    points[:m, :m] = np.eye(m) / math.sqrt(2)
    points[m:, m] = math.sqrt(3.25)
    points[m:, m + 1] = (0.5, -0.5)
    apart = np.linalg.norm(points[:, None] - points, axis=2)
    rows = claims_gumbel.crafted_rows(m)
    np.testing.assert_allclose(rows[0], apart[0], atol=1e-12)
    np.testing.assert_allclose(rows[1], apart[m], atol=1e-12)


def test_theorem_1_on_real_words(data_dir: Path) -> None:
    """'hah' tells 'haven' from 'entire' with ε ≥ 126.6 where 63.2 is claimed."""
    from dpcore.lexicon.lexicon import Lexicon

    vectors = np.load(data_dir / "glove6b_50d_partial.npy", allow_pickle=False)[:5403]
    text = (data_dir / "glove6b_50d_partial.vocab.txt").read_text(encoding="utf-8")
    words = tuple(text.split("\n")[:5403])
    lexicon = Lexicon("glove", words, vectors.astype(np.float32))
    mechanism: Any = create("truncated-gumbel", lexicon)
    w, other, output = lexicon.indices(["haven", "entire", "hah"])
    rows = []
    for word in (w, other):
        ranking = rank(lexicon.vectors, lexicon.vectors[[word]])[0]
        row = np.empty(len(lexicon))
        row[ranking.order] = ranking.distances
        rows.append(row)
    b = mechanism.noise_scale(63.2)
    certificates = certify(rows[0], rows[1], output, rows[0][other], b, lexicon.extent.diameter)
    assert certificates.epsilon > 126.3
    audit = audit_mechanism(mechanism, 63.2, words=np.array([w, other]))
    assert audit.losses.epsilon_effective == pytest.approx(126.7, abs=0.2)
    assert audit.losses.epsilon_effective >= certificates.epsilon - audit.error


def test_lemma_1_fails_for_two_candidates(table: dict[str, Verdict]) -> None:
    numbers: Any = table["xu-lemma-1"].numbers
    claimed = numbers["claimed share modified, at least"]
    assert numbers["share modified, k = 1"] < claimed
    assert numbers["share modified, k = 2, neighbour at the smallest distance"] < claimed
    b = scale(1.01 * lowest_epsilon(50, 1.0), 50, 1.0, 2.0)
    assert b > 2.0


# -- figures that are known ------------------------------------------------------------------------


def test_deviations_of_theorem_4_at_300_dimensions() -> None:
    """Per coordinate and C at δ = 1e-5, ε = 1; the published noise with the same δ: .607."""
    vectors = np.random.default_rng(1).standard_normal((40, 300))
    settings = dataclasses.replace(SETTINGS, delta_root=1e-5 ** (1 / 300), clip_norm=1.0)
    numbers = verdict("huang-theorem-4", lexicons.lexicon(vectors), settings).numbers
    expected = {
        "deviation/C, as published (not private)": 0.607, "corrected": 48.96, "Laplace": 48.99,
        "L2-Laplace": 34.70, "analytic Gaussian": 7.461,
    }  # fmt: skip
    for name, value in expected.items():
        assert numbers[name] == pytest.approx(value, abs=6e-3 if value > 1 else 6e-4)


def test_adept_is_private_at_the_root_of_n_times_epsilon(table: dict[str, Verdict]) -> None:
    numbers: Any = table["adept-published"].numbers
    assert numbers["true epsilon"] == pytest.approx(math.sqrt(32))
    assert numbers["true delta at the claimed epsilon, at least"] > 0.1
    judgement = verdict("adept-published", lexicons.cloud(10, 2), AuditSettings(latent=1))
    assert judgement.outcome is Outcome.PROVED
    for key in ("adept-a", "adept-b", "adept-c"):
        figures: Any = table[key].numbers
        assert figures["delta at epsilon, at most"] < 1e-8
        assert figures["delta at 0 (total variation), at least"] > 0.01


def test_huang_theorem_3_is_true_in_one_dimension_and_shows_words_in_more(
    table: dict[str, Verdict],
) -> None:
    judgement = verdict(
        "huang-theorem-3", lexicons.line(-1.0, -0.2, 0.5, 1.0), AuditSettings(epsilon=0.2)
    )
    assert judgement.outcome is Outcome.PROVED
    assert not judgement.failing_step
    result: Any = table["huang-theorem-3"].numbers
    assert result["true delta of two words' vectors"] > math.exp(result["ln claimed delta"])
    assert result["true delta of two words' vectors"] <= result["true delta"]


@pytest.mark.parametrize(
    ("epsilon", "outcome"), [(0.9, "proved"), (1.1, "proved"), (10.0, "refuted")]
)
def test_the_classical_gaussian_is_judged_at_its_epsilon(epsilon: float, outcome: str) -> None:
    settings = dataclasses.replace(SETTINGS, epsilon=epsilon, delta=0.01)
    judgement = verdict("gaussian-classical", lexicons.cloud(20, 3), settings)
    assert str(judgement.outcome) == outcome
    assert judgement.conditions[0].met == (outcome == "proved")
    right = verdict("gaussian", lexicons.cloud(20, 3), settings)
    assert float(right.numbers["true delta"]) <= 0.01 * (1 + 1e-9)


@pytest.mark.parametrize("epsilon", [0.2, 1.0, 2.0])
@pytest.mark.parametrize("delta", [0.01, 0.05])
def test_pixeldp_by_linear_programming(epsilon: float, delta: float) -> None:
    """The margin is (e^ε − ε)·δ for the slides' factor and 0 for the right one: it is tight."""
    slides = largest_margin(epsilon, delta, 1 + epsilon)
    assert slides.margin == pytest.approx((math.exp(epsilon) - epsilon) * delta, abs=1e-9)
    assert max(slides.deltas) <= delta * (1 + 1e-9)
    assert slides.second[0] <= slides.second[1] + 1e-12
    assert slides.first.sum() == pytest.approx(1.0)
    right = largest_margin(epsilon, delta, 1 + math.exp(epsilon))
    assert right.margin == pytest.approx(0.0, abs=1e-9)


def test_the_counterexample_of_the_slides_at_e_1() -> None:
    result = largest_margin(1.0, 0.05, 2.0)
    assert result.margin == pytest.approx((math.e - 1) * 0.05, abs=1e-9)
    with pytest.raises(ParameterError, match="delta"):
        largest_margin(1.0, 1.0, 2.0)


@pytest.mark.slow
@pytest.mark.parametrize("epsilon", [1e-3, 1000.0])
def test_any_epsilon_of_the_page_has_a_verdict(epsilon: float) -> None:
    settings = AuditSettings(epsilon=epsilon, words=2, draws=1000)
    for entry in all_verdicts(lexicons.cloud(50, 6), settings):
        if entry.key not in REFUTED | {"gaussian-classical", "epsilon-two"}:
            assert entry.outcome is not Outcome.REFUTED


@pytest.mark.slow
@pytest.mark.parametrize("key", ["truncated-gumbel-repaired", "tem-calibrated"])
@pytest.mark.parametrize("epsilon", [1e-3, 5.0, 1000.0])
@pytest.mark.parametrize("words", [2, 6])
def test_certified_claims_on_the_bundled_lexicon_at_the_ends_of_their_settings(
    key: str, epsilon: float, words: int
) -> None:
    """25,000 words, some of them so far apart that their probabilities underflow at ε = 1000."""
    judgement = verdict(key, catalogue.load(None), AuditSettings(epsilon=epsilon, words=words))
    assert judgement.outcome is (
        Outcome.PROVED if (key, epsilon) == ("tem-calibrated", 1000.0) else Outcome.CHECKED
    )
    true = next(
        float(v) for name, v in judgement.numbers.items() if name.startswith("true epsilon")
    )
    assert 0 < true <= float(judgement.numbers["claimed epsilon"])
    certified = judgement.outcome is Outcome.CHECKED
    assert [condition.met for condition in judgement.conditions] == [True] * certified
    moved = judgement.numbers["claimed epsilon"] != epsilon
    assert (f"not at {epsilon:.4g}" in judgement.computed) == moved == (epsilon < 1000)


def test_more_words_than_laws_are_held_of_are_not_compared(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(settings_module, "MAX_AUDIT_ENTRIES", 50 * 7)
    words, asked = lexicons.cloud(50, 6), AuditSettings(words=4)
    assert asked.sample(words) == (4, "")
    assert asked.sample(words, 2)[0] == 7
    judgement = verdict("truncated-gumbel-repaired", words, asked)
    assert "Of the 20 words asked for 7 are compared" in judgement.computed
    assert judgement.settings["words"] == 7


def test_the_bound_and_the_optimal_mechanism_agree_to_five_digits() -> None:
    words = catalogue.load(None)
    numbers: Any = verdict("optimal", words, AuditSettings(epsilon=1.2)).numbers
    assert numbers["relative gap"] < 1e-5
    assert 0 < numbers["this one gives away"] <= numbers["no mechanism gives away more than"]
    assert all(c.met for c in verdict("optimal", words, AuditSettings(epsilon=1.2)).conditions)
    # Below the critical ε the two are less than a percent apart, and that is not the same.
    below = verdict("optimal", words, AuditSettings(epsilon=0.6))
    assert below.outcome is Outcome.NOT_REFUTED
    assert [condition.met for condition in below.conditions] == [True, False]
    assert "99.4 % of the bound" in below.computed
    moved = verdict("optimal", words, AuditSettings(epsilon=1.2345))
    assert float(moved.settings["epsilon"]) < 1.2345
    assert "Audited at ε" in moved.computed


def test_what_weights_would_show_is_not_refuted_without_them(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    near, far = lexicons.cloud(50, 6), lexicons.cloud(50, 60)
    assert verdict("epsilon-two", far, SETTINGS).outcome is Outcome.CHECKED
    assert verdict("epsilon-two", near, SETTINGS).outcome is Outcome.REFUTED
    monkeypatch.setattr(Optimal, "least_staying", lambda self, _: np.full(len(self.lexicon), 0.02))
    assert verdict("epsilon-two", far, SETTINGS).outcome is Outcome.NOT_REFUTED
    assert verdict("epsilon-two", near, SETTINGS).outcome is Outcome.REFUTED


def test_clipped_noise_needs_many_times_the_epsilon_of_a_response() -> None:
    lexicon = lexicons.cloud(50, 6)
    numbers: Any = verdict("neighbour-response", lexicon, SETTINGS).numbers
    epsilon = numbers["epsilon of neighbour-response"]
    assert math.exp(epsilon) / (math.exp(epsilon) + len(lexicon) - 1) == pytest.approx(0.5)
    for short in ("laplace", "l2-laplace", "gaussian"):
        factor = numbers[f"times as much for {short}, at least"]
        assert 1 < factor < 64
        mechanism = create(short, lexicon)
        words = np.arange(len(lexicon))
        runs = np.tile(words, 100)
        out = mechanism.sample(np.random.default_rng(1), runs, factor * epsilon)
        # Of 5,000 draws of all words; the claim measured some words along some directions.
        assert (out == runs).mean() < 0.6


# The recorded verdicts are those of the present code, and a file keeps what was found.


CHEAP = ("pixeldp-slides", "gaussian", "trlaplace-corrected", "adept-b", "xu-lemma-1")


def test_all_claims_are_recorded_on_the_bundled_lexicon() -> None:
    recorded = read_recorded()
    assert [verdict.key for verdict in recorded.verdicts] == list(CLAIMS), (
        "data/audit/verdicts.json must have one verdict for each of CLAIMS, in its order: that of "
        "a new one is in `python -m dpcore audit --claim KEY --json`"
    )
    assert recorded.fingerprint == load().fingerprint
    assert recorded.settings == AuditSettings()
    assert recorded.command == "python -m dpcore audit --all"
    assert recorded.of("no-such-claim") is None


def test_the_recorded_sentences_are_those_of_the_file() -> None:
    for entry in read_recorded().verdicts:
        for name in ("title", "claim", "source", "computed", "extent", "failing_step", "repair"):
            text, recorded = facts()[entry.key].get(name), getattr(entry, name)
            if text and recorded:
                pieces = [
                    re.escape(piece) + (".*" if gap is not None else "")
                    for piece, gap, _, _ in Formatter().parse(text)
                ]
                same = re.fullmatch("".join(pieces), recorded, re.DOTALL) is not None
                assert same, (
                    f"data/audit/verdicts.json: {name} of {entry.key} is not that of claims.toml; "
                    f"copy it from `python -m dpcore audit --claim {entry.key} --json`"
                )


@pytest.mark.parametrize("key", CHEAP)
def test_a_verdict_is_the_recorded_one_when_computed_again(key: str) -> None:
    recorded: dict[str, Any] = read_recorded().of(key).to_dict()
    again: dict[str, Any] = verdict(key, load()).to_dict()
    for name in ("settings", "numbers"):
        kept, result = recorded.pop(name), again.pop(name)
        assert list(result) == list(kept)
        for figure, value in kept.items():
            close = value if isinstance(value, str) else pytest.approx(value, rel=1e-6, abs=1e-9)
            assert result[figure] == close, figure
    assert again == recorded


def test_a_file_keeps_a_table(tmp_path: Path) -> None:
    words, settings = lexicons.cloud(50, 6), AuditSettings(epsilon=2.0, seed=3)
    result = [verdict("pixeldp", words, settings), verdict("gaussian", words, settings)]
    place = tmp_path / "verdicts.json"
    write_verdicts(place, words, settings, result)
    read = read_recorded(place)
    assert list(read.verdicts) == result
    assert (read.lexicon, read.fingerprint) == (words.name, words.fingerprint)
    assert read.settings == settings
    assert read.command.endswith("--all --at epsilon=2.0 --at seed=3 --lexicon PATH-OF-THE-LEXICON")


@pytest.mark.parametrize(
    "damage",
    [
        lambda fields: fields.pop("command"),
        lambda fields: fields["settings"].update(delta=2),
        lambda fields: fields["settings"].update(unknown=2),
        lambda fields: fields["verdicts"][0].update(outcome="maybe"),
        lambda fields: fields["verdicts"].append(1),
    ],
)
def test_a_damaged_file_is_refused_with_the_way_out(
    tmp_path: Path, damage: Callable[..., Any]
) -> None:
    fields = json.loads(verdicts_file().read_text(encoding="utf-8"))
    damage(fields)
    place = tmp_path / "verdicts.json"
    place.write_text(json.dumps(fields), encoding="utf-8")
    with pytest.raises(ParameterError, match="audit --all --file"):
        read_recorded(place)
    with pytest.raises(ParameterError, match="audit --all --file"):
        read_recorded(tmp_path / "absent.json")


class _Asked(AuditSettings):
    """Settings that remember which of them a claim says it uses."""

    names: ClassVar[tuple[str, ...]] = ()

    def options(self: Any, lexicon: Lexicon, *names: Any) -> Any:
        object.__setattr__(self, "names", names)
        return super().options(lexicon, *names)


@pytest.mark.slow
def test_the_settings_beside_a_claim_are_those_of_its_command() -> None:
    assert list(USES) == list(CLAIMS)
    words = lexicons.cloud(50, 6)
    for key in CLAIMS:
        settings = _Asked(words=4, draws=1000)
        verdict(key, words, settings)
        assert set(settings.names) == set(USES[key]), key


def test_every_recorded_verdict_has_its_headline_and_every_repair_its_cost() -> None:
    result = {verdict.key: verdict for verdict in read_recorded().verdicts}
    for row in result.values():
        name, value = headline(row)
        assert row.numbers[name] == value
        assert shown(value)
    assert headline(result["huang-theorem-3"])[0] == "true delta"
    assert shown(headline(result["adept-published"])[1]) == "5.66"
    for key, repairs in REPAIRS.items():
        assert key in result
        for repair in repairs:
            assert result[repair].outcome != "refuted"
            assert repair == "pixeldp" or cost(result[repair]) is not None
    assert cost(result["madlib"]) is None


@pytest.mark.slow
def test_only_the_whole_table_is_kept(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    vectors = small_vectors(tmp_path / "small.vec")
    place = tmp_path / "out.json"
    options = ["--lexicon", str(vectors), "--file", str(place)]
    code, _, message = run(capsys, "audit", "--claim", "pixeldp", *options)
    assert code == 2
    assert "--file belongs to --all" in message
    assert not place.exists()
    few = ["--at", "words=4", "--at", "draws=1000"]
    printed = result(capsys, "audit", "--all", *few, *options)
    kept = read_recorded(place)
    assert [verdict.to_dict() for verdict in kept.verdicts] == printed["verdicts"]
    wrong = ["--file", str(tmp_path / "small.vec" / "out.json")]
    code, _, message = run(capsys, "audit", "--all", *few, "--lexicon", str(vectors), *wrong)
    assert code == 2
    assert "cannot write the verdicts" in message
