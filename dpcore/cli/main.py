"""The command line: the same engine as the pages, on one word, a sentence or a file.

Every command prints a table for a person, or with `--json` one JSON object whose fields are
stable. A refused input is one sentence on standard error and exit code 2, never a traceback.
"""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Sequence
from typing import Any

import click

from dpcore.cli.printer import note
from dpcore.cli.shell import Commands
from dpcore.errors import DpcoreError

_PLUGIN_WARNING = "PluginWarning"  # by its name: the mechanisms are loaded when they are needed
PROGRAM = "python -m dpcore"
COMMANDS = Commands(
    (
        "mechanisms", "distribution", "path", "calibrate", "rewrite", "write", "redact",
        "privatize", "deniability", "solve", "meter", "tradeoff", "compose", "neighbours",
        "density", "map", "appendix-c", "audit", "attack", "language", "utility", "robust",
        "autoencoder", "study", "benchmark", "lexicon", "doctor",
    ),
    "Word-level differential privacy from the shell.",
)  # fmt: skip


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command.

    Args:
        arguments: as the shell gives them; those of this process if left out.

    Returns:
        0, or 1 where `doctor` finds a fault, or 2 for a refused input, or 130 after an interrupt.
    """
    given = sys.argv[1:] if arguments is None else list(arguments)
    with warnings.catch_warnings():
        _say_plainly()
        return _run(given)


def _say_plainly() -> None:
    """A mechanism of another package that is left out is a line, and not one of our source."""
    shown = warnings.showwarning

    def show(message: Warning | str, category: type[Warning], *more: Any, **options: Any) -> None:
        if category.__name__ == _PLUGIN_WARNING:
            note(f"warning: {message}")
        else:
            shown(message, category, *more, **options)

    warnings.showwarning = show


def _run(given: list[str]) -> int:
    try:
        # Not `Commands.main`: it turns interrupts and broken pipes into exit codes of its own.
        with COMMANDS.make_context(PROGRAM, given) as context:
            return int(COMMANDS.invoke(context))
    except click.exceptions.Exit as end:  # --help and --version
        return end.exit_code
    except click.UsageError as error:
        note(f"error: {_sentence(error)}")
        return 2
    except DpcoreError as error:
        note(f"error: {error}")
        return 2
    except KeyboardInterrupt as stop:
        note("; ".join(["stopped", *map(str, stop.args)]))
        return 130
    except BrokenPipeError:  # the reader of a pipe went away, which is its right
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0


def _sentence(error: click.UsageError) -> str:
    """What click refuses, on one line, and where to read what is allowed."""
    text = " ".join(error.format_message().split()).rstrip(".")
    path = error.ctx.command_path if error.ctx else PROGRAM
    return f"{text} (`{path} --help` says what it takes)"
