"""Mechanisms of different kinds on one axis: at equal Nw, attacker's success, or proved loss.

The same number ε is not the same privacy in two mechanisms. What can be compared is what their
texts give away in the same experiment (Nw, the attacker's AUC), or what is proved of them: the
largest privacy loss between any two words, in nats, which is a promise of local privacy for each
of them. Where a claim is refuted, or nothing is known, there is no such number, and that is said.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dpcore.guarantee import EpsilonMeaning, Status
from dpcore.mechanisms.registry import resolve
from dpcore.study.tables import chosen
from dpcore.study.utility_summary import CURVE_COLUMNS, KEYS, curve_name, curves

if TYPE_CHECKING:
    import pandas as pd

LOSS = "loss"
"""As a quantity: the largest privacy loss between any two words that is proved, in nats."""
EQUAL_COLUMNS = (*CURVE_COLUMNS, "x")


def at_equal(
    table: pd.DataFrame, by: tuple[str, dict[str, Any]], quantity: tuple[str, dict[str, Any]]
) -> pd.DataFrame:
    """Mean and interval of a quantity over another one, each taken at the same ε.

    Args:
        table: rows of an experiment.
        by: quantity of the x axis (or `LOSS`) and where, as for `curves`.
        quantity: the same, of the y axis.

    Returns:
        Columns `EQUAL_COLUMNS`, ε ascending within a curve; ε without an x are left out.
    """
    points = curves(table, quantity[0], **quantity[1])
    axis = losses(table, **by[1]) if by[0] == LOSS else curves(table, by[0], **by[1])
    axis = axis.rename(columns={LOSS if by[0] == LOSS else "mean": "x"})[[*KEYS, "x"]]
    joined = points.merge(axis, on=KEYS)
    return joined[joined["x"].notna()].reset_index(drop=True)[list(EQUAL_COLUMNS)]


def losses(table: pd.DataFrame, **where: Any) -> pd.DataFrame:
    """The largest loss between any two words of every curve and ε, as far as it is known.

    A loss that was computed over all pairs of words (`true_epsilon`) is taken before the one that
    is claimed and proved.

    Returns:
        Columns curve, mechanism, epsilon, loss (NaN if unknown), status.
    """
    point = ["curve", "epsilon"]
    claimed = curves(table, "claimed_loss", **where)[[*KEYS, "mean"]]
    status = chosen(table, "claimed_loss")
    status = status.assign(curve=status["label"].map(curve_name)).drop_duplicates(point)
    known = claimed.merge(status[[*point, "variant"]], on=point, how="left")
    known = known.rename(columns={"mean": "loss", "variant": "status"})
    computed = curves(table, "true_epsilon", **where)[[*KEYS, "mean"]]
    known = known.merge(computed.rename(columns={"mean": "true"}), on=KEYS, how="left")
    # A loss is ε times a length: with the true ε in the place of the claimed one it is the true.
    better = known["true"] / known["epsilon"] * known["loss"]
    known["loss"] = better.where(known["true"].notna(), known["loss"])
    unknown = ~known["status"].isin([str(Status.PROVED), str(Status.CERTIFIED)])
    known.loc[unknown & known["true"].isna(), "loss"] = float("nan")
    return known.drop(columns="true")


def loss_sentence(table: pd.DataFrame, **where: Any) -> str:
    """Of which curves the loss is unknown, and of which it holds only up to a probability δ."""
    known = losses(table, **where)
    sentences = []
    unknown = known[known["loss"].isna()]
    for status, rows in unknown.groupby("status", sort=False, dropna=False):
        names = ", ".join(dict.fromkeys(rows["curve"]))
        why = f"the guarantee is {status}" if isinstance(status, str) and status else "not computed"
        sentences.append(f"Not drawn where no loss is proved ({why}): {names}.")
    approximate = [
        str(curve)
        for (curve, mechanism), rows in known.groupby(["curve", "mechanism"], sort=False)
        if resolve(str(mechanism)).meaning is EpsilonMeaning.LOCAL_APPROXIMATE
        and rows["loss"].notna().any()
    ]
    if approximate:
        sentences.append(f"Together with a δ: {', '.join(approximate)}.")
    return " ".join(sentences)
