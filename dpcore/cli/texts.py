"""Commands on whole texts: `rewrite`, `redact`, `write` and `compose`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

import numpy as np
from click import Choice, option

from dpcore import __version__
from dpcore.arrays import IntArray
from dpcore.audit.composition import (
    TEXT_DELTA,
    Composition,
    composition,
    group_compositions,
)
from dpcore.audit.document import document_losses
from dpcore.cli import fields, flags
from dpcore.cli.construction import build_mechanism
from dpcore.cli.printer import Answer, table
from dpcore.cli.reading import read_text
from dpcore.cli.shell import Options, command, one_of
from dpcore.errors import ParameterError
from dpcore.lexicon.neighbours import ApproximateIndex
from dpcore.limits import (
    MAX_DRAWS,
    MAX_FILE_CHARACTERS,
    MAX_FILE_TOKENS,
    MAX_TEXT_TOKENS,
    MAX_WRITTEN_TOKENS,
)
from dpcore.mechanisms.mechanism import Mechanism
from dpcore.noise.streams import generator
from dpcore.outwards import at_most
from dpcore.rewrite.policy import Treatment, UnknownWordPolicy
from dpcore.rewrite.redact.redaction import NO_PROMISE, Redaction, redact
from dpcore.rewrite.rewritten import Rewrite
from dpcore.rewrite.sentence import Sentence, draw, prepare, release
from dpcore.rewrite.write.scores import FORMS
from dpcore.rewrite.write.writers import WRITERS, Writing, write

EXPERIMENT_NOTE = "an experiment with a fixed seed: do not release this text"


def counted(sentence: Sentence, rewritten: Rewrite) -> list[str]:
    """Describe how many words stayed, and how many are not in the vocabulary."""
    lines = [f"{rewritten.stayed:,} of {sentence.protected:,} words stayed"]
    if sentence.caution:
        return [*lines, f"warning: {sentence.caution}"]
    if sentence.unknown_words:
        lines.append(
            f"{sentence.unknown_words:,} of {sentence.read_words:,} words are not in the vocabulary"
        )
    return lines


def promises(composed: Composition, seed: int | None) -> list[str]:
    """Describe the guarantee of a word and of its text, with a warning against its release."""
    guarantee = composed.guarantee
    lines = [
        f"{guarantee.status}: {guarantee.statement}",
        guarantee.for_tokens(composed.words),
        composed.statement,
    ]
    return lines if seed is None else [*lines, EXPERIMENT_NOTE]


@command("rewrite")
@flags.one_mechanism
@flags.epsilon
@one_of(
    {
        "--text": {"help": "the text itself"},
        "--file": {"help": "a UTF-8 text file; - reads standard input"},
    }
)
@flags.seed("makes the run an experiment that can be repeated; never release its output", None)
@flags.number("--draw", 0, "which draw of the seed", least=0, most=MAX_DRAWS)
@flags.rewriting
@option(
    "--approximate-search",
    is_flag=True,
    help="release through an approximate index: faster on large lexicons, and refused where it "
    "would break the guarantee",
)
def rewrite_command(options: Options) -> Answer:
    """Rewrite a text under a mechanism."""
    treatment = Treatment(options.unknown, options.keep_stop_words, options.case)
    mechanism = build_mechanism(options)
    epsilon = mechanism.check_epsilon(options.epsilon)
    sentence = prepare(
        read_text(options.file) if options.text is None else options.text,
        mechanism.lexicon,
        treatment,
        max_characters=MAX_FILE_CHARACTERS,
        max_tokens=MAX_FILE_TOKENS,
    )
    # A seed makes noise that anyone can draw again: such a text is never a release.
    experiment = options.seed is not None
    if experiment and options.approximate_search:
        raise ParameterError(
            "--approximate-search is for releasing; a run with --seed searches exactly"
        )
    if experiment:
        drawn = draw(sentence, mechanism, options.seed, options.draw, epsilons=np.array([epsilon]))
        rewritten = drawn.at(epsilon)
    else:
        index = None
        if options.approximate_search:
            mechanism.check_search(exact=False)  # before an index is built that is not allowed
            index = ApproximateIndex(mechanism.lexicon)
        # From the operating system: noise that nobody can draw again.
        rewritten = release(sentence, mechanism, epsilon, generator(None), index=index)
    composed = composition(mechanism, epsilon, sentence.protected)
    guarantee = composed.guarantee
    groups = group_compositions(mechanism, epsilon, sentence.protected, guarantee=guarantee)
    return Answer(
        fields.of_mechanism(mechanism)
        | {
            "epsilon": epsilon,
            "tokens": [
                {
                    **fields.some(token, "input output changed in_vocabulary"),
                    "role": str(token.role),
                }
                for token in rewritten.tokens
            ],
            "text": rewritten.text,
            "guarantee": guarantee.to_dict(),
            "protected_words": sentence.protected,
            "stayed": rewritten.stayed,
            "words": sentence.read_words,
            "not_in_vocabulary": sentence.unknown_words,
            "whole_text": guarantee.for_tokens(sentence.protected),
            "composed": composed.to_dict(),
            "composed_groups": {name: part.to_dict() for name, part in groups.items()},
            "unknown_words": str(treatment.unknown_words),
            "released": list(treatment.released(sentence.encoding.language)),
            "experiment": experiment,
        },
        # The text alone on standard output, so that it can be sent to a file; all else is a note.
        [rewritten.text],
        [*counted(sentence, rewritten), *promises(composed, options.seed)],
    )


# The command `redact`: the personal data that an ordinary redactor finds, and the rest.


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
    text = read_text(options.file) if options.text is None else options.text
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


# The command `write`: a new text in the place of a private one, by a language model.


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
@flags.number(
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
@flags.seed("makes the run an experiment that can be repeated; never release its output", None)
@option("--law", is_flag=True, help="show each token's probability and the likeliest ones")
@option("--against", metavar="TEXT", help="how far the output tells the text from this one")
def write_command(options: Options) -> Answer:
    """Write a new text from a private one, drawing every token."""
    text = read_text(options.file) if options.text is None else options.text
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
        _lines_write(writing, options.law),
        notes,
    )


def _lines_write(writing: Writing, law: bool) -> Iterator[str]:
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


# The command `compose`: how far two whole texts can be told apart, by position and together.


_TABLE = "{share:>10.0%|of the sum} {total_epsilon:>10|ε of the text} {delta:>12|δ}"
_SHARES = (0.1, 0.2, 0.3, 0.4, 0.5, 0.7, 1.0)


@command("compose")
@flags.one_mechanism
@flags.epsilon
@option("--text", help="the text that is released")
@option("--other", help="another of as many words, which it might have been")
@flags.number(
    "--differing",
    None,
    "words in which any two texts may differ  [default: as many as these two do]",
    least=1,
    most=MAX_FILE_TOKENS,
)
@option("--delta", default=TEXT_DELTA, help="for which the least ε is printed")
def compose_command(options: Options) -> Answer:
    """Compose the privacy losses of two texts over their places, and of any two texts."""
    if (options.text is None) != (options.other is None):
        raise ParameterError("--text and --other are compared with each other: give both")
    if options.text is None and options.differing is None:
        raise ParameterError("give --text and --other, or --differing for any two texts")
    # Written so that NaN fails.
    if not 0 < options.delta < 1:
        raise ParameterError(f"--delta must be in (0, 1), got {options.delta}")
    mechanism = build_mechanism(options)
    epsilon = mechanism.check_epsilon(options.epsilon)
    pair: dict[str, Any] = {"delta": options.delta}
    lines: list[str] = []
    if options.text is not None:
        pair, lines = _two_texts(mechanism, epsilon, options)
    words = options.differing or pair["different"]
    worst = composition(mechanism, epsilon, words, options.delta)
    groups = group_compositions(mechanism, epsilon, words, options.delta)
    return Answer(
        fields.of_mechanism(mechanism)
        | {"epsilon": epsilon}
        | pair
        | {
            "worst": worst.to_dict(),
            "worst_groups": {name: part.to_dict() for name, part in groups.items()},
        },
        [*lines, _any_two(worst), *(_any_two(part, name) for name, part in groups.items())],
    )


def _any_two(worst: Composition, group: str = "") -> str:
    words = "1 word" if worst.words == 1 else f"{worst.words:,} words"
    within = f" of one budget ({group})" if group else ""
    return f"Of any two texts that differ in {words}{within}: {worst.statement}"


def _promised(mechanism: Mechanism, epsilon: float, first: IntArray, second: IntArray) -> float:
    """Sum the guaranteed losses of the positions in which two texts differ."""
    promise, total = mechanism.guarantee(epsilon), 0.0
    for pair in np.stack((first, second))[:, first != second].T:
        apart = mechanism.promised_distances(pair, epsilon)
        total += promise.loss(1.0 if apart is None else float(apart[0, 1]))
    return total


def _two_texts(
    mechanism: Mechanism, epsilon: float, options: Options
) -> tuple[dict[str, Any], list[str]]:
    """Return fields and lines about the two texts that were given."""
    first, second = (
        prepare(
            text,
            mechanism.lexicon,
            # Another policy would exchange an unknown word for a random one, and compare other
            # texts.
            Treatment(UnknownWordPolicy.REJECT),
            max_characters=MAX_FILE_CHARACTERS,
            max_tokens=MAX_TEXT_TOKENS,
        ).words
        for text in (options.text, options.other)
    )
    ways = [
        # Both ways: (ε, δ) is promised from each text to the other, and the losses need not be
        # equal.
        document_losses(mechanism, epsilon, *texts)
        for texts in ((first, second), (second, first))
    ]
    total = _promised(mechanism, epsilon, first, second)
    rows = [
        {
            "share": share,
            "total_epsilon": share * total,
            "delta": max(losses.delta(share * total) for losses in ways),
        }
        for share in _SHARES
    ]
    least = max(losses.epsilon(options.delta) for losses in ways)
    different = int(np.count_nonzero(first != second))
    return (
        {
            "places": int(first.size),
            "different": different,
            "sum": total,
            "mean_loss": max(losses.mean for losses in ways),
            "delta": options.delta,
            "least_epsilon": least,
            "rows": rows,
        },
        [
            f"{different} of {first.size} words differ; the losses promised for them sum to "
            f"{at_most(total)}.",
            f"Together they are (ε, δ)-indistinguishable at ε = {at_most(least)} for δ = "
            f"{options.delta:g}.",
            *table(_TABLE, map(_outwards, rows)),
        ],
    )


def _outwards(row: dict[str, float]) -> dict[str, float | str]:
    """Return a row as it is printed: both are upper bounds."""
    ends = at_most(row["total_epsilon"]), at_most(row["delta"], 3)
    return {**row, "total_epsilon": ends[0], "delta": ends[1]}
