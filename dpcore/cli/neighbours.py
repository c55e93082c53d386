"""The command `neighbours`: the nearest words of a word."""

from __future__ import annotations

from typing import Any

from click import option

from dpcore.cli import shared
from dpcore.cli.printer import Answer
from dpcore.cli.shell import Options, command
from dpcore.lexicon.lexicon import Lexicon
from dpcore.measure.density.density import Neighbourhood, neighbourhood

radius_option = option("--radius", type=float, help="also count the words within this distance")


@command("neighbours")
@shared.word_option
@shared.number("--k", 20, "how many")
@radius_option
@shared.lexicon_option
def neighbours_command(options: Options) -> Answer:
    """The nearest words of a word."""
    lexicon = shared.lexicon(options)
    around = neighbourhood(lexicon, lexicon.index(options.word), options.k, options.radius)
    names = [lexicon.words[i] for i in around.neighbours.tolist()]
    rows = list(zip(names, around.distances.tolist(), strict=True))
    lines = [f"{options.word}: nearest at {around.nearest:.4f}, mean {around.mean_distance:.4f}"]
    if around.within is not None:
        lines.append(f"{around.within:,} other words within {options.radius:g}")
    lines += [f"{distance:10.4f}  {name}" for name, distance in rows]
    return Answer(
        shared.lexicon_fields(lexicon)
        | around_fields(lexicon, around)
        | {
            **shared.fields(options, "k radius"),
            "neighbours": [{"word": name, "distance": distance} for name, distance in rows],
        },
        lines,
    )


def around_fields(lexicon: Lexicon, around: Neighbourhood) -> dict[str, Any]:
    """What is told of the surroundings of one word."""
    return {
        "word": lexicon.words[around.word],
        "nearest_distance": around.nearest,
        "mean_distance": around.mean_distance,
        "within_radius": around.within,
    }
