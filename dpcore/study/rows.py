"""The tidy rows of an experiment: one number a row, with what it is."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from dpcore.learn.bags import Bags, bags_of

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from dpcore.learn.labelled import LabelledTexts
    from dpcore.lexicon.lexicon import Lexicon

Row = dict[str, Any]

COLUMNS = (
    "label", "mechanism", "epsilon", "lexicon", "data", "seed",
    "learner", "tested_on", "variant", "quantity", "at", "value", "low", "high", "count",
)  # fmt: skip
"""One number a row. `label` names the curve; `epsilon` is None for the baseline (mechanism "");
`learner` is of `dpcore.learn.classifiers.LEARNERS`; `tested_on` is "private" or "clean";
`variant` tells kinds of one quantity apart (the attacker's); `at` is the abscissa of a quantity
that is itself a curve (false-positive rate of "roc" and "tpr"); `value` with an interval of its
own (`low`, `high`) where it has one, and the number of texts or words behind it (`count`)."""

PRIVATE, CLEAN = "private", "clean"


def row(quantity: str, value: float, **more: Any) -> Row:
    """One row of the columns that a task fills; absent ones are None or empty."""
    blank: Row = dict.fromkeys(("epsilon", "at", "low", "high", "count"))
    blank |= dict.fromkeys(("learner", "tested_on", "variant"), "")
    unknown = set(more) - set(blank)
    if unknown:
        raise KeyError(f"no column {', '.join(sorted(unknown))}")
    return blank | more | {"quantity": quantity, "value": float(value)}


@dataclass(frozen=True, eq=False)
class Prepared:
    """Labelled texts as bags over one lexicon."""

    bags: Bags
    labels: NDArray[np.int64]


def prepare(corpus: LabelledTexts, lexicon: Lexicon, most: int | None) -> Prepared:
    """Read labelled texts over a lexicon."""
    return Prepared(bags_of(corpus.texts, lexicon, most), corpus.labels)


def kept(*pairs: tuple[Bags, Bags], epsilon: float | None = None) -> Row:
    """Nw counted in text: the share of all places whose word stayed."""
    # Unknown places count and never stay: −1 before, a word of the vocabulary after.
    same = sum(int((before.words == after.words).sum()) for before, after in pairs)
    total = sum(before.words.size for before, _ in pairs)
    return row("nw", same / max(total, 1), epsilon=epsilon, count=total)
