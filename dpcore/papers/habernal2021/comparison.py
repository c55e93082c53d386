"""ADePT (Krishna et al. 2021) and its refutation (Habernal 2021), against measurement."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from dpcore.papers.readings import at, beside, option, shown, without
from dpcore.papers.row import Row, signed
from dpcore.study.utility_summary import chosen

if TYPE_CHECKING:
    from dpcore.study.experiment_results import RecordedExperiment

_KRISHNA = "Krishna et al. 2021"
_HABERNAL = "Habernal 2021"
_CORPORA = {"ATIS": "atis.parquet", "SNIPS": "snips.parquet"}
_LEARNER = "tf-idf"
_NO_NOISE = "no noise"
_REPAIRS = {
    "adept-l1": "(a) L1 clipping",
    "laplace": "(b) wide noise",
    "l2-laplace": "(c) round noise",
}


def adept_rows(recorded: RecordedExperiment) -> tuple[Row, ...]:
    """Rows about the corpus, the sensitivity, the attack and what the repairs cost."""
    return (
        _corpus(recorded),
        _unprotected(recorded),
        _factor(recorded),
        _bound(recorded, 1.0),
        _bound(recorded, 4.0),
        _attack(recorded),
        _utility(recorded),
        _repaired(recorded),
        _equal_privacy(recorded),
    )


def _of(data: str, **where: Any) -> dict[str, Any]:
    return where | {"data": data}


def _said(recorded: RecordedExperiment, quantity: str, **where: Any) -> str:
    """A baseline of each corpus."""
    parts = []
    for name, data in _CORPORA.items():
        mean = without(recorded, quantity, **_of(data, **where))
        parts.append(f"{name} {mean.mean:.4g}")
    return ", ".join(parts)


def _corpus(recorded: RecordedExperiment) -> Row:
    words = without(recorded, "vocabulary", data="atis.parquet").mean
    return Row(
        _HABERNAL,
        "Section 7",
        "words of ATIS",
        "941 in 5,473 utterances of 1 to 46 words",
        f"{words:.0f} in the public part",
        signed(words - 941),
        "Only utterances of at most "
        f"{option(recorded, 'longest')} words are used, and the vocabulary is that of the public "
        "part alone: it is released with every rewritten text, so that no private utterance may "
        f"add to it. {recorded.entry.sizes}",
    )


def _unprotected(recorded: RecordedExperiment) -> Row:
    latent = option(recorded, "latent")
    return Row(
        _HABERNAL,
        "Figure 1 and Section 6",
        f"share of pairs that the published noise does not cover, n = {latent}",
        "almost all, for simulated vectors",
        _said(recorded, "unprotected"),
        "",
        "The paper has no trained network and draws vectors from a uniform and a normal law. These "
        "are pairs of real utterances in the latent space of a trained network. It spreads "
        "utterances over the sphere that it clips to, since that is what reconstruction needs.",
    )


def _factor(recorded: RecordedExperiment) -> Row:
    latent = int(option(recorded, "latent"))
    true = float(at(recorded, "true_epsilon", "adept", 1.0, data="atis.parquet")["mean"])
    return Row(
        _HABERNAL,
        "Abstract and Section 5",
        f"true ε over the claimed one, n = {latent}",
        "√n; at least 6 for a very small n (32)",
        f"{true:.4g}; the widest pair found among utterances: {_said(recorded, 'widest_pair')}",
        signed(true - 6),
        f"√32 is {math.sqrt(32):.3f}: the abstract rounds it up. The factor needs two vectors with "
        "all coordinates opposite and equal; real utterances come near to it.",
    )


def _bound(recorded: RecordedExperiment, epsilon: float) -> Row:
    parts, claims = [], []
    for name, data in _CORPORA.items():
        mean, half = _pooled(recorded, epsilon, data)
        claimed = at(recorded, "first_bound", "adept", epsilon, data=data, variant="claimed")
        repaired = at(recorded, "bayes", "l2-laplace", epsilon, data=data)
        parts.append(
            f"{name}: {mean:.3g} ({mean - half:.3g} to {mean + half:.3g}), with (c) "
            f"{float(repaired['mean']):.3g}"
        )
        claims.append(f"{name} {float(claimed['mean']):.3g}")
    return Row(
        _HABERNAL,
        "Section 7 and Appendix C",
        f"chance to name the utterance behind a noisy vector, ε = {epsilon:g}",
        f"limited by ε, were it private: at most e^ε/(e^ε + m − 1), {', '.join(claims)}",
        "; ".join(parts),
        "",
        "The Bayes optimum over all m utterances, equally likely; the mean posterior of the one "
        "that is named. Whatever exceeds the bound refutes the claim on real text, by an attack "
        "that anybody can run; interval of 95 % over utterances and noise, for these networks.",
    )


def _pooled(recorded: RecordedExperiment, epsilon: float, data: str) -> tuple[float, float]:
    """Mean over trials of the Bayes optimum, and half of its interval: trials are independent."""
    rows = chosen(recorded.table, "bayes", label="adept", epsilon=epsilon, data=data)
    halves = (rows["high"] - rows["value"]).to_numpy(dtype=float)
    return float(rows["value"].mean()), float((halves**2).sum() ** 0.5 / halves.size)


def _attack(recorded: RecordedExperiment) -> Row:
    parts = []
    for name, data in _CORPORA.items():
        shares = ", ".join(
            f"{float(at(recorded, 'first', 'adept', e, data=data)['mean']):.3g}"
            for e in (4.0, 8.0, 16.0, 32.0)
        )
        rank = float(at(recorded, "rank", "adept", 8.0, data=data)["mean"])
        repaired = float(at(recorded, "rank", "l2-laplace", 8.0, data=data)["mean"])
        count = float(chosen(recorded.table, "first_bound", data=data)["count"].mean())
        parts.append(
            f"{name}: {shares}; mean rank at ε = 8 {rank:.3g}, with (c) {repaired:.4g}, by "
            f"guessing {(count + 1) / 2:.0f}"
        )
    return Row(
        _HABERNAL,
        "Appendix C",
        "share of utterances that the attack names, published noise, ε = 4, 8, 16, 32",
        "a sketch: its feasibility is left open",
        "; ".join(parts),
        "",
        "The sketch looks for near utterances. The law of the noise is public, so that near can be "
        "exact: the likelihood. The attacker needs the encoder and the corpus, as in the sketch, "
        "and sees the noisy vector itself; with the written text alone he would know less.",
    )


def _utility(recorded: RecordedExperiment) -> Row:
    parts = []
    for name, data in _CORPORA.items():
        where = _of(data, learner=_LEARNER, tested_on="clean")
        plain = without(recorded, "accuracy", variant="", **where).mean
        alone = without(recorded, "accuracy", variant=_NO_NOISE, **where).mean
        noisy = shown(recorded, "accuracy", "adept", 1.0, **where)
        majority = without(recorded, "majority", data=data).mean
        parts.append(
            f"{name}: {noisy}; without noise {alone:.3f}, original text {plain:.3f}, largest "
            f"intent {majority:.3f}"
        )
    return Row(
        _KRISHNA,
        "Abstract",
        "accuracy of intents after rewriting, ε = 1, published noise",
        "lower to no degradation against other methods",
        "; ".join(parts),
        "",
        "Trained on rewritten text, tested on original text. A small network of 32 latent "
        "coordinates, trained for minutes on a part of the corpus, loses accuracy before any noise "
        "is added; the paper's network, its n and its C are not known.",
    )


def _repaired(recorded: RecordedExperiment) -> Row:
    parts = []
    for name, data in _CORPORA.items():
        values = [
            f"{title} {float(at(recorded, 'rouge1', arm, 16.0, data=data)['mean']):.3f}"
            for arm, title in ({"adept": "published"} | _REPAIRS).items()
        ]
        parts.append(f"{name}: {', '.join(values)}")
    return Row(
        _HABERNAL,
        "Section 7",
        "what the repairs cost: ROUGE-1 at ε = 16",
        "utility is expected to be worse, since more noise is needed",
        "; ".join(parts),
        "",
        "At one and the same claimed ε the repairs have more noise, because the published noise "
        "has less than its claim needs.",
    )


def _equal_privacy(recorded: RecordedExperiment) -> Row:
    parts = []
    true = float(at(recorded, "true_epsilon", "adept", 16.0, data="atis.parquet")["mean"])
    for name, data in _CORPORA.items():
        where = {"data": data}
        published = float(at(recorded, "rouge1", "adept", 16.0, data=data)["mean"])
        others = [
            f"{title} {beside(recorded, ('rouge1', where), arm, true):.3f}"
            for arm, title in _REPAIRS.items()
        ]
        parts.append(f"{name}: published {published:.3f}, {', '.join(others)}")
    return Row(
        _HABERNAL,
        "Section 7",
        "ROUGE-1 at one and the same true ε, that of the published noise at ε = 16",
        "not considered",
        f"true ε = {true:.4g}; {'; '.join(parts)}",
        "",
        "The published noise is that of (b) with another ε written beside it, so the two agree up "
        "to the noise of this measurement. Nothing is lost by saying what is true.",
    )
