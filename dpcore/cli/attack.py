"""The command `attack`: two words and who tells them apart, or one output and what it tells."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dpcore.cli import attack_output as output_cli
from dpcore.cli.mechanisms import common_options, print_json, seed_option
from dpcore.cli.word_options import head, parse_epsilons, prepare
from dpcore.errors import ParameterError

if TYPE_CHECKING:
    import argparse

    from dpcore.attack.output.compare import Comparison
    from dpcore.cli.mechanisms import Commands

_DIRECTIONS = 400


def register(commands: Commands) -> None:
    """Add the command; the handler takes the parsed arguments and returns an exit code."""
    command = commands.add_parser(
        "attack", help="what an attacker learns from one output, or about two words"
    )
    about = command.add_mutually_exclusive_group(required=True)
    about.add_argument("--words", metavar="A,B", help="two different words to be told apart")
    about.add_argument("--output", metavar="WORD", help="one released word")
    command.add_argument(
        "--mechanism", action="append", required=True, help="a name from `mechanisms`; repeatable"
    )
    command.add_argument(
        "--epsilon",
        action="append",
        required=True,
        help="a number, a list 1,2,5 or a geometric grid LOW:HIGH:COUNT; MECHANISM=LIST for one "
        "of several mechanisms; repeatable",
    )
    command.add_argument(
        "--set",
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="a parameter, of every mechanism named that has it; may be repeated",
    )
    command.add_argument("--runs", type=int, default=1000, help="R of Sw (default 1000)")
    output_cli.options_of(command)
    seed_option(command, "of whatever is measured by drawing (default 0)")
    common_options(command)
    command.set_defaults(handler=_attack, corpus=None, sample=None, at_most=None, text_column=None)


def _attack(options: argparse.Namespace) -> int:
    if options.output is not None:
        return output_cli.attack(options)
    from dpcore.attack.output.compare import compare
    from dpcore.cli.terminal import progress_bars
    from dpcore.measure.pair import Pair
    from dpcore.mechanisms.additive.shared import SharedDirections
    from dpcore.mechanisms.law import Effort

    with progress_bars() as progress:
        mechanisms, selection = prepare(options, options.mechanism, progress)
        if len(selection) != 2:
            raise ParameterError(f"--words takes two different words, got {len(selection)}")
        grids = parse_epsilons(options.epsilon, mechanisms)
        pair = Pair.of(mechanisms[0].lexicon, *selection.names)
        shared = SharedDirections(Effort(_DIRECTIONS))
        found = []
        for done, (mechanism, grid) in enumerate(zip(mechanisms, grids, strict=True)):
            values = mechanism.check_epsilons(grid)
            progress("mechanisms", done, len(mechanisms))
            seed = options.seed or 0
            one = compare(mechanism, pair, values, shared, runs=options.runs, seed=seed)
            found.append(one)
        progress("mechanisms", len(mechanisms), len(mechanisms))
    if options.json:
        result = head(options, pair.lexicon, selection) | {
            "distance": pair.distance,
            "directions": _DIRECTIONS,
            "rows": [row for one in found for row in one.rows()],
        }
        print_json(result)
    else:
        _print(found)
    return 0


def _print(found: list[Comparison]) -> None:
    pair = found[0].pair
    print(f"{pair.names[0]} and {pair.names[1]}: {pair.distance:.4f} apart")
    for one in found:
        print(f"\n{one.mechanism}: {one.detail}")
        print(f"{'ε':>10}  {'word':<16}{'Nw':>7} {'Sw':>8} {'distance':>9}"
              f"  {'or its nearest?':<17}{'or the other?':<17}{'promised':>9}")  # fmt: skip
        for row in one.rows():
            ranges = [
                f"{row[f'{name}_low']:.3f} to {row[f'{name}_high']:.3f}"
                for name in ("attack_nearest", "attack")
            ]
            print(
                f"{row['epsilon']:>10.4g}  {row['word'][:15]:<16}{row['nw']:>7.4f} "
                f"{row['sw']:>8.1f} {row['output_distance']:>9.4f}  {ranges[0]:<17}"
                f"{ranges[1]:<17}{row['attack_bound']:>9.4f}"
            )
