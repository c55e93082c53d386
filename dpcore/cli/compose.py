"""The command `compose`: how far two whole texts can be told apart, place by place and together."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from click import option

from dpcore.audit.composition import (
    TEXT_DELTA,
    Composition,
    composition,
    group_compositions,
)
from dpcore.audit.document import document_losses
from dpcore.cli import shared
from dpcore.cli.printer import Answer, table
from dpcore.cli.shell import Options, command
from dpcore.errors import ParameterError
from dpcore.limits import MAX_FILE_CHARACTERS, MAX_FILE_TOKENS, MAX_TEXT_TOKENS
from dpcore.outwards import at_most
from dpcore.rewrite.policy import Treatment, UnknownWordPolicy
from dpcore.rewrite.sentence import prepare

if TYPE_CHECKING:
    from dpcore.arrays import IntArray
    from dpcore.mechanisms.mechanism import Mechanism

_TABLE = "{share:>10.0%|of the sum} {total_epsilon:>10|ε of the text} {delta:>12|δ}"
_SHARES = (0.1, 0.2, 0.3, 0.4, 0.5, 0.7, 1.0)


@command("compose")
@shared.mechanism_options
@shared.epsilon_option
@option("--text", help="the text that is released")
@option("--other", help="another of as many words, which it might have been")
@shared.number(
    "--differing",
    None,
    "words in which any two texts may differ  [default: as many as these two do]",
    least=1,
    most=MAX_FILE_TOKENS,
)
@option("--delta", default=TEXT_DELTA, help="for which the least ε is printed")
def compose_command(options: Options) -> Answer:
    """Compose the privacy losses of two texts over their places, and of any two texts."""
    if (options.text is None) != (options.other is None):
        raise ParameterError("--text and --other are compared with each other: give both")
    if options.text is None and options.differing is None:
        raise ParameterError("give --text and --other, or --differing for any two texts")
    if not 0 < options.delta < 1:
        raise ParameterError(f"--delta must be in (0, 1), got {options.delta}")
    mechanism = shared.build(options)
    epsilon = mechanism.check_epsilon(options.epsilon)
    pair: dict[str, Any] = {"delta": options.delta}
    lines: list[str] = []
    if options.text is not None:
        pair, lines = _two_texts(mechanism, epsilon, options)
    words = options.differing or pair["different"]
    worst = composition(mechanism, epsilon, words, options.delta)
    groups = group_compositions(mechanism, epsilon, words, options.delta)
    return Answer(
        shared.mechanism_fields(mechanism)
        | {"epsilon": epsilon}
        | pair
        | {
            "worst": worst.to_dict(),
            "worst_groups": {name: part.to_dict() for name, part in groups.items()},
        },
        [*lines, _any_two(worst), *(_any_two(part, name) for name, part in groups.items())],
    )


def _any_two(worst: Composition, group: str = "") -> str:
    words = "1 word" if worst.words == 1 else f"{worst.words:,} words"
    within = f" of one budget ({group})" if group else ""
    return f"Of any two texts that differ in {words}{within}: {worst.statement}"


def _promised(mechanism: Mechanism, epsilon: float, first: IntArray, second: IntArray) -> float:
    """The sum of the losses that are promised for the places in which two texts differ."""
    promise, total = mechanism.guarantee(epsilon), 0.0
    for pair in np.stack((first, second))[:, first != second].T:
        apart = mechanism.promised_distances(pair, epsilon)
        total += promise.loss(1.0 if apart is None else float(apart[0, 1]))
    return total


def _two_texts(
    mechanism: Mechanism, epsilon: float, options: Options
) -> tuple[dict[str, Any], list[str]]:
    """Fields and lines about the two texts that were given."""
    first, second = (
        prepare(
            text,
            mechanism.lexicon,
            Treatment(UnknownWordPolicy.REJECT),
            max_characters=MAX_FILE_CHARACTERS,
            max_tokens=MAX_TEXT_TOKENS,
        ).words
        for text in (options.text, options.other)
    )
    ways = [
        document_losses(mechanism, epsilon, *texts) for texts in ((first, second), (second, first))
    ]
    total = _promised(mechanism, epsilon, first, second)
    rows = [
        {
            "share": share,
            "total_epsilon": share * total,
            "delta": max(losses.delta(share * total) for losses in ways),
        }
        for share in _SHARES
    ]
    least = max(losses.epsilon(options.delta) for losses in ways)
    different = int(np.count_nonzero(first != second))
    return (
        {
            "places": int(first.size),
            "different": different,
            "sum": total,
            "mean_loss": max(losses.mean for losses in ways),
            "delta": options.delta,
            "least_epsilon": least,
            "rows": rows,
        },
        [
            f"{different} of {first.size} words differ; the losses promised for them sum to "
            f"{at_most(total)}.",
            f"Together they are (ε, δ)-indistinguishable at ε = {at_most(least)} for δ = "
            f"{options.delta:g}.",
            *table(_TABLE, map(_outwards, rows)),
        ],
    )


def _outwards(row: dict[str, float]) -> dict[str, float | str]:
    """A row as it is printed: both are upper bounds."""
    ends = at_most(row["total_epsilon"]), at_most(row["delta"], 3)
    return {**row, "total_epsilon": ends[0], "delta": ends[1]}
