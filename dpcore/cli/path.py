"""The command `path`: one noise draw, read at every ε."""

from __future__ import annotations

import math

import numpy as np

from dpcore.cli import shared
from dpcore.cli.printer import Answer
from dpcore.cli.shell import Options, command
from dpcore.noise.streams import generator


@command("path")
@shared.mechanism_options
@shared.word_option
@shared.seed_option("of the draw")
def path_command(options: Options) -> Answer:
    """What one noise draw makes of a word at every ε."""
    mechanism = shared.build(options)
    words = np.array([mechanism.lexicon.index(options.word)], dtype=np.int64)
    paths = mechanism.paths(generator(options.seed, "path", mechanism.key), words)
    pieces = [
        {
            "from_epsilon": piece.from_epsilon,
            "to_epsilon": piece.to_epsilon if math.isfinite(piece.to_epsilon) else None,
            "output": mechanism.lexicon.words[piece.output],
        }
        for piece in paths.pieces(0)
    ]
    lines = [f"{mechanism.title}, one draw of {options.word!r}: for looking, not for releasing"]
    for piece in pieces:
        end = "∞" if piece["to_epsilon"] is None else f"{piece['to_epsilon']:.4g}"
        lines.append(f"{piece['from_epsilon']:>10.4g} ≤ ε < {end:<10} {piece['output']}")
    return Answer(
        shared.mechanism_fields(mechanism)
        | {"word": options.word, "seed": options.seed, "exact": paths.exact, "pieces": pieces},
        lines,
    )
