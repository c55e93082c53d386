"""The link of a view and the command that prints its numbers."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING

import streamlit as st

if TYPE_CHECKING:
    from dpcore.mechanisms.mechanism import Mechanism


def show_line(line: str) -> None:
    """Draw a line to be copied: a link, a command, or a text as it is.

    Args:
        line: shown letter by letter, whatever stands in it.
    """
    st.code(line, language=None, wrap_lines=True)


def command_line(*words: str) -> str:
    """A command of the engine, each word quoted where a shell would take it apart."""
    return shlex.join(("python", "-m", "dpcore", *words))


def mechanism_words(mechanism: Mechanism, epsilon: float) -> list[str]:
    """The options that name a mechanism with those settings that are not the usual ones, and ε."""
    words = ["--mechanism", mechanism.key, "--epsilon", repr(epsilon)]
    declared = mechanism.parameters()
    for name, value in mechanism.settings().items():
        if value != declared[name]["default"]:
            words += ["--set", f"{name}={value}"]
    return words


def python_beginning(mechanism: Mechanism, lexicon: str) -> list[str]:
    """First lines of a Python cell: `lexicon`, and `mechanism` with its settings.

    Args:
        mechanism: which.
        lexicon: its name in the catalogue.
    """
    words = "dp.lexicon()" if lexicon == "default" else f"dp.lexicon({lexicon!r})"
    declared = mechanism.parameters()
    given = "".join(
        f", {name}={value!r}"
        for name, value in mechanism.settings().items()
        if value != declared[name]["default"]
    )
    return [
        "import dpcore as dp",
        "",
        f"lexicon = {words}",
        f"mechanism = dp.mechanism({mechanism.short!r}, lexicon{given})",
    ]
