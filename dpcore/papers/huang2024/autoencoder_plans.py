"""Huang et al. 2024, Tables 1 to 3 and 5: the plans of a private auto-encoder.

The paper leaves open which decoder it takes, whether the noise is there in training, in testing or
in both, C, and what becomes of the vectors in training. Its Figures 1 and 6 show words projected
back (its Algorithm 1), its tables a loss, which only a network has. Here the vectors stay public
and fixed, so that Theorems 1 to 3 apply; the decoder sees the states of the encoder and nothing
else; noise is there at rewriting, where it makes the promise, and in a plan of its own in training
too.
"""

from __future__ import annotations

import math

from dpcore.mechanisms.clipped.truncation import Truncation, published_truncation, worst_delta
from dpcore.papers.huang2024.deniability import (
    HUANG_DELTA,
    HUANG_DIMENSION,
    HUANG_NORM,
    HUANG_TOTALS,
    dummies,
)
from dpcore.papers.reported import HUANG_EPSILONS
from dpcore.study.parts import Settings
from dpcore.study.plan import Arm, Plan

TASK = "dpcore.study.autoencoder_trial:measure"
LARGE = (50.0, 200.0, 1_000.0)
"""Beyond the paper: where words begin to come through noise that is private."""
EQUAL = (0.05, 5.0, 20.0)
"""ε at which Gaussian noise is drawn with the δ that TrLaplace's noise has in truth."""
_CLIP: Settings = (("clip_norm", HUANG_NORM),)
_DELTA: Settings = (*_CLIP, ("delta", HUANG_DELTA))
_SEEDS = (0, 1, 2)
_OPTIONS: Settings = (
    ("vocabulary", 3_000),
    ("words", (3, 15)),
    ("train", 4_000),
    ("test", 200),
    ("attacked", 60),
    ("hidden", 128),
    ("norm", HUANG_NORM),
    ("epochs", 4),
    ("batch", 64),
    ("rate", 0.01),
)


def total_of(epsilon: float) -> int:
    """d′, the dimension with dummies that the paper takes at an ε of its own."""
    return next(total for total, top in HUANG_TOTALS if epsilon <= top)


def published_noise(epsilon: float) -> Truncation:
    """TrLaplace's noise at an ε, with the paper's dummy dimensions."""
    total = total_of(epsilon)
    root = dict(dummies(total))["delta_root"]
    return published_truncation(epsilon, root, HUANG_NORM, HUANG_DIMENSION, total - HUANG_DIMENSION)


def true_delta(epsilon: float) -> float:
    """The δ that the published noise has in truth, rounded down to three digits."""
    delta = worst_delta(published_noise(epsilon), HUANG_NORM, HUANG_DIMENSION)
    return math.floor(1e3 * delta) / 1e3


def equal_label(epsilon: float) -> str:
    """Name of the Gaussian curve with the δ that TrLaplace has in truth at an ε."""
    return f"gaussian, δ = {true_delta(epsilon):g}"


def _truncated(epsilons: tuple[float, ...], **more: Settings) -> tuple[Arm, ...]:
    """TrLaplace as published, one arm for each number of dummy dimensions."""
    groups = {total: [e for e in epsilons if total_of(e) == total] for total, _ in HUANG_TOTALS}
    return tuple(
        Arm(
            "trlaplace",
            tuple(group),
            (*_CLIP, *dummies(total)),
            "trlaplace" if total == HUANG_DIMENSION else f"trlaplace, d′ = {total}",
            **more,
        )
        for total, group in groups.items()
        if group
    )


def _plan(
    name: str, lexicons: tuple[str, ...], file: str, splits: tuple[str, str], seeds: tuple[int, ...]
) -> Plan:
    wide = (*HUANG_EPSILONS, *LARGE)
    return Plan(
        name,
        TASK,
        (
            Arm(""),
            Arm("gaussian-classical", wide, _DELTA),
            Arm("gaussian", (*EQUAL, 200.0, 1_000.0), _DELTA),
            Arm("laplace", wide, _CLIP),
            *_truncated(HUANG_EPSILONS),
            *(
                Arm(
                    "gaussian", (epsilon,), (*_CLIP, ("delta", true_delta(epsilon))),
                    equal_label(epsilon),
                )
                for epsilon in EQUAL
            ),
            Arm("trlaplace-corrected", (20.0, 1_000.0), _DELTA),
        ),
        lexicons,
        (file,),
        seeds,
        (*_OPTIONS, ("splits", splits)),
        together=True,
    )  # fmt: skip


def _noise_in_training() -> Plan:
    options: Settings = (("noise_in_training", True),)
    return Plan(
        "huang2024-autoencoder-noise-yelp",
        TASK,
        (
            Arm(""),
            *(
                Arm(name, (0.05, 20.0, 200.0), settings, options=options)
                for name, settings in (("gaussian-classical", _DELTA), ("laplace", _CLIP))
            ),
            *_truncated((0.05, 20.0), options=options),
        ),
        ("yelp",),
        ("yelp_sentences.parquet",),
        _SEEDS[:2],
        (*_OPTIONS, ("splits", ("dev", "test")), ("timed", True)),
        together=True,
    )


YELP = _plan(
    "huang2024-autoencoder-yelp",
    ("yelp", "yelp-bundled", "yelp-random"),
    "yelp_sentences.parquet",
    ("dev", "test"),
    _SEEDS,
)
YAHOO = _plan(
    "huang2024-autoencoder-yahoo", ("yahoo",), "yahoo_2class.parquet", ("train", "test"), _SEEDS
)
NOISE = _noise_in_training()


def sizes_of(plan: Plan) -> str:
    """How much of a corpus is used, in a sentence."""
    options = dict(plan.options)
    least, most = options["words"]
    seeds = "With one seed" if len(plan.seeds) == 1 else f"For each of {len(plan.seeds)} seeds"
    return (
        f"{seeds} a network of {options['hidden']} states in each "
        f"direction over the {options['vocabulary']:,} most frequent words (the paper: 10,000), "
        f"trained on {options['train']:,} sentences of {least} to {most} words in "
        f"{options['epochs']} epochs at most (the paper: 100 epochs); {options['test']} sentences "
        "of the other split rewritten, drawn anew."
    )
