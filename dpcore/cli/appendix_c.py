"""The command `appendix-c`: the formulas of Xu et al. 2021, Appendix C, beside the truth."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from click import option

from dpcore.cli import shared
from dpcore.cli.printer import Answer, table
from dpcore.cli.shell import Options, command
from dpcore.measure.deniability import check_runs
from dpcore.measure.words import named
from dpcore.mechanisms.registry import create
from dpcore.noise.streams import check_seed
from dpcore.papers.xu2021.appendix_c import appendix_rows, everyday_extremes
from dpcore.papers.xu2021.appendix_c_sentences import gumbel_sentences, laplace_sentences
from dpcore.plots.layout import probability_text

_EPSILONS = {"madlib": "1,10,100", "truncated-gumbel": "1e3,1e5,1e7"}
_TABLE = (
    "{name:<17|}{epsilon:>10.4g|ε} {word:<14.13}{nearest:>7.3f|δ} {formula:>9.4f}  "
    "{interval:<26|truth, 95 % interval} {proved:>19}"
)


@command("appendix-c")
@option(
    "--words", type=shared.names, metavar="A,B,C",
    help="these words  [default: a dense and a sparse one]",
)  # fmt: skip
@option(
    "--epsilon",
    multiple=True,
    metavar="[MECHANISM=]VALUES",
    help=f"{shared.VALUES}, for madlib or truncated-gumbel; repeatable  [default: "
    + ", ".join(f"{m}={e}" for m, e in _EPSILONS.items())
    + "]",
)
@shared.number("--runs", 1000, "noise directions of madlib")
@shared.seed_option("of these directions")
@shared.lexicon_option
def appendix_c_command(options: Options) -> Answer:
    """How often words stay by the formulas of Xu et al. 2021, Appendix C, and in truth."""
    check_runs(options.runs)
    check_seed(options.seed)
    lexicon = shared.lexicon(options)
    chosen = named(lexicon, options.words or everyday_extremes(lexicon))
    mechanisms = [create(name, lexicon) for name in _EPSILONS]
    grids = shared.epsilons_of_each(_with_defaults(options.epsilon), mechanisms)
    laplace, gumbel = (
        appendix_rows(
            mechanism, chosen, grid,
            runs=options.runs, seed=options.seed, progress=options.progress,
        )
        for mechanism, grid in zip(mechanisms, grids, strict=True)
    )  # fmt: skip
    rows = laplace + gumbel
    # In words: Madlib in the middle of its ε, truncated Gumbel at its lowest.
    sentences = laplace_sentences(laplace, grids[0][len(grids[0]) // 2], lexicon.dimension)
    sentences += gumbel_sentences(gumbel, grids[1][0], len(lexicon))
    return Answer(
        shared.selection_fields(options, lexicon, chosen) | {"rows": rows, "sentences": sentences},
        [*table(_TABLE, _printed(rows)), "", *sentences],
    )


def _printed(rows: Sequence[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    for row in rows:
        yield row | {
            "name": row["mechanism"].split(".")[0],
            "interval": probability_text(row["truth"], row["nw_low"], row["nw_high"]),
            "proved": f"{row['low']:>9.3g} to {row['high']:<6.3f}",
        }


def _with_defaults(given: Sequence[str]) -> list[str]:
    """The options, with the default of a mechanism that they do not mention."""
    if any("=" not in text for text in given):
        return list(given)  # a list for both
    missing = [m for m in _EPSILONS if not any(o.startswith((f"{m}=", f"{m}.v")) for o in given)]
    return [*given, *(f"{m}={_EPSILONS[m]}" for m in missing)]
