"""The command `write`: a new text in the place of a private one, by a language model."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from click import Choice, option

from dpcore import __version__
from dpcore.cli import shared
from dpcore.cli.printer import Answer, table
from dpcore.cli.rewrite import promises
from dpcore.cli.shell import Options, command, one_of
from dpcore.limits import MAX_WRITTEN_TOKENS
from dpcore.rewrite.write.scores import FORMS
from dpcore.rewrite.write.writers import WRITERS, write

if TYPE_CHECKING:
    from dpcore.rewrite.write.writer import Writing

_LOOK = "the laws and losses are for looking: they tell of the private text without noise"


@command("write")
@option(
    "--mechanism",
    required=True,
    type=Choice([writer.name for writer in WRITERS]),
    help="what draws the tokens",
)
@option(
    "--form",
    default=FORMS[0],
    type=Choice(FORMS),
    help="a temperature of 2Δ/ε, the one at which the bound on the loss of a token is ε, or "
    "randomised response on what the model draws",
)
@option("--epsilon", required=True, type=float, help="of a token")
@shared.number(
    "--tokens",
    None,
    "how many are drawn: a public number, never taken from the text  [default: 30 of dp-prompt; of "
    "dp-masked the words of the text, whose number is told]",
    least=1,
    most=MAX_WRITTEN_TOKENS,
)
@one_of(
    {
        "--text": {"help": "the text itself"},
        "--file": {"help": "a UTF-8 text file; - reads standard input"},
    }
)
@shared.seed_option(
    "makes the run an experiment that can be repeated; never release its output", None
)
@option("--law", is_flag=True, help="show each token's probability and the likeliest ones")
@option("--against", metavar="TEXT", help="how far the output tells the text from this one")
def write_command(options: Options) -> Answer:
    """Write a new text from a private one, drawing every token."""
    text = shared.read_text(options.file) if options.text is None else options.text
    writing = write(
        text,
        options.mechanism,
        epsilon=options.epsilon,
        tokens=options.tokens,
        form=options.form,
        seed=options.seed,
        progress=options.progress,
    )
    composed = writing.composed()
    losses = None if options.against is None else writing.losses(options.against).tolist()
    rows = [
        {
            "token": token.text,
            "probability": token.probability,
            "likeliest": [{"token": name, "probability": p} for name, p in token.likeliest],
        }
        for token in writing.tokens
    ]
    notes = promises(composed, options.seed)
    if losses is not None:
        notes.append(
            f"This output is e^{sum(losses):.4g} times as likely after this text as after the "
            "other one."
        )
    if options.law or losses is not None:
        notes.append(_LOOK)
    return Answer(
        {
            "mechanism": options.mechanism,
            "form": options.form,
            "version": __version__,
            "epsilon": writing.epsilon,
            "tokens": len(writing.tokens),
            "draw": writing.draw.settings,
            "text": writing.text,
            "guarantee": composed.guarantee.to_dict(),
            "whole_text": composed.guarantee.for_tokens(composed.words),
            "composed": composed.to_dict(),
            "experiment": options.seed is not None,
            "law": rows if options.law else None,
            "losses": losses,
        },
        _lines(writing, options.law),
        notes,
    )


def _lines(writing: Writing, law: bool) -> Iterator[str]:
    yield writing.text
    if not law:
        return
    yield ""
    rows = [
        {
            "token": repr(token.text),
            "probability": token.probability,
            "likeliest": ", ".join(f"{name!r} {p:.3g}" for name, p in token.likeliest),
        }
        for token in writing.tokens
    ]
    yield from table("{token:<16} {probability:>11.3g} {likeliest:<}", rows)
