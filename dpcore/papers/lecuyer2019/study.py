"""PixelDP recorded: certified accuracy of digits and of texts, and what the noise layer costs.

Rows, beside the label of the arm (its settings are options of the plan):

- "certified": share of the test inputs predicted right whatever an attack of size `at` does;
  "largest" and "median": certified size among the right predictions. `variant` names accounting,
  condition and bound, as `variant_of` does.
- "abstained": share without a prediction; `variant` is the bound.
- "accuracy": of the largest mean score over the draws, right or not certified.
- "sensitivity": exact, of the first map as it is after training.
- "step_seconds", "step_ratio": of a training step; `variant` is place and noise, `at` the channels
  of the first convolution; `low` and `high` a 95 % interval of the median.
- "words": words of a text that may be replaced within the certificate, mean over the texts;
  "with_words": share of the texts with one or more; `at` is the distance to the new word.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from dpcore.learn.pixeldp.certified_prediction import (
    ABSTAINED,
    Bound,
    certified_accuracy,
    certify,
    draw_scores,
    score_bounds,
)
from dpcore.learn.pixeldp.digits import Place, digits, train_digits
from dpcore.learn.pixeldp.noise_layer import Accounting, NoiseLayer
from dpcore.study.rows import Row, row

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from dpcore.arrays import FloatArray
    from dpcore.learn.pixeldp.certified_prediction import Certified, Scores
    from dpcore.study.plan import Cell
    from dpcore.study.sources import Sources


LAPLACE, GAUSSIAN = "laplace", "gaussian"
ACCOUNTINGS = {
    LAPLACE: (Accounting.LAPLACE,),
    GAUSSIAN: (Accounting.ANALYTIC, Accounting.CLASSICAL),
}
"""The theorems that can be applied to each noise; the first one gives the norm."""
LINEAR = "linear"
"""In place of a regime: what `dpcore.learn.pixeldp.digits` trains with scikit-learn."""
PIXELDP, TIGHT, SLIDES = "pixeldp", "tight", "slides"
_JOIN = ", "


def variant_of(accounting: Accounting, condition: str, bound: Bound) -> str:
    """How a certified size was got."""
    return _JOIN.join((accounting, condition, bound))


def measure(cell: Cell, _: Sources) -> list[Row]:
    """One network at one place, scale and noise.

    Options: `noise`, `place`, `regime`, `scale`, `epochs`, `draws`, `error`, `sizes`; without a
    place the network without noise; with `channels` and `steps` the cost of training steps.
    """
    rng = cell.generator("pixeldp", *(str(cell.option(name)) for name in ("noise", "place")))
    if cell.option("channels"):
        return list(_cost(cell, rng))
    data = digits()
    epochs = int(cell.option("epochs"))
    if not cell.option("place"):
        from dpcore.learn.pixeldp.training import train_layer_free

        probabilities = train_layer_free(rng, epochs=epochs).predict_proba(data.test)
        right = probabilities.argmax(axis=1) == data.test_labels
        return [row("accuracy", right.mean(), count=right.size)]
    place, regime = Place(cell.option("place")), str(cell.option("regime"))
    noise = ACCOUNTINGS[str(cell.option("noise"))][0]
    settings = (noise, float(cell.option("scale")), noise.norm, rng)
    if regime == LINEAR:
        model = train_digits(*settings, place=place)
    else:
        from dpcore.learn.pixeldp.training import Regime, train_pixeldp

        model = train_pixeldp(*settings, place=place, regime=Regime(regime), epochs=epochs)
    scores = draw_scores(model.scores, model.layer, data.test, int(cell.option("draws")), rng)
    rows = [row("sensitivity", model.layer.sensitivity)]
    labels = model.places(data.test_labels)
    certificates = _certificates(cell, model.layer, scores, labels)
    return rows + [certificate for certificate, _ in certificates]


def measure_text(cell: Cell, sources: Sources) -> list[Row]:
    """One network for texts of the teaching corpus, with noise on every word vector.

    Options: `labels`, `noise`, `scale`, `epochs`, `most` (words of a text), `draws`, `error`,
    `sizes`.
    """
    from dpcore.learn.bags import bags_of
    from dpcore.learn.corpus import teaching_corpus
    from dpcore.learn.labelled import LabelledTexts
    from dpcore.learn.pixeldp.text import replaced_words, train_text_network

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
    """Rows of all certificates, each with the sizes (0 where the prediction is wrong)."""
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


def _conditions(accounting: Accounting, certified: Certified) -> dict[str, FloatArray]:
    """What is told of each accounting: the tight size once, and the slides' where δ > 0."""
    conditions = {PIXELDP: certified.sizes}
    if accounting is not Accounting.CLASSICAL:
        conditions[TIGHT] = certified.tight
    if accounting is not Accounting.LAPLACE:
        conditions[SLIDES] = certified.slides
    return conditions


def _cost(cell: Cell, rng: np.random.Generator) -> Iterator[Row]:
    from dpcore.learn.pixeldp.cost import step_cost

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
