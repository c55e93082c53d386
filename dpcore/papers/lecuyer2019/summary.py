"""Tidy curves from the recorded experiments of PixelDP: means over trials with intervals."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from dpcore.learn.intervals import mean_interval

if TYPE_CHECKING:
    import pandas as pd

    from dpcore.study.recorded import Recorded

SETTINGS = ("place", "labels", "regime", "noise", "scale")
"""Of an arm; "labels" of texts, "place" and "regime" of digits, empty where there is none."""
HOW = ("accounting", "condition", "bound")
"""How a certified size was got (`dpcore.papers.lecuyer2019.study.variant_of`)."""
_SHARES = {"certified", "accuracy", "abstained", "with_words"}


def summary(recorded: Recorded, quantity: str) -> pd.DataFrame:
    """Means over trials of one quantity of the study, with 95 % t-intervals.

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
    """What the noise layer costs in a training step, of "pixeldp-digits".

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
