"""PixelDP: experiments on certified accuracy of digits and texts, and the cost of the noise layer.

Rows, beside the label of the arm (its settings are options of the plan):

- "certified": share of the test inputs predicted correctly under any attack of size `at`;
  "largest" and "median": certified size among the correct predictions. `variant` names accounting,
  condition and bound, as `variant_of` does.
- "abstained": share without a prediction; `variant` is the bound.
- "accuracy": of the largest mean score over the draws, certified or not.
- "sensitivity": exact, of the first map after training.
- "step_seconds", "step_ratio": of a training step; `variant` is place and noise, `at` the channels
  of the first convolution; `low` and `high` a 95 % interval of the median.
- "words": words of a text that may be replaced within the certificate, mean over the texts;
  "with_words": share of the texts with one or more; `at` is the distance to the new word.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from dpcore.arrays import FloatArray
from dpcore.learn.corpus import LabelledTexts, bags_of, teaching_corpus
from dpcore.learn.intervals import mean_interval
from dpcore.learn.pixeldp.certified import (
    ABSTAINED,
    Bound,
    CertifiedPredictions,
    Scores,
    certified_accuracy,
    certify,
    draw_scores,
    score_bounds,
)
from dpcore.learn.pixeldp.cost import step_cost
from dpcore.learn.pixeldp.digits import Place, digits, train_digits
from dpcore.learn.pixeldp.noise_layer import Accounting, NoiseLayer
from dpcore.learn.pixeldp.text import replaced_words, train_text_network
from dpcore.learn.pixeldp.training import Regime, train_layer_free, train_pixeldp
from dpcore.study.plan import BASELINE, Arm, Cell, Plan, Row, Settings, Study, row
from dpcore.study.recorded import Recorded
from dpcore.study.runner import Sources

if TYPE_CHECKING:
    import pandas as pd


LAPLACE, GAUSSIAN = "laplace", "gaussian"
ACCOUNTINGS = {
    LAPLACE: (Accounting.LAPLACE,),
    GAUSSIAN: (Accounting.ANALYTIC, Accounting.CLASSICAL),
}
"""Theorems that apply to each noise; the first one gives the norm."""
LINEAR = "linear"
"""Replacement for a regime: training by `dpcore.learn.pixeldp.digits` with scikit-learn."""
PIXELDP, TIGHT, SLIDES = "pixeldp", "tight", "slides"
_JOIN = ", "


def variant_of(accounting: Accounting, condition: str, bound: Bound) -> str:
    """Return the variant that names accounting, condition and bound of a certified size."""
    return _JOIN.join((accounting, condition, bound))


def measure_digits(cell: Cell, _: Sources) -> list[Row]:
    """Measure one network at one place, scale and noise.

    Options: `noise`, `place`, `regime`, `scale`, `epochs`, `draws`, `error`, `sizes`; without a
    place the network without noise; with `channels` and `steps` the cost of training steps.
    """
    rng = cell.generator("pixeldp", *(str(cell.option(name)) for name in ("noise", "place")))
    if cell.option("channels"):
        return list(_cost(cell, rng))
    data = digits()
    epochs = int(cell.option("epochs"))
    if not cell.option("place"):
        probabilities = train_layer_free(rng, epochs=epochs).predict_proba(data.test)
        right = probabilities.argmax(axis=1) == data.test_labels
        return [row("accuracy", right.mean(), count=right.size)]
    place, regime = Place(cell.option("place")), str(cell.option("regime"))
    noise = ACCOUNTINGS[str(cell.option("noise"))][0]
    settings = (noise, float(cell.option("scale")), noise.norm, rng)
    if regime == LINEAR:
        model = train_digits(*settings, place=place)
    else:
        model = train_pixeldp(*settings, place=place, regime=Regime(regime), epochs=epochs)
    scores = draw_scores(model.scores, model.layer, data.test, int(cell.option("draws")), rng)
    rows = [row("sensitivity", model.layer.sensitivity)]
    labels = model.places(data.test_labels)
    certificates = _certificates(cell, model.layer, scores, labels)
    return rows + [certificate for certificate, _ in certificates]


def measure_text(cell: Cell, sources: Sources) -> list[Row]:
    """Measure one network for texts of the teaching corpus, with noise on every word vector.

    Options: `labels`, `noise`, `scale`, `epochs`, `most` (words of a text), `draws`, `error`,
    `sizes`.
    """
    lexicon = sources.lexicon(cell.lexicon)
    noise = ACCOUNTINGS[str(cell.option("noise"))][0]
    rng = cell.generator("pixeldp", str(cell.option("labels")))
    parts = []
    for split in ("train", "test"):
        part = teaching_corpus().part(split)
        labels = LabelledTexts.of(part.texts, part.labels(str(cell.option("labels")))).labels
        parts.append((bags_of(part.texts, lexicon, int(cell.option("most"))), labels))
    (bags, learned), (test, labels) = parts
    scale, epochs = float(cell.option("scale")), int(cell.option("epochs"))
    model = train_text_network(noise, scale, bags, learned, lexicon.vectors, rng, epochs=epochs)
    scores = model.scores(test, int(cell.option("draws")), rng)
    lengths = np.array([(words >= 0).sum() for words in np.split(test.words, test.offsets[1:-1])])
    extent = lexicon.extent
    rows: list[Row] = []
    for certificate, reach in _certificates(cell, model.layer(), scores, labels):
        rows.append(certificate)
        if certificate["quantity"] != "largest":
            continue
        for distance in (extent.separation, extent.diameter):
            words = replaced_words(reach, lengths, distance, noise.norm)
            where: dict[str, Any] = {"at": distance, "variant": certificate["variant"]}
            rows.append(row("words", words.mean(), count=words.size, **where))
            rows.append(row("with_words", (words > 0).mean(), count=words.size, **where))
    return rows


def _certificates(
    cell: Cell, layer: NoiseLayer, scores: Scores, labels: NDArray[np.int64]
) -> Iterator[tuple[Row, FloatArray]]:
    """Yield rows of all certificates, each with the sizes (0 where the prediction is wrong)."""
    sizes = cell.option("sizes")
    error = float(cell.option("error"))
    count = labels.size
    right = scores.means.argmax(axis=1) == labels
    yield row("accuracy", right.mean(), count=count), np.zeros(count)
    for bound in Bound:
        bounds = score_bounds(scores, error, bound)
        for accounting in ACCOUNTINGS[str(cell.option("noise"))]:
            same = NoiseLayer(accounting, layer.scale, layer.attack, layer.dimension, layer.matrix)
            certified = certify(same, bounds)
            if accounting is not Accounting.CLASSICAL:
                abstained = (certified.classes == ABSTAINED).mean()
                yield row("abstained", abstained, variant=str(bound), count=count), certified.sizes
            for condition, reach in _conditions(accounting, certified).items():
                variant = variant_of(accounting, condition, bound)
                shares = certified_accuracy(certified, labels, sizes, reach)
                reach = np.where(certified.classes == labels, reach, 0.0)
                for size, share in zip(sizes, shares.tolist(), strict=True):
                    yield row("certified", share, at=size, variant=variant, count=count), reach
                good = reach[certified.classes == labels]
                middle = float(np.median(good)) if good.size else 0.0
                yield row("median", middle, variant=variant, count=good.size), reach
                yield row("largest", good.max(initial=0.0), variant=variant, count=count), reach


def _conditions(accounting: Accounting, certified: CertifiedPredictions) -> dict[str, FloatArray]:
    """Return the sizes by condition: tight once for each noise, that of the slides where δ > 0."""
    conditions = {PIXELDP: certified.sizes}
    if accounting is not Accounting.CLASSICAL:
        conditions[TIGHT] = certified.tight
    if accounting is not Accounting.LAPLACE:
        conditions[SLIDES] = certified.slides
    return conditions


def _cost(cell: Cell, rng: np.random.Generator) -> Iterator[Row]:
    channels, steps = int(cell.option("channels")), int(cell.option("steps"))
    for place in Place:
        for noise, (accounting, *_) in ACCOUNTINGS.items():
            cost = step_cost(place, accounting, channels, steps, rng)
            where: dict[str, Any] = {"at": channels}
            for quantity, kind, timed in (
                ("step_seconds", "no noise layer", cost.without),
                ("step_seconds", "with the layer", cost.with_layer),
                ("step_ratio", "", cost.ratio),
            ):
                variant = _JOIN.join(part for part in (place, noise, kind) if part)
                interval = {"low": timed.low, "high": timed.high, "count": timed.count}
                yield row(quantity, timed.median, variant=variant, **interval, **where)


# Plans of PixelDP: places, regimes, noises and scales.


SEEDS = (0, 1, 2)
SCALES = {"gaussian": (0.25, 0.5), "laplace": (0.25,)}
"""Scale of the noise, in units of the sensitivity."""
REGIMES = {
    Place.PICTURE: ("joint", "linear"),
    Place.FIRST_LAYER: ("joint", "separate"),
    Place.AUTO_ENCODER: ("joint", "separate"),
}
"""Layers trained under the noise; "linear" is logistic regression by scikit-learn."""
STEPS = {8: 200, 32: 100, 128: 50}
"""Timed training steps, by the channels of the first convolution."""
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
        "dpcore.papers.lecuyer2019.study:measure_digits",
        _digits(),
        ("",),
        seeds=SEEDS,
        options=(("epochs", 30), ("draws", 300), ("error", _ERROR), ("sizes", _SIZES)),
    ),
    f"In each of {len(SEEDS)} trials networks newly trained on 1,347 pictures of 8 x 8 pixels, and "
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
    f"In each of {len(SEEDS)} trials a network newly trained on 1,008 texts of the teaching "
    "corpus, each cut to its first 40 words, and 432 texts predicted, each from 100 draws of the "
    "noise.",
    rewrites=False,
)  # fmt: skip


# Tidy curves from the recorded experiments of PixelDP: means over trials with intervals.


SETTINGS = ("place", "labels", "regime", "noise", "scale")
"""Options of an arm; "labels" of texts, "place" and "regime" of digits, empty where absent."""
HOW = ("accounting", "condition", "bound")
"""Parts of the variant of a certified size (`dpcore.papers.lecuyer2019.study.variant_of`)."""
_SHARES = {"certified", "accuracy", "abstained", "with_words"}


def summary(recorded: Recorded, quantity: str) -> pd.DataFrame:
    """Return means over trials of one quantity of the study, with 95 % t-intervals.

    Args:
        recorded: "pixeldp-digits" or "pixeldp-texts".
        quantity: certified, largest, median, abstained, accuracy, sensitivity, words, with_words.

    Returns:
        Columns `SETTINGS`, `HOW` (of abstained only the bound), "at" (L, or the distance of words;
        NaN where there is none), "mean", "low", "high", "trials"; in the order of the plan. The
        network without a noise layer has the place "".
    """
    arms = {arm["label"]: dict(arm["options"]) for arm in recorded.entry.plan["arms"]}
    rows = recorded.rows(quantity)
    means = []
    for (label, variant, size), part in rows.groupby(["label", "variant", "at"], **_GROUPS):
        options = arms[label]
        how = ("", "", variant) if quantity == "abstained" else _split(variant)
        mean = mean_interval(part["value"].to_numpy())
        low, high = mean.low, mean.high
        if quantity in _SHARES:
            low, high = np.maximum(low, 0.0), np.minimum(high, 1.0)
        means.append(
            {name: options.get(name, "") for name in SETTINGS}
            | dict(zip(HOW, how, strict=True))
            | {"at": size, "mean": mean.mean, "low": low, "high": high, "trials": mean.trials}
        )
    return _frame(means, (*SETTINGS, *HOW, "at", "mean", "low", "high", "trials"))


def costs(recorded: Recorded) -> pd.DataFrame:
    """Return the cost of the noise layer in a training step, of "pixeldp-digits".

    Returns:
        Columns place, noise, channels, "without" and "with" (milliseconds of a processor), "ratio"
        (medians, averaged over trials), "low" and "high" (the smallest and the largest end of the
        trials' intervals of the ratio), "steps" (of each kind in each trial), "trials".
    """
    rows = recorded.table[recorded.table["quantity"].isin(("step_seconds", "step_ratio"))]
    measured = []
    for (_, channels), part in rows.groupby(["label", "at"], **_GROUPS):
        ratios = part[part["quantity"] == "step_ratio"]
        for variant, of_ratio in ratios.groupby("variant", **_GROUPS):
            place, noise = variant.split(", ")
            seconds = {
                name: part.loc[part["variant"] == f"{variant}, {kind}", "value"].mean()
                for name, kind in (("without", "no noise layer"), ("with", "with the layer"))
            }
            measured.append(
                {"place": place, "noise": noise, "channels": int(channels)}
                | {name: 1e3 * value for name, value in seconds.items()}
                | {
                    "ratio": of_ratio["value"].mean(),
                    "low": of_ratio["low"].min(),
                    "high": of_ratio["high"].max(),
                    "steps": int(of_ratio["count"].iloc[0]),
                    "trials": len(of_ratio),
                }
            )
    columns = ("place", "noise", "channels", "without", "with", "ratio", "low", "high")
    return _frame(measured, (*columns, "steps", "trials"))


_GROUPS: dict[str, Any] = {"sort": False, "dropna": False}


def _split(variant: str) -> tuple[str, ...]:
    return tuple(variant.split(", ")) if variant else ("",) * len(HOW)


def _frame(rows: list[dict[str, Any]], columns: tuple[str, ...]) -> pd.DataFrame:
    import pandas as pd

    return pd.DataFrame(rows, columns=list(columns))
