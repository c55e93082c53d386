"""ADePT (Krishna et al. 2021) and its refutation (Habernal 2021), against measurement."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

from dpcore.papers.row import Row, compared, joined, signed

if TYPE_CHECKING:
    from dpcore.study.reading import Figures

row = partial(compared, "habernal2021")
"""A row about the refutation."""
_CORPORA = {"ATIS": "atis.parquet", "SNIPS": "snips.parquet"}
_NO_NOISE = "no noise"
_REPAIRS = {
    "adept-l1": "(a) L1 clipping",
    "laplace": "(b) wide noise",
    "l2-laplace": "(c) round noise",
}


def adept_rows(figures: Figures) -> tuple[Row, ...]:
    """Rows about the corpus, the sensitivity, the attack and what the repairs cost."""
    return (
        _words(figures),
        row("unprotected", figures, ours=_baselines(figures, "unprotected")),
        _factor(figures),
        _bound(figures, 1.0),
        _bound(figures, 4.0),
        row("attack", figures, ours=_of_each(figures, _attacked)),
        row("utility", figures, ours=_of_each(figures, _accuracies)),
        row("repaired", figures, ours=_of_each(figures, _recalls)),
        _equal_privacy(figures),
    )


def _each(figures: Figures) -> list[tuple[str, Figures]]:
    """Name and figures of each corpus."""
    return [(name, figures.only(data=data)) for name, data in _CORPORA.items()]


def _of_each(figures: Figures, text: Callable[[Figures], str]) -> str:
    """What is to be said of each corpus."""
    return "; ".join(f"{name}: {text(part)}" for name, part in _each(figures))


def _baselines(figures: Figures, quantity: str) -> str:
    """A baseline of each corpus."""
    return ", ".join(f"{name} {part.without(quantity).mean:.4g}" for name, part in _each(figures))


def _true_epsilon(figures: Figures, epsilon: float) -> float:
    """That of the published noise, which depends on the number of latent coordinates alone."""
    return figures.mean("true_epsilon", "adept", epsilon, data=_CORPORA["ATIS"])


def _words(figures: Figures) -> Row:
    words = figures.without("vocabulary", data=_CORPORA["ATIS"]).mean
    return row("words", figures, words=words, difference=signed(words - 941))


def _factor(figures: Figures) -> Row:
    true = _true_epsilon(figures, 1.0)
    widest = _baselines(figures, "widest_pair")
    numbers = {"true": true, "widest": widest, "root": math.sqrt(32)}
    return row("factor", figures, difference=signed(true - 6), **numbers)


def _bound(figures: Figures, epsilon: float) -> Row:
    claims = ", ".join(
        f"{name} {part.mean('first_bound', 'adept', epsilon, variant='claimed'):.3g}"
        for name, part in _each(figures)
    )

    def named(part: Figures) -> str:
        mean, half = _pooled(part, epsilon)
        repaired = part.mean("bayes", "l2-laplace", epsilon)
        return f"{mean:.3g} ({mean - half:.3g} to {mean + half:.3g}), with (c) {repaired:.3g}"

    return row("bound", figures, epsilon=epsilon, claims=claims, ours=_of_each(figures, named))


def _pooled(figures: Figures, epsilon: float) -> tuple[float, float]:
    """Mean over trials of the Bayes optimum, and half of its interval: trials are independent."""
    rows = figures.rows("bayes", label="adept", epsilon=epsilon)
    halves = (rows["high"] - rows["value"]).to_numpy(dtype=float)
    return float(rows["value"].mean()), float((halves**2).sum() ** 0.5 / halves.size)


def _attacked(part: Figures) -> str:
    shares = joined(part.mean("first", "adept", epsilon) for epsilon in (4.0, 8.0, 16.0, 32.0))
    count = float(part.rows("first_bound")["count"].mean())
    return (
        f"{shares}; mean rank at ε = 8 {part.mean('rank', 'adept', 8.0):.3g}, with (c) "
        f"{part.mean('rank', 'l2-laplace', 8.0):.4g}, by guessing {(count + 1) / 2:.0f}"
    )


def _accuracies(corpus: Figures) -> str:
    part = corpus.only(learner="tf-idf", tested_on="clean")
    alone, plain = (part.without("accuracy", variant=kind).mean for kind in (_NO_NOISE, ""))
    return (
        f"{part.at('accuracy', 'adept', 1.0)}; without noise {alone:.3f}, original text "
        f"{plain:.3f}, largest intent {corpus.without('majority').mean:.3f}"
    )


def _recalls(part: Figures) -> str:
    """At one and the same claimed ε."""
    return ", ".join(
        f"{title} {part.mean('rouge1', arm, 16.0):.3f}"
        for arm, title in {"adept": "published", **_REPAIRS}.items()
    )


def _equal_privacy(figures: Figures) -> Row:
    true = _true_epsilon(figures, 16.0)

    def recalls(part: Figures) -> str:
        repairs = ", ".join(
            f"{title} {part.interpolated('rouge1', arm, true):.3f}"
            for arm, title in _REPAIRS.items()
        )
        return f"published {part.mean('rouge1', 'adept', 16.0):.3f}, {repairs}"

    return row("equal-privacy", figures, true=true, recalls=_of_each(figures, recalls))
