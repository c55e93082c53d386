"""The command `compose`: how far two whole texts can be told apart, place by place and together."""

from __future__ import annotations

import numpy as np
from click import option

from dpcore.audit.document import document_losses
from dpcore.cli import shared
from dpcore.cli.printer import Answer, table
from dpcore.cli.shell import Options, command
from dpcore.errors import ParameterError
from dpcore.lexicon.metric import paired_distances
from dpcore.limits import MAX_FILE_CHARACTERS, MAX_TEXT_TOKENS
from dpcore.rewrite.policy import Treatment, UnknownWordPolicy
from dpcore.rewrite.sentence import prepare

_TABLE = "{share:>10.0%|of the sum} {total_epsilon:>10.4g|ε of the text} {delta:>12.3g|δ}"
_SHARES = (0.1, 0.2, 0.3, 0.4, 0.5, 0.7, 1.0)


@command("compose")
@shared.mechanism_options
@shared.epsilon_option
@option("--text", required=True, help="the text that is released")
@option("--other", required=True, help="another of as many words, which it might have been")
@option("--delta", default=1e-6, help="for which the least ε of the two texts is printed")
def compose_command(options: Options) -> Answer:
    """Compose the privacy losses of two texts over their places."""
    mechanism = shared.build(options)
    epsilon = mechanism.check_epsilon(options.epsilon)
    if not 0 < options.delta < 1:
        raise ParameterError(f"--delta must be in (0, 1), got {options.delta}")
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
    promise, vectors = mechanism.guarantee(epsilon), mechanism.lexicon.vectors
    apart = paired_distances(vectors[first], vectors[second])
    total = sum(promise.euclidean_loss(distance) for distance in apart[first != second].tolist())
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
    return Answer(
        shared.mechanism_fields(mechanism)
        | {
            "epsilon": epsilon,
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
            f"{total:.4g}.",
            f"Together they are (ε, δ)-indistinguishable at ε = {least:.4g} for δ = "
            f"{options.delta:g}.",
            *table(_TABLE, rows),
        ],
    )
