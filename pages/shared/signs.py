"""Signs for the status of a guarantee, the same on every page."""

from __future__ import annotations

from dpcore.audit.verdict import Outcome
from dpcore.guarantee import Status

SIGNS: dict[str, str] = {
    Status.PROVED: "✔",
    Status.CERTIFIED: "◉",
    Status.CONDITIONAL: "?",
    Status.REFUTED: "✘",
    Outcome.CHECKED: "◉",
    Outcome.DISAGREES: "⚠",
    Outcome.NOT_REFUTED: "○",
}
"""Status of a guarantee or outcome of an audit -> its sign; both can be proved or refuted."""
