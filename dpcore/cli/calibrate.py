"""The command `calibrate`: the certificate of a mechanism on a lexicon."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from dpcore.cli.terminal import progress_bars
from dpcore.errors import ParameterError
from dpcore.mechanisms.certificate import write_certificate

if TYPE_CHECKING:
    import argparse

    from dpcore.cli.mechanisms import Commands


def register(commands: Commands) -> None:
    """Add the command; its handler takes the parsed arguments and returns an exit code."""
    from dpcore.cli.mechanisms import mechanism_options

    command = commands.add_parser(
        "calibrate", help="compute with how little noise a mechanism keeps its ε on a lexicon"
    )
    mechanism_options(command, epsilon=False)
    command.add_argument("--again", action="store_true", help="compute it even if it is known")
    command.add_argument(
        "--file", type=Path, metavar="JSON", help="also enter the certificate in this file"
    )
    command.set_defaults(handler=_calibrate)


def _calibrate(options: argparse.Namespace) -> int:
    from dpcore.cli.mechanisms import build, describe, print_json

    asked = build(options)
    mechanism = asked.calibrated
    if mechanism is None:
        raise ParameterError(
            f"{asked.short} has no certificate; tem-calibrated and truncated-gumbel-repaired "
            "have one"
        )
    found = None if options.again else mechanism.certificate
    if found is None:
        with progress_bars() as progress:
            found = mechanism.calibrate(progress)
    if options.file is not None:
        provenance: dict[str, Any] = {
            "lexicon": mechanism.lexicon.name,
            "command": f"{mechanism.calibrate_command} --again",
            "columns": ["certified epsilon", "strength in 1/distance"],
        }
        write_certificate(
            options.file,
            mechanism.lexicon.fingerprint,
            mechanism.key,
            mechanism.settings(),
            found,
            provenance | {"version": describe(mechanism)["version"]},
        )
    rows = [
        {
            "epsilon": epsilon,
            "strength": strength,
            "proved_strength": mechanism.proved_strength(epsilon),
        }
        for epsilon, strength in found.to_json()
    ]
    if options.json:
        print_json(describe(mechanism) | {"certificate": rows})
        return 0
    print(f"{mechanism.title} on {mechanism.lexicon.name}: noise certified at ε")
    print(f"{'ε':>10} {'strength':>10} {'proved':>10}")
    for row in rows:
        print(f"{row['epsilon']:>10.5g} {row['strength']:>10.5g} {row['proved_strength']:>10.5g}")
    return 0
