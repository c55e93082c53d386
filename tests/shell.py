"""Helpers of the tests of the command line: running a command, and a small vector file."""

import json
from pathlib import Path
from typing import Any

import click
import numpy as np
import pytest

from dpcore.cli.main import COMMANDS, main


def run(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    """Exit code, standard output and standard error of a command."""
    code = main(arguments)
    captured = capsys.readouterr()
    return code, captured.out, captured.err


def result(capsys: pytest.CaptureFixture[str], *arguments: str) -> dict[str, Any]:
    """The JSON object that a command prints; JSON has neither infinities nor NaN."""
    code, out, err = run(capsys, *arguments, "--json")
    assert code == 0, err
    return json.loads(out, parse_constant=lambda name: pytest.fail(f"{name} is not JSON"))


def accepted(arguments: list[str]) -> dict[str, Any]:
    """The values of the options of a command line that is read and not run.

    Raises:
        click.UsageError: it is refused.
    """
    command: click.Command = COMMANDS
    names, rest = [], list(arguments)
    while isinstance(command, click.Group):
        names.append(rest.pop(0))
        action = command.get_command(click.Context(command), names[-1])
        assert action is not None, names
        command = action
    return command.make_context(" ".join(names), rest).params


def small_vectors(path: Path) -> str:
    """Write 300 words in 8 dimensions as word2vec text; any vector file serves as a lexicon."""
    rows = np.random.default_rng(0).standard_normal((300, 8))
    words = ["weather", "terrible", "doctor", *(f"word{i}" for i in range(297))]
    lines = [
        f"{w} " + " ".join(f"{x:.4f}" for x in row) for w, row in zip(words, rows, strict=True)
    ]
    path.write_text("300 8\n" + "\n".join(lines) + "\n", encoding="utf-8")
    return str(path)
