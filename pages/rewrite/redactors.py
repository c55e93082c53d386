"""Redactors beside the mechanisms: their choice, and their rows in the grid.

None is chosen at first, so that the model of a redactor is loaded only on request.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pandas as pd
import streamlit as st

from dpcore.errors import DpcoreError
from dpcore.rewrite.redact.entities import ENTITIES, INSTALL, is_installed
from dpcore.rewrite.redact.redaction import NO_PROMISE, REDACTORS, Redaction, redactor_of
from pages.shared.language import later, say
from pages.shared.messages import note, refuse
from pages.shared.session import Bench

_CHOSEN = "redactors"
KINDS = (
    later("e-mail"), later("web"), later("iban"), later("card"), later("social security"),
    later("ip"), later("date"), later("time"), later("money"), later("phone"), later("number"),
    later("name"), later("bank account"), later("building number"), later("city"),
    later("drivers license"), later("email"), later("given name"), later("government id"),
    later("passport"), later("routing number"), later("secondary address"), later("street name"),
    later("surname"), later("tax id"), later("url"), later("zip code"),
)  # fmt: skip
"""Labels of blocks: the kinds of the rules, then those of the model."""
_LONGER = {"state": later("federal state")}
"""Longer labels for kinds whose name alone is ambiguous."""


def choose_redactors() -> tuple[str, ...]:
    """Draw the choice in the sidebar and return the chosen names; they are part of the link."""
    with st.sidebar:
        st.subheader(say("Redactors, for comparison"), anchor=False)
        offered = [each for each in REDACTORS if each is not ENTITIES or is_installed()]
        lines = "\n".join(
            f"- **{each.name}**: {say(each.title)}. {say(each.summary)}." for each in offered
        )
        explained = say(
            "Redactors: software that blacks out parts of a text before it is shared. A "
            "redactor is not a private mechanism: it has no guarantee, and whatever it misses "
            "stays."
        )
        names = st.pills(
            say("What a redactor would do"),
            # Names and not titles: the field writes its options into the link, which is the same in
            # all languages.
            [each.name for each in offered],
            selection_mode="multi",
            key=_CHOSEN,
            bind="query-params",
            help=f"{explained}\n\n{lines}",
        )
        if ENTITIES not in offered:
            note(
                say(
                    "A redactor with a named-entity model can be added by installing its "
                    "optional packages on this server: `{install}`.",
                    install=INSTALL,
                )
            )
    # In the order of the list, whatever the order of the clicks or of the link.
    return tuple(each.name for each in offered if each.name in names)


def redact_all(bench: Bench, text: str, redactors: Sequence[str]) -> list[Redaction]:
    """Return the redactions of the chosen redactors; the page says why one cannot be loaded."""
    redactions = []
    for name in redactors:
        try:
            # No spinner for a cached result: it would flash in every run of the page.
            if bench.has_redaction(name):
                redactions.append(bench.redaction(text, name))
                continue
            with st.spinner(say("Looking for personal data…")):
                redactions.append(bench.redaction(text, name))
        except DpcoreError as error:
            refuse(say("This redactor could not read the text."), error)
    return redactions


def redactor_group(redactions: Sequence[Redaction]) -> dict[str, Any]:
    """Return the rows of the redactors, as one more group of the grid."""
    return {
        "title": say("Redactors"),
        "epsilon": say(NO_PROMISE),
        "rows": [_row(redaction) for redaction in redactions],
    }


def _row(redaction: Redaction) -> dict[str, Any]:
    redactor = redactor_of(redaction.redactor)
    return {
        "key": f"redactor-{redactor.name}",
        "title": say(redactor.title),
        "glyph": "■",
        "colour": "inherit",
        "count": say(
            "{left} of {words} words stay as they are",
            left=redaction.left,
            words=len(redaction.words),
        ),
        "tokens": _tokens(redaction),
        "status": {"kind": "none", "icon": "–", "label": say("no guarantee"), "line": ""},
        "promise": [
            [say("How it works"), say(redactor.summary) + "."],
            [
                say("Guarantee"),
                say(
                    "Nothing. Words that are not blacked out are released as they were written, "
                    "and so is personal data that it did not find; a few ordinary words are often "
                    "enough to know a text again."
                ),
            ],
        ],
    }


def _tokens(redaction: Redaction) -> list[dict[str, str]]:
    """Split the text into kept pieces and blocks; each block names the kind of its span."""
    tokens: list[dict[str, str]] = []
    done = 0
    for span in redaction.spans:
        tokens += [
            {"text": redaction.text[done : span.start], "role": "left"},
            {"text": say(_LONGER.get(span.kind, span.kind)), "role": "block"},
        ]
        done = span.end
    tokens.append({"text": redaction.text[done:], "role": "left"})
    # Between adjacent spans, and at the ends of the text, the kept piece is empty.
    return [token for token in tokens if token["text"]]


def spans_table(redactions: Sequence[Redaction]) -> pd.DataFrame:
    """Return one row per redacted span."""
    rows = [
        {
            "redactor": redaction.redactor,
            **span._asdict(),
            "text": redaction.text[span.start : span.end],
        }
        for redaction in redactions
        for span in redaction.spans
    ]
    return pd.DataFrame(rows, columns=["redactor", "start", "end", "kind", "text"])
