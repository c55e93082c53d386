"""The command `solve`: which ε meets a target, or equals another mechanism."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict

from click import Choice, option

from dpcore.cli import shared
from dpcore.cli.printer import Answer
from dpcore.cli.shell import Options, command, one_of
from dpcore.measure.targets import Solution, Target, calibrate, solve
from dpcore.mechanisms.mechanism import Mechanism


@command("solve")
@shared.measuring_options
@shared.mechanism_option
@one_of(
    {
        "--nw-at-most": {"type": float, "metavar": "X", "help": "probability that a word stays"},
        "--sw-at-least": {"type": float, "metavar": "Y", "help": "distinct outputs in R runs"},
        "--effective-at-least": {"type": float, "metavar": "Z", "help": "effective number"},
        "--as like": {
            "type": shared.Pair(), "metavar": "MECHANISM=EPSILON",
            "help": "equal mean Nw to this mechanism",
        },
    }
)  # fmt: skip
@option("--over", default="mean", type=Choice(["mean", "median", "worst"]), help="of the words")
def solve_command(options: Options) -> Answer:
    """Which epsilon meets a target, or equals another mechanism's mean Nw."""
    reference, value = options.like or (options.mechanism, "")
    bounds = {
        "nw": options.nw_at_most,
        "sw": options.sw_at_least,
        "effective": options.effective_at_least,
    }
    targets = [Target(q, bound, options.over) for q, bound in bounds.items() if bound is not None]
    (mechanism, *others), selection = shared.prepare(options, [options.mechanism, reference])
    common = shared.measuring(options)
    if targets:
        solution = solve(mechanism, selection, targets[0], **common)
    else:
        other = others[0] if others else mechanism  # none, where `--as` names the mechanism itself
        epsilon = other.check_epsilon(value)  # type: ignore[arg-type]
        solution = calibrate(other, epsilon, mechanism, selection, **common)
    return Answer(
        shared.selection_fields(options, mechanism.lexicon, selection)
        | shared.settings_fields(mechanism)
        | {
            "target": str(solution.target),
            "method": str(solution.method),
            "standard_error": solution.error,
            "certain": solution.certain and [list(part) for part in solution.certain],
            "searched": [float(solution.epsilons[0]), float(solution.epsilons[-1])],
            "crossings": list(solution.crossings),
            "intervals": [asdict(part) for part in solution.intervals],
        },
        _lines(mechanism, solution),
    )


def _lines(mechanism: Mechanism, solution: Solution) -> Iterator[str]:
    yield f"{mechanism.title}, {solution.target} ({solution.method}):"
    for part in solution.intervals:
        low = "" if part.low_is_crossing else " (where the search began)"
        high = "" if part.high_is_crossing else " (where the search ended)"
        yield f"  from ε = {part.low:.6g}{low} to {part.high:.6g}{high}"
    if not solution.intervals:
        yield f"  nowhere from ε = {solution.epsilons[0]:.4g} to {solution.epsilons[-1]:.4g}"
    if solution.certain is not None and solution.error > 0:
        parts = [f"ε = {low:.6g} to {high:.6g}" for low, high in solution.certain]
        yield f"  for certain, at the level of 95 %: {'; '.join(parts) or 'nowhere'}"
