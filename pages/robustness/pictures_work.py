"""Classifiers of public digits and their certificates, computed once for all sessions."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd

from dpcore.learn.linear.certificate import ordinary_radii
from dpcore.learn.pixeldp.certified import (
    Bound,
    CertifiedPredictions,
    Scores,
    certified_accuracy,
    certify,
    draw_scores,
    score_bounds,
)
from dpcore.learn.pixeldp.digits import Place, digits, picture_of, picture_text, train_digits
from dpcore.learn.pixeldp.noise_layer import Accounting, NoisyClassifier
from dpcore.lexicon.progress import Progress, silent
from dpcore.noise.streams import generator
from dpcore.plots.robust.shares import COLUMNS
from pages.shared import link
from pages.shared.once import is_there, once

SCALES = (0.02, 0.05, 0.1, 0.15, 0.2, 0.25, 0.35, 0.5, 0.7, 1.0, 1.4, 2.0)
"""Scales of the noise, in units of the layer's sensitivity."""
PICTURE = 210
"""Number of the default test picture: of all 450, the one whose true class (4) has the largest mean
probability under the default noise, and the largest radius that 200 draws can certify."""
DRAWS = (50, 100, 200, 500, 1_000, 2_000)
ERRORS = (0.05, 0.01, 0.001, 0.0001)
PROVED, TIGHT, SLIDES, ORDINARY = (
    "proved by PixelDP's condition",
    "tight: the most that these bounds allow",
    "the slides' condition (not proved)",
    "no noise: ordinary linear classifier, exact",
)
_STEPS = 80


@dataclass(frozen=True)
class Noise:
    """Noise layer under study; a key of caches.

    Attributes:
        place: place of the layer.
        accounting: type of noise, and its theorem.
        scale: in units of the sensitivity.
        draws: number of draws for each picture.
        seed: seed of training and draws.
    """

    place: Place = Place.PICTURE
    accounting: Accounting = Accounting.ANALYTIC
    scale: float = 0.25
    draws: int = 200
    seed: int = link.SEED


@dataclass(frozen=True)
class ScoreBound:
    """Bound on scores.

    Attributes:
        bound: type of bound.
        error: probability that a bound of a picture is wrong.
    """

    bound: Bound = Bound.CLOPPER_PEARSON
    error: float = 0.001


@dataclass(frozen=True, eq=False)
class DrawnScores:
    """Classifier, and the scores of all test pictures under its noise."""

    model: NoisyClassifier
    scores: Scores


def noisy_scores(noise: Noise, progress: Progress = silent) -> DrawnScores:
    """Train a classifier and draw its scores, as `python -m dpcore robust digits` does.

    Raises:
        DpcoreError: scikit-learn is not installed, or a setting is invalid.
    """

    def compute() -> DrawnScores:
        # One generator for training and draws, as in the command, whose numbers these are.
        rng = generator(noise.seed, "digits")
        model = train_digits(
            noise.accounting, noise.scale, noise.accounting.norm, rng, place=noise.place
        )
        scores = draw_scores(model.scores, model.layer, digits().test, noise.draws, rng, progress)
        return DrawnScores(model, scores)

    return once("digits", noise, compute)


def is_drawn(noise: Noise) -> bool:
    """Return True if the scores are cached."""
    return is_there("digits", noise)


def certified(noise: Noise, how: ScoreBound) -> CertifiedPredictions:
    """Return predictions of all test pictures with their certificates."""

    def compute() -> CertifiedPredictions:
        sampled = noisy_scores(noise)
        return certify(sampled.model.layer, score_bounds(sampled.scores, how.error, how.bound))

    return once("digits certified", (noise, how), compute)


def of_picture(noise: Noise, how: ScoreBound, picture: int) -> tuple[float, float, int]:
    """Return PixelDP's size, the tight size and the predicted place of one picture alone."""

    def compute() -> tuple[float, float, int]:
        sampled = noisy_scores(noise)
        # Of this picture alone: the error is for one picture, and the others need not be bounded.
        bounds = score_bounds(sampled.scores.part([picture]), how.error, how.bound)
        certificate = certify(sampled.model.layer, bounds)
        sizes, tight, classes = certificate.sizes, certificate.tight, certificate.classes
        return float(sizes[0]), float(tight[0]), int(classes[0])

    # As many as 450 pictures at all scales, nearly: an entry is three numbers.
    return once("digits picture", (noise, how, picture), compute, 5_000)


def scores_of(noise: Noise, picture: int, text: str) -> Scores:
    """Return the scores of a picture as it was painted; unpainted, those of its certificate.

    Args:
        noise: the noise layer.
        picture: number of the test picture.
        text: the painted picture, see `dpcore.learn.pixeldp.digits.picture_of`.
    """
    sampled = noisy_scores(noise)
    if text == picture_text(digits().test[picture]):
        return sampled.scores.part([picture])
    # The same noise for every painting, so that only the paint changes the votes.
    rng = generator(noise.seed, "painted")
    model = sampled.model
    return draw_scores(model.scores, model.layer, picture_of(text)[None], noise.draws, rng)


def labels(noise: Noise) -> np.ndarray:
    """Return the places of the true classes in the scores, shape (k,)."""
    return noisy_scores(noise).model.places(digits().test_labels)


def accuracy_table(noise: Noise, how: ScoreBound) -> pd.DataFrame:
    """Return certified accuracy by size of the attack, for `dpcore.plots.robust.shares`."""

    def compute() -> pd.DataFrame:
        certificates, truth = certified(noise, how), labels(noise)
        radii = once(
            "digits ordinary",
            noise.accounting.norm,
            lambda: ordinary_radii(digits(), noise.accounting.norm),
        )
        # Where nothing is certified the axis would have no length.
        top = max(float(certificates.tight.max()), noise.scale)
        sizes = np.linspace(0.0, top, _STEPS + 1).round(6)
        curves = {
            PROVED: certified_accuracy(certificates, truth, sizes, certificates.sizes),
            TIGHT: certified_accuracy(certificates, truth, sizes, certificates.tight),
            # The exact radius of a linear classifier: the smallest attack on it is a formula.
            ORDINARY: (radii >= sizes[:, None]).mean(axis=1),
            SLIDES: certified_accuracy(certificates, truth, sizes, certificates.slides),
        }
        return pd.concat(
            [
                pd.DataFrame({"curve": name, "x": sizes, "mean": shares})
                for name, shares in curves.items()
            ],
            ignore_index=True,
        ).reindex(columns=list(COLUMNS))

    return once("digits accuracy", (noise, how), compute)


def measure_ahead(scale: float) -> None:
    """Compute the default view of one noise scale ahead of the first request."""
    noise, how = Noise(scale=scale), ScoreBound()
    # The same keys as in a first visit, or it would compute them again.
    accuracy_table(noise, how)
    of_picture(noise, how, PICTURE)
