"""Command line: the same engine as the pages, on one word, a sentence or a file.

Every command prints a table for a person, or with `--json` one JSON object whose fields are
stable. A refused input is one sentence on standard error and exit code 2, never a traceback. A
system that is out of disk space or of memory also gives one sentence, and exit code 1.
"""

from __future__ import annotations

import contextlib
import sys
import warnings
from collections.abc import Sequence
from typing import Any

import click

from dpcore.cli.printer import FAILED, OutputError, flush_output, lossless_output, note
from dpcore.cli.shell import Commands
from dpcore.errors import DpcoreError

_PLUGIN_WARNING = "PluginWarning"  # by its name: the mechanisms are loaded when they are needed
PROGRAM = "python -m dpcore"
COMMANDS = Commands(
    {
        "mechanisms": ("mechanisms", "List mechanisms and their parameters."),
        "distribution": ("words", "Law of the outputs of one word."),
        "path": ("words", "One noise draw, read at every ε."),
        "calibrate": ("mechanisms", "Certify a mechanism on a vocabulary."),
        "rewrite": ("texts", "Rewrite a sentence or a file under a mechanism."),
        "write": ("texts", "Write a new text for a private one with a language model."),
        "redact": ("texts", "Black out personal data as ordinary redactors do."),
        "privatize": ("privatize", "Make a private copy of a corpus."),
        "count": ("crowd", "Estimate from private texts how often words were in the originals."),
        "plan": ("crowd", "Plan a count: how many texts, which leakage, which error."),
        "deniability": ("words", "Measure Nw and Sw: how deniable words are."),
        "solve": ("words", "Find the ε that meets a target or matches another mechanism."),
        "meter": ("leakage", "Bound the leakage and the distance of any mechanism at ε."),
        "leak": ("leakage", "Say how many words someone guesses, before and after."),
        "tradeoff": ("leakage", "Measure leakage against remaining meaning."),
        "compose": ("texts", "Privacy loss between two whole texts, by position and in total."),
        "neighbours": ("words", "List the nearest words of a word."),
        "density": ("words", "Measure how crowded the space is around words."),
        "map": ("lexicon", "Build and list maps of a vocabulary."),
        "appendix-c": (
            "audit",
            "Compare the formulas of Xu et al. 2021, Appendix C, with exact values.",
        ),
        "audit": ("audit", "Audit a mechanism, a function, a published claim, or all claims."),
        "attack": ("attack", "Attack one output, a pair of words, a text or its author."),
        "persons": ("texts", "Measure which facts about persons a release leaves."),
        "language": ("language", "Describe and rebuild the language model of the attackers."),
        "utility": ("study", "Train classifiers on private text, ours or yours."),
        "robust": ("robust", "Certify and attack classifiers whose input words change."),
        "autoencoder": ("autoencoder", "Train a network on public text, rewrite private text."),
        "study": ("study", "List recorded studies, and record them again."),
        "reproduce": ("study", "Run the commands behind documented numbers, and compare."),
        "benchmark": ("benchmark", "Compare all mechanisms at equal leakage."),
        "lexicon": ("lexicon", "List, describe, build, add, fetch and train vocabularies."),
        "doctor": ("doctor", "Check that everything the laboratory needs is installed and works."),
    },
    "Word-level differential privacy from the shell.",
)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command.

    Args:
        arguments: as the shell gives them; those of this process if left out.

    Returns:
        0; 1 where `doctor` finds a fault or `reproduce` a number that differs, the system fails or
        the answer cannot be written; 2 for a refused input; 3 where a result is published and a
        part of it could not be written; 130 after an interrupt.
    """
    given = sys.argv[1:] if arguments is None else list(arguments)
    with warnings.catch_warnings(), lossless_output():
        _say_plainly()
        try:
            # With the flush inside: a full disk shows only when the buffer is written, and Python
            # would report it after the exit code is set.
            code = _run(given)
            flush_output()
        except BrokenPipeError:  # the reader of a pipe went away, which is its right
            return 0
        except OutputError as error:  # of --help
            note(f"error: standard output cannot be written ({error})")
            return code or FAILED
        return code


def _say_plainly() -> None:
    """Show the warning about a mechanism that is left out as a line, without its source."""
    shown = warnings.showwarning

    def show(message: Warning | str, category: type[Warning], *more: Any, **options: Any) -> None:
        if category.__name__ == _PLUGIN_WARNING:
            note(f"warning: {message}")
        else:
            shown(message, category, *more, **options)

    # Undone by `catch_warnings` in `main`.
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
    # Exit code 2 as for usage: the input was refused, and another one may work.
    except DpcoreError as error:
        note(f"error: {error}")
        return 2
    except KeyboardInterrupt as stop:
        note("; ".join(["stopped", *map(str, stop.args)]))
        return 130
    # Before `OSError`, of which it is a kind; `main` ends quietly then.
    except BrokenPipeError:
        raise
    except OSError as error:  # a disk that is full, a folder that may not be read
        place = f"{error.filename}: " if error.filename else ""
        note(f"error: {place}{error.strerror or type(error).__name__}")
        # Where it is the output that failed, its buffer is still full, and would fail once more.
        with contextlib.suppress(OutputError):
            flush_output()
        return FAILED
    except MemoryError:
        note("error: there is not enough memory for this: end other programs, or ask for less")
        return FAILED


def _sentence(error: click.UsageError) -> str:
    """Return the message of click on one line, with the command that shows what is allowed."""
    # click breaks some of its messages into lines.
    text = " ".join(error.format_message().split()).rstrip(".")
    path = error.ctx.command_path if error.ctx else PROGRAM
    return f"{text} (`{path} --help` says what it takes)"
