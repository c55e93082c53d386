"""The command line: the same engine as the pages, on one word, a sentence or a file.

Every command prints a table for a person, or with `--json` one JSON object whose fields are
stable. A refused input is one sentence on standard error and exit code 2, never a traceback. Each
room brings its own commands.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence

from dpcore import __version__
from dpcore.errors import DpcoreError


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command.

    Returns:
        0, or 1 where `doctor` finds a fault, or 2 for a refused input, or 130 after an interrupt.
    """
    options = _parser().parse_args(arguments)
    try:
        return int(options.handler(options))
    except DpcoreError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("stopped", file=sys.stderr)
        return 130
    except BrokenPipeError:  # the reader of a pipe went away, which is its right
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0


def _parser() -> argparse.ArgumentParser:
    from dpcore.cli import (
        attack,
        audit,
        autoencoder,
        doctor,
        language,
        lexicon,
        mechanisms,
        privatize,
        rewrite,
        robust,
        study,
        utility,
    )
    from dpcore.cli import deniability as measure

    parser = argparse.ArgumentParser(
        prog="python -m dpcore", description="Word-level differential privacy from the shell."
    )
    parser.add_argument("--version", action="version", version=f"dpcore {__version__}")
    commands = parser.add_subparsers(required=True, metavar="command")
    private = (mechanisms, rewrite, privatize, measure)
    judged = (audit, attack, language, utility, robust, autoencoder, study)
    for room in (*private, *judged, lexicon, doctor):
        room.register(commands)
    return parser
