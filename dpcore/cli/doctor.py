"""The command `doctor`: whether everything that the laboratory needs is there and works."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING

from dpcore import __version__
from dpcore.cli.mechanisms import print_json

if TYPE_CHECKING:
    import argparse

    from dpcore.cli.mechanisms import Commands

_MARKS = {"good": "ok", "optional": "--", "bad": "!!"}


def register(commands: Commands) -> None:
    """Add the command; its handler returns 1 if something that is needed is missing or wrong."""
    command = commands.add_parser("doctor", help="look whether everything is there and works")
    command.add_argument("--json", action="store_true", help="print one JSON object")
    command.set_defaults(handler=_doctor)


def _doctor(options: argparse.Namespace) -> int:
    from dpcore.cli.doctor_checks import State, examine

    findings = examine()
    bad = sum(one.state == State.BAD for one in findings)
    if options.json:
        print_json({"version": __version__, "findings": [asdict(one) for one in findings]})
        return int(bad > 0)
    for one in findings:
        print(f"{_MARKS[one.state]} {one.name}: {one.found}")
        if one.advice:
            print(f"   {one.advice}")
    print("everything that is needed is there" if not bad else f"{bad} to be mended, marked !!")
    return int(bad > 0)
