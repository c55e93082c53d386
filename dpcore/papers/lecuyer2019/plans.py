"""The plans of PixelDP: places, regimes, noises and scales."""

from __future__ import annotations

from itertools import product

from dpcore.learn.pixeldp.digits import Place
from dpcore.study.definition import Study
from dpcore.study.plan import BASELINE, Arm, Plan, Settings

SEEDS = (0, 1, 2)
SCALES = {"gaussian": (0.25, 0.5), "laplace": (0.25,)}
"""Of the noise, in units of the sensitivity."""
REGIMES = {
    Place.PICTURE: ("joint", "linear"),
    Place.FIRST_LAYER: ("joint", "separate"),
    Place.AUTO_ENCODER: ("joint", "separate"),
}
"""What is trained under the noise; "linear" is logistic regression by scikit-learn."""
STEPS = {8: 200, 32: 100, 128: 50}
"""Training steps that are timed, by the channels of the first convolution."""
TEXT_LABELS = ("sentiment", "topic")
TEXT_SCALES = (0.5, 1.0)
_SIZES = (0.0, 0.05, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.6, 0.8, 1.0, 1.25, 1.5, 2.0)
_ERROR = 0.001


def _arm(*parts: str | float, **options: object) -> Arm:
    label = ", ".join(f"{part:g}" if isinstance(part, float) else part for part in parts)
    settings: Settings = tuple(options.items())
    return Arm(BASELINE, label=label, options=settings)


def _digits() -> tuple[Arm, ...]:
    arms = [_arm("no noise layer")]
    for place, regimes in REGIMES.items():
        for regime, (noise, scales) in product(regimes, SCALES.items()):
            for scale in scales:
                settings = {"place": str(place), "regime": regime, "noise": noise, "scale": scale}
                arms.append(_arm(str(place), regime, noise, scale, **settings))
    costs = (_arm(f"cost of {c} channels", channels=c, steps=s) for c, s in STEPS.items())
    return (*arms, *costs)


DIGITS = Study(
    "PixelDP: certified accuracy of digits, and the cost of a noise layer",
    "",
    Plan(
        "pixeldp-digits",
        "dpcore.papers.lecuyer2019.study:measure",
        _digits(),
        ("",),
        seeds=SEEDS,
        options=(("epochs", 30), ("draws", 300), ("error", _ERROR), ("sizes", _SIZES)),
    ),
    f"In each of {len(SEEDS)} trials networks trained anew on 1,347 pictures of 8 x 8 pixels, and "
    "450 pictures predicted, each from 300 draws of the noise; the pictures are divided alike in "
    "all trials. Attacks are measured in norm 2 for Gaussian noise and in norm 1 for Laplace "
    "noise.",
    rewrites=False,
)
TEXTS = Study(
    "PixelDP: certified accuracy of texts with noise on every word vector",
    "",
    Plan(
        "pixeldp-texts",
        "dpcore.papers.lecuyer2019.study:measure_text",
        tuple(
            _arm(labels, "gaussian", scale, labels=labels, noise="gaussian", scale=scale)
            for labels, scale in product(TEXT_LABELS, TEXT_SCALES)
        ),
        ("bundled",),
        seeds=SEEDS,
        options=(
            ("epochs", 15), ("most", 40), ("draws", 100), ("error", _ERROR), ("sizes", _SIZES),
        ),
    ),
    f"In each of {len(SEEDS)} trials a network trained anew on 1,008 texts of the teaching corpus, "
    "each cut to its first 40 words, and 432 texts predicted, each from 100 draws of the noise.",
    rewrites=False,
)  # fmt: skip
