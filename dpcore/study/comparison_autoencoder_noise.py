"""Huang et al. 2024, Tables 2, 3 and 5, against an auto-encoder that learned with the noise."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dpcore.study.autoencoder_trial import ANY, NEAREST, NETWORK
from dpcore.study.comparison_autoencoder import NAMES, PAPER, joined, mean_of, where_of
from dpcore.study.comparison_experiment import option, without
from dpcore.study.comparison_row import Row, signed
from dpcore.study.reported_autoencoder import printed
from dpcore.study.utility_summary import curves

if TYPE_CHECKING:
    from dpcore.study.experiment_results import RecordedExperiment


def noise_rows(recorded: RecordedExperiment) -> tuple[Row, ...]:
    """Rows of the network that was trained with the noise of each ε."""
    trained = [_trained(recorded, curve, e) for curve in NAMES for e in (0.05, 20.0)]
    return (*trained, _useful(recorded), _time(recorded))


def _trained(recorded: RecordedExperiment, curve: str, epsilon: float) -> Row:
    pair = ("rouge1_recall", "nw", "loss")
    paper = {q: printed("yelp", q, curve)[epsilon] for q in pair}
    ours = {q: mean_of(recorded, q, curve, epsilon, NETWORK) for q in pair}
    bound = mean_of(recorded, "nw_bound", curve, epsilon, ANY)
    limit = f" No decoder can keep more than {bound:.3g} of the words." if bound < 1 else ""
    return Row(
        PAPER,
        "Tables 2 and 3 (Yelp, GloVe), noise in training too",
        f"ROUGE-1 recall, Nw, loss of {NAMES[curve]} at ε = {epsilon:g}",
        joined(paper.values()),
        joined(ours.values()),
        ", ".join(signed(ours[q] - paper[q]) for q in pair),
        "A network that has met the noise writes the most frequent words of each place, which "
        f"earns some ROUGE and no more.{limit}",
    )


def _useful(recorded: RecordedExperiment) -> Row:
    found = [mean_of(recorded, "nw", c, 200.0, NETWORK) for c in ("gaussian-classical", "laplace")]
    near = [mean_of(recorded, "nw", c, 200.0, NEAREST) for c in ("gaussian-classical", "laplace")]
    return Row(
        PAPER,
        "Section 6.2",
        "Nw of Gaussian and Laplace noise at ε = 200, with noise in training",
        "not printed (ε ≤ 20)",
        f"{joined(found)} (nearest word: {joined(near)})",
        "",
        "Where words begin to come through, reading the sentence helps against looking up each "
        "vector by itself: but e^200 is no promise.",
    )


def _time(recorded: RecordedExperiment) -> Row:
    clean = without(recorded, "cpu_seconds", **where_of(recorded, NETWORK)).mean
    found = curves(recorded.table, "cpu_seconds", **where_of(recorded, NETWORK))
    means = {curve: float(found[found["curve"] == curve]["mean"].mean()) for curve in NAMES}
    return Row(
        PAPER,
        "Table 5",
        "seconds an epoch: without noise, and with the noise in training",
        "wall-clock on a GeForce RTX 3090; 8,539 sentences of Yelp",
        f"without {clean:.3g}; {'; '.join(f'{c} {seconds:.3g}' for c, seconds in means.items())}",
        "",
        f"Ours are processor seconds of one core for {option(recorded, 'train'):,} sentences. "
        "Drawing noise takes "
        f"{', '.join(f'{100 * (seconds / clean - 1):.0f}' for seconds in means.values())} % more "
        "than no noise; the network is what costs.",
    )
