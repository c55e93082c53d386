"""The command `solve`: which ε meets a target, or equals another mechanism."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dpcore.cli.mechanisms import print_json
from dpcore.cli.word_options import head, measuring_options, prepare
from dpcore.errors import ParameterError

if TYPE_CHECKING:
    import argparse
    from collections.abc import Sequence

    from dpcore.cli.mechanisms import Commands
    from dpcore.measure.targets import Solution
    from dpcore.mechanisms.mechanism import Mechanism


def register(commands: Commands) -> None:
    """Add the command; its handler takes the parsed arguments and returns an exit code."""
    command = commands.add_parser(
        "solve", help="which epsilon meets a target, or equals another mechanism's mean Nw"
    )
    measuring_options(command)
    command.add_argument("--mechanism", required=True, help="a name from `mechanisms`")
    goal = command.add_mutually_exclusive_group(required=True)
    goal.add_argument("--nw-at-most", type=float, metavar="X", help="probability that a word stays")
    goal.add_argument("--sw-at-least", type=float, metavar="Y", help="distinct outputs in R runs")
    goal.add_argument("--effective-at-least", type=float, metavar="Z", help="effective number")
    goal.add_argument(
        "--as", dest="like", metavar="MECHANISM=EPSILON", help="equal mean Nw to this mechanism"
    )
    command.add_argument("--over", default="mean", choices=("mean", "median", "worst"))
    command.set_defaults(handler=_solve)


def _solve(options: argparse.Namespace) -> int:
    from dpcore.cli.terminal import progress_bars
    from dpcore.measure.targets import Target, calibrate, solve

    names = [options.mechanism]
    value = ""
    if options.like is not None:
        name, equals, value = options.like.rpartition("=")
        if not equals:
            raise ParameterError(f"--as takes MECHANISM=EPSILON, got {options.like[:60]!r}")
        names.append(name)
    bounds = {
        "nw": options.nw_at_most,
        "sw": options.sw_at_least,
        "effective": options.effective_at_least,
    }
    targets = [Target(q, bound, options.over) for q, bound in bounds.items() if bound is not None]
    common: dict[str, Any] = {
        "method": options.method, "runs": options.runs, "seed": options.seed or 0
    }  # fmt: skip
    with progress_bars() as progress:
        mechanisms, selection = prepare(options, names, progress)
        if targets:
            found = solve(mechanisms[0], selection, targets[0], progress=progress, **common)
        else:
            epsilon = mechanisms[-1].check_epsilon(value)  # type: ignore[arg-type]
            found = calibrate(
                mechanisms[-1], epsilon, mechanisms[0], selection, progress=progress, **common
            )
    if options.json:
        print_json(head(options, mechanisms[0].lexicon, selection) | _solution(mechanisms, found))
        return 0
    _print_solution(mechanisms[0], found)
    return 0


def _solution(mechanisms: Sequence[Mechanism], found: Solution) -> dict[str, Any]:
    return {
        "mechanism": mechanisms[0].key,
        "parameters": mechanisms[0].settings(),
        "target": str(found.target),
        "method": str(found.method),
        "standard_error": found.error,
        "certain": None if found.certain is None else [list(part) for part in found.certain],
        "searched": [float(found.epsilons[0]), float(found.epsilons[-1])],
        "crossings": list(found.crossings),
        "intervals": [
            {
                "low": part.low,
                "high": part.high,
                "low_is_crossing": part.low_is_crossing,
                "high_is_crossing": part.high_is_crossing,
            }
            for part in found.intervals
        ],
    }


def _print_solution(mechanism: Mechanism, found: Solution) -> None:
    print(f"{mechanism.title}, {found.target} ({found.method}):")
    for part in found.intervals:
        low = "" if part.low_is_crossing else " (where the search began)"
        high = "" if part.high_is_crossing else " (where the search ended)"
        print(f"  from ε = {part.low:.6g}{low} to {part.high:.6g}{high}")
    if not found.intervals:
        print(f"  nowhere from ε = {found.epsilons[0]:.4g} to {found.epsilons[-1]:.4g}")
    if found.certain is not None and found.error > 0:
        parts = [f"ε = {low:.6g} to {high:.6g}" for low, high in found.certain]
        print(f"  for certain, at the level of 95 %: {'; '.join(parts) or 'nowhere'}")
