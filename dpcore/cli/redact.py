"""The command `redact`: what an ordinary redactor blacks out of a text, and what it leaves."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import TYPE_CHECKING

from click import option

from dpcore import __version__
from dpcore.cli import shared
from dpcore.cli.printer import Answer, table
from dpcore.cli.shell import Options, command, one_of
from dpcore.rewrite.redact.redaction import NO_PROMISE, redact

if TYPE_CHECKING:
    from dpcore.rewrite.redact.redaction import Redaction


@command("redact")
@one_of(
    {
        "--text": {"help": "the text itself"},
        "--file": {"help": "a UTF-8 text file; - reads standard input"},
    }
)
@option(
    "--redactor",
    default="rules",
    help="rules, or entities: a model of named entities, an optional package",
)
def redact_command(options: Options) -> Answer:
    """Black out what a redactor takes for personal data; nothing is promised about the rest."""
    text = shared.read_text(options.file) if options.text is None else options.text
    redaction = redact(text, options.redactor)
    words = len(redaction.words)
    return Answer(
        {
            "redactor": redaction.redactor,
            "version": __version__,
            "text": redaction.blocked,
            "named": redaction.named,
            "spans": [
                {**span._asdict(), "text": text[span.start : span.end]} for span in redaction.spans
            ],
            "words": words,
            "left": redaction.left,
            "promise": None,
        },
        _lines(redaction),
        [f"{NO_PROMISE}; {redaction.left:,} of {words:,} words are released as they are"],
    )


def _lines(redaction: Redaction) -> Iterator[str]:
    yield redaction.named
    if not redaction.spans:
        return
    yield ""
    counts = Counter(span.kind for span in redaction.spans)
    rows = [{"kind": kind, "spans": count} for kind, count in counts.most_common()]
    yield from table("{kind:<20} {spans:>6}", rows)
