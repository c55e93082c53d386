"""The command `appendix-c`: the formulas of Xu et al. 2021, Appendix C, beside the truth."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dpcore.cli.mechanisms import common_options, print_json, seed_option
from dpcore.cli.word_options import head, parse_epsilons

if TYPE_CHECKING:
    import argparse

    from dpcore.cli.mechanisms import Commands

_NAMES = ("madlib", "truncated-gumbel")
_EPSILONS = {"madlib": "1,10,100", "truncated-gumbel": "1e3,1e5,1e7"}


def register(commands: Commands) -> None:
    """Add the command; its handler takes the parsed arguments and returns an exit code."""
    command = commands.add_parser(
        "appendix-c",
        help="how often words stay by the formulas of Xu et al. 2021, Appendix C, and in truth",
    )
    command.add_argument(
        "--words", metavar="A,B,C", help="these words (default: a dense and a sparse one)"
    )
    command.add_argument(
        "--epsilon",
        action="append",
        help="MECHANISM=LIST or MECHANISM=LOW:HIGH:COUNT for madlib or truncated-gumbel; "
        "repeatable (default " + ", ".join(f"{m}={e}" for m, e in _EPSILONS.items()) + ")",
    )
    command.add_argument(
        "--runs", type=int, default=1000, help="noise directions of madlib (default 1000)"
    )
    seed_option(command, "of these directions (default 0)")
    common_options(command)
    command.set_defaults(handler=_appendix)


def _appendix(options: argparse.Namespace) -> int:
    from dpcore.cli.terminal import progress_bars
    from dpcore.lexicon.catalogue import load
    from dpcore.measure.deniability import check_runs
    from dpcore.measure.words import named
    from dpcore.mechanisms.registry import create
    from dpcore.noise.streams import check_seed
    from dpcore.papers.xu2021.appendix_c import appendix_rows, everyday_extremes
    from dpcore.papers.xu2021.appendix_c_sentences import gumbel_sentences, laplace_sentences
    from dpcore.plots.layout import probability_text

    check_runs(options.runs)
    seed = options.seed or 0
    check_seed(seed)
    with progress_bars() as progress:
        lexicon = load(options.lexicon, progress=progress)
        names = everyday_extremes(lexicon) if options.words is None else options.words.split(",")
        chosen = named(lexicon, names)
        mechanisms = [create(name, lexicon) for name in _NAMES]
        grids = parse_epsilons(_epsilons(options.epsilon or []), mechanisms)
        laplace, gumbel = (
            appendix_rows(m, chosen, grid, runs=options.runs, seed=seed, progress=progress)
            for m, grid in zip(mechanisms, grids, strict=True)
        )
    sentences = laplace_sentences(laplace, grids[0][len(grids[0]) // 2], lexicon.dimension)
    sentences += gumbel_sentences(gumbel, grids[1][0], len(lexicon))
    if options.json:
        print_json(
            head(options, lexicon, chosen) | {"rows": laplace + gumbel, "sentences": sentences}
        )
        return 0
    print(
        f"{'':17}{'ε':>10} {'word':<14}{'δ':>7} {'formula':>9}  "
        f"{'truth, 95 % interval':<26} {'proved':>19}"
    )
    for row in laplace + gumbel:
        print(
            f"{row['mechanism'].split('.')[0]:<17}{row['epsilon']:>10.4g} {row['word'][:13]:<14}"
            f"{row['nearest']:>7.3f} {row['formula']:>9.4f}  "
            f"{probability_text(row['truth'], row['nw_low'], row['nw_high']):<26} "
            f"{row['low']:>9.3g} to {row['high']:<6.3f}"
        )
    print()
    print("\n".join(sentences))
    return 0


def _epsilons(given: list[str]) -> list[str]:
    """The options, with the default of a mechanism that they do not mention."""
    if any("=" not in option for option in given):
        return given  # a list for both
    missing = [m for m in _EPSILONS if not any(o.startswith((f"{m}=", f"{m}.v")) for o in given)]
    return [*given, *(f"{m}={_EPSILONS[m]}" for m in missing)]
