"""Huang et al. 2024, Tables 2, 3 and 5, against an auto-encoder that learned with the noise."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from dpcore.papers.huang2024.autoencoder_comparison import NAMES, PAPER, joined, mean_of, where_of
from dpcore.papers.huang2024.reported import printed
from dpcore.papers.readings import option, without
from dpcore.papers.row import Row, signed
from dpcore.study.autoencoder_trial import ANY, NEAREST, NETWORK
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
    words = option(recorded, "vocabulary")
    limit = f" No decoder can keep more than {bound:.3g} of the words." if bound < 1 else ""
    return Row(
        PAPER,
        "Tables 2 and 3 (Yelp, GloVe), noise in training too",
        f"ROUGE-1 recall, Nw, loss of {NAMES[curve]} at ε = {epsilon:g}",
        joined(paper.values()),
        joined(ours.values()),
        ", ".join(signed(ours[q] - paper[q]) for q in pair),
        "A network that has met the noise writes frequent words, which earns some ROUGE and no "
        f"more. Its loss is near that of one that knows no word, ln {words:,} = "
        f"{math.log(words):.2f}, and not the {paper['loss']:.3g} that is printed.{limit}",
    )


def _useful(recorded: RecordedExperiment) -> Row:
    found = [mean_of(recorded, "nw", c, 200.0, NETWORK) for c in ("gaussian-classical", "laplace")]
    near = [mean_of(recorded, "nw", c, 200.0, NEAREST) for c in ("gaussian-classical", "laplace")]
    better = (
        "Reading the whole sentence helps against looking up each vector by itself."
        if min(f - n for f, n in zip(found, near, strict=True)) > 0
        else "Looking up each vector by itself is no worse than this network, which has met the "
        f"noise in {option(recorded, 'train'):,} sentences only."
    )
    return Row(
        PAPER,
        "Section 6.2",
        "Nw of Gaussian and Laplace noise at ε = 200, with noise in training",
        "not printed (ε ≤ 20)",
        f"{joined(found)} (nearest word: {joined(near)})",
        "",
        f"Words begin to come through, and e^200 is no promise. {better}",
    )


def _time(recorded: RecordedExperiment) -> Row:
    clean = without(recorded, "cpu_seconds", **where_of(recorded, NETWORK)).mean
    found = curves(recorded.table, "cpu_seconds", **where_of(recorded, NETWORK))
    means = {curve: float(found[found["curve"] == curve]["mean"].mean()) for curve in NAMES}
    return Row(
        PAPER,
        "Table 5",
        "seconds an epoch: without noise, and with the noise in training",
        "wall-clock on a GeForce RTX 3090; 8,539 sentences of Yelp (Section 6.1; Table 4 has them "
        "under Yahoo)",
        f"without {clean:.3g}; {'; '.join(f'{c} {seconds:.3g}' for c, seconds in means.items())}",
        "",
        f"Ours are processor seconds of one core for {option(recorded, 'train'):,} sentences. "
        "With noise an epoch takes "
        f"{', '.join(f'{seconds / clean:.2g}' for seconds in means.values())} times as long as "
        "without (the first network, trained without noise, also pays for the start of torch): it "
        "is the network that costs, and not the noise.",
    )
