"""The command `deniability`; also `solve`, `neighbours`, `density`, `map` and `appendix-c`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dpcore.cli import appendix_c as appendix_c_cli
from dpcore.cli import density as density_cli
from dpcore.cli import map as map_cli
from dpcore.cli import solve as solve_cli
from dpcore.cli.mechanisms import print_json
from dpcore.cli.word_options import head, measuring_options, parse_epsilons, prepare
from dpcore.errors import ParameterError

if TYPE_CHECKING:
    import argparse
    from collections.abc import Sequence

    from dpcore.cli.mechanisms import Commands
    from dpcore.measure.deniability import Deniability


def register(commands: Commands) -> None:
    """Add the commands; each handler takes the parsed arguments and returns an exit code."""
    command = commands.add_parser(
        "deniability", help="Nw, Sw and the effective number 1/Σp² of outputs of words"
    )
    measuring_options(command)
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
    command.add_argument("--out", type=Path, metavar="FILE", help="write the JSON to this file")
    command.set_defaults(handler=_deniability)

    solve_cli.register(commands)
    density_cli.register(commands)
    appendix_c_cli.register(commands)
    map_cli.register(commands)


def _deniability(options: argparse.Namespace) -> int:
    from dpcore.cli.terminal import progress_bars
    from dpcore.measure.deniability import choose_method, measure
    from dpcore.measure.summary import summary_rows

    with progress_bars() as progress:
        mechanisms, selection = prepare(options, options.mechanism, progress)
        grids = parse_epsilons(options.epsilon, mechanisms)
        for mechanism in mechanisms:
            choose_method(mechanism, options.method)
        found = [
            measure(
                mechanism,
                selection,
                epsilons,
                method=options.method,
                runs=options.runs,
                seed=options.seed or 0,
                progress=progress,
            )
            for mechanism, epsilons in zip(mechanisms, grids, strict=True)
        ]
    if options.json or options.out:
        result = head(options, mechanisms[0].lexicon, selection) | {
            "mechanisms": [
                {
                    "mechanism": mechanism.key,
                    "parameters": mechanism.settings(),
                    "method": str(one.method),
                    "detail": one.figures.detail,
                    "numerical_error": one.figures.numerical_error,
                }
                for mechanism, one in zip(mechanisms, found, strict=True)
            ],
            "rows": [row for one in found for row in one.rows()],
            "summary": [row for one in found for row in summary_rows(one)],
        }
        if options.out:
            _write(options.out, result)
        if options.json:
            print_json(result)
    if not options.json:
        _print_tables(found)
    return 0


def _write(path: Path, result: dict[str, Any]) -> None:
    from dpcore.lexicon.cache import write_text

    try:
        write_text(path, json.dumps(result, ensure_ascii=False, allow_nan=False) + "\n")
    except OSError as error:
        raise ParameterError(f"cannot write {path}: {error.strerror}") from None


def _print_tables(found: Sequence[Deniability]) -> None:
    from dpcore.measure.summary import summarise
    from dpcore.plots.layout import probability_text

    selection = found[0].selection
    print(f"{selection.description}: {len(selection):,} words, R = {found[0].runs:,}")
    if selection.tokens:
        print(
            f"{selection.tokens:,} tokens, of which {selection.unknown:,} outside the vocabulary "
            "are not measured"
        )
    for one in found:
        nw, sw, effective = (summarise(one, q) for q in ("nw", "sw", "effective"))
        print(f"\n{one.mechanism}: {one.method} ({one.figures.detail})")
        print(f"{'ε':>10}  {'mean Nw, 95 % interval':<26} {'± sd':>7} {'median':>8} {'worst':>8} "
              f"{'':16}{'Sw mean ± sd':>17} {'median':>7} {'effective':>10}")  # fmt: skip
        for e, epsilon in enumerate(one.epsilons):
            worst = selection.names[int(nw.worst_word[e])][:14]
            print(
                f"{epsilon:>10.4g}  "
                f"{probability_text(nw.mean[e], nw.mean_low[e], nw.mean_high[e]):<26} "
                f"{nw.deviation[e]:>7.2g} {nw.median[e]:>8.2g} {nw.worst[e]:>8.2g} {worst:<16}"
                f"{sw.mean[e]:>8.1f} ± {sw.deviation[e]:<6.1f} {sw.median[e]:>7.1f} "
                f"{effective.median[e]:>10.1f}"
            )
