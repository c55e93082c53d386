"""The link of a view and the command that prints its numbers."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING

import streamlit as st

from pages.shared import link
from pages.shared.messages import note

if TYPE_CHECKING:
    from dpcore.mechanisms.mechanism import Mechanism


def show_line(line: str) -> None:
    """Draw a line to be copied: a link, a command, or a text as it is.

    Args:
        line: shown letter by letter, whatever stands in it.
    """
    st.code(line, language=None, wrap_lines=True)


def show_link() -> None:
    """Draw the link of the present view, under a title of its own."""
    st.header("Link", anchor=False)
    show_line(link.permalink())


def link_and_command(command: str | None, contents: str, *, typed: bool) -> None:
    """Draw the link of the present view and a command, folded away.

    Args:
        command: the command line; None for a view without one.
        contents: what the command prints, or where else its numbers are; fixed Markdown of ours.
        typed: whether the view shows what a person typed, which the link leaves out.
    """
    with st.expander("Link and command"):
        show_line(link.permalink())
        if typed:
            note(
                "What you typed is not in the link: whoever opens it sees what a fresh visit "
                "begins with in its place."
            )
        if command is not None:
            show_line(command)
        note(contents)


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
