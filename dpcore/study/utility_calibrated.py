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
from dpcore.study.utility_summary import CURVE_COLUMNS, curve_name, curves

if TYPE_CHECKING:
    import pandas as pd

LOSS = "loss"
"""As a quantity: the largest privacy loss between any two words that is proved, in nats."""
EQUAL_COLUMNS = (*CURVE_COLUMNS, "x")
_KEYS = ["curve", "mechanism", "epsilon"]


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
    found = curves(table, quantity[0], **quantity[1])
    beside = (
        losses(table, **by[1])[[*_KEYS, "loss"]].rename(columns={"loss": "x"})
        if by[0] == LOSS
        else curves(table, by[0], **by[1])[[*_KEYS, "mean"]].rename(columns={"mean": "x"})
    )
    joined = found.merge(beside, on=_KEYS)
    return joined[joined["x"].notna()].reset_index(drop=True)[list(EQUAL_COLUMNS)]


def losses(table: pd.DataFrame, **where: Any) -> pd.DataFrame:
    """The largest loss between any two words of every curve and ε, as far as it is known.

    A loss that was computed over all pairs of words (`true_epsilon`) is taken before the one that
    is claimed and proved.

    Returns:
        Columns curve, mechanism, epsilon, loss (NaN if unknown), status.
    """
    claimed = curves(table, "claimed_loss", **where)[[*_KEYS, "mean"]]
    status = table[table["quantity"] == "claimed_loss"]
    status = status.assign(curve=status["label"].map(curve_name)).drop_duplicates(
        ["curve", "epsilon"]
    )
    found = claimed.merge(
        status[["curve", "epsilon", "variant"]], on=["curve", "epsilon"], how="left"
    )
    found = found.rename(columns={"mean": "loss", "variant": "status"})
    computed = curves(table, "true_epsilon", **where)[[*_KEYS, "mean"]]
    found = found.merge(computed.rename(columns={"mean": "true"}), on=_KEYS, how="left")
    better = found["true"] / found["epsilon"] * found["loss"]
    found["loss"] = better.where(found["true"].notna(), found["loss"])
    unknown = ~found["status"].isin([str(Status.PROVED), str(Status.CERTIFIED)])
    found.loc[unknown & found["true"].isna(), "loss"] = float("nan")
    return found.drop(columns="true")


def loss_sentence(table: pd.DataFrame, **where: Any) -> str:
    """Of which curves the loss is unknown, and of which it holds only up to a probability δ."""
    found = losses(table, **where)
    said = []
    unknown = found[found["loss"].isna()]
    for status, rows in unknown.groupby("status", sort=False, dropna=False):
        names = ", ".join(dict.fromkeys(rows["curve"]))
        why = f"the guarantee is {status}" if isinstance(status, str) and status else "not computed"
        said.append(f"Not drawn where no loss is proved ({why}): {names}.")
    approximate = [
        str(curve)
        for (curve, mechanism), rows in found.groupby(["curve", "mechanism"], sort=False)
        if resolve(str(mechanism)).meaning is EpsilonMeaning.LOCAL_APPROXIMATE
        and rows["loss"].notna().any()
    ]
    if approximate:
        said.append(f"Together with a δ: {', '.join(approximate)}.")
    return " ".join(said)
