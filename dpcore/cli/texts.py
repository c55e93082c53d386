"""Commands on whole texts: `rewrite`, `redact`, `write`, `compose` and `persons`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from click import Choice, argument, option

from dpcore import __version__
from dpcore.arrays import IntArray
from dpcore.attack.leak import READS, STRANGERS
from dpcore.attack.persons import NOT_MEASURED, FactsLeft, facts_left
from dpcore.attack.trade.ground import BAYES
from dpcore.audit.composition import (
    TEXT_DELTA,
    Composition,
    composition,
    group_compositions,
    shuffled,
    worst_powers,
)
from dpcore.audit.document import document_losses
from dpcore.cli import fields, flags
from dpcore.cli.construction import (
    build_mechanism,
    build_mechanisms,
    epsilons_of_each,
    load_lexicon,
)
from dpcore.cli.printer import Answer, table
from dpcore.cli.reading import read_rows, read_text, reading_options
from dpcore.cli.shell import Options, command, one_of
from dpcore.errors import CorpusError, ParameterError, TextError
from dpcore.lexicon.neighbours import ApproximateIndex
from dpcore.limits import (
    MAX_BAG_WORDS,
    MAX_DRAWS,
    MAX_FILE_CHARACTERS,
    MAX_FILE_TOKENS,
    MAX_TEXT_TOKENS,
    MAX_WRITTEN_TOKENS,
)
from dpcore.mechanisms.mechanism import Mechanism
from dpcore.noise.streams import check_seed, generator
from dpcore.outwards import at_most
from dpcore.rewrite.policy import Treatment, UnknownWordPolicy
from dpcore.rewrite.redact.redaction import NO_PROMISE, Redaction, redact, redactor_of
from dpcore.rewrite.redact.spans import parse_facts
from dpcore.rewrite.rewritten import Rewrite
from dpcore.rewrite.sentence import Sentence, check_text, draw, prepare, release
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
_TESTS = "{false_positive_rate:>15|false positives} {power:>13|finds at most}"
_RATES = (0.0001, 0.001, 0.01, 0.05, 0.1, 0.2, 0.5)


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
@option(
    "--curve",
    is_flag=True,
    help="also the best test: how much it finds at each false-positive rate (f-DP)",
)
@flags.number(
    "--bag",
    None,
    "words of a shuffled bag, without order and authors, in which as many of one person are hidden",
    least=1,
    most=MAX_BAG_WORDS,
)
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
    any_two: dict[str, Any] = {}
    if options.curve:
        powers = worst_powers(mechanism, epsilon, words, _RATES).tolist()
        any_two = {"worst_tests": _test_rows(powers)}
        lines += [f"The best test between any two texts that differ in {_words(words)}:"]
        lines += table(_TESTS, map(_test_printed, any_two["worst_tests"]))
    if options.bag is not None:
        bag = shuffled(mechanism, epsilon, options.bag, words, options.delta)
        any_two["bag"] = bag.to_dict()
        lines.append(bag.statement)
    return Answer(
        fields.of_mechanism(mechanism)
        | {"epsilon": epsilon}
        | pair
        | {
            "worst": worst.to_dict(),
            "worst_groups": {name: part.to_dict() for name, part in groups.items()},
        }
        | any_two,
        [*lines, _any_two(worst), *(_any_two(part, name) for name, part in groups.items())],
    )


def _any_two(worst: Composition, group: str = "") -> str:
    within = f" of one budget ({group})" if group else ""
    return f"Of any two texts that differ in {_words(worst.words)}{within}: {worst.statement}"


def _words(count: int) -> str:
    return "1 word" if count == 1 else f"{count:,} words"


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
    tests: dict[str, Any] = {}
    tested: list[str] = []
    if options.curve:
        best = [losses.best_tests() for losses in ways]
        powers = np.max([each.power(_RATES) for each in best], axis=0).tolist()
        tests = {
            "tests": _test_rows(powers),
            "auc": max(each.auc for each in best),
            "gaussian": max(each.gaussian for each in best),
        }
        tested = [
            "The best test between the two (areas under both curves: at most "
            f"{at_most(tests['auc'])}; Gaussian μ: {at_most(tests['gaussian'])}):",
            *table(_TESTS, map(_test_printed, tests["tests"])),
        ]
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
        }
        | tests,
        [
            f"{different} of {first.size} words differ; the losses guaranteed for them sum to "
            f"{at_most(total)}.",
            f"Together they are (ε, δ)-indistinguishable at ε = {at_most(least)} for δ = "
            f"{options.delta:g}.",
            *table(_TABLE, map(_outwards, rows)),
            *tested,
        ],
    )


def _test_rows(powers: list[float]) -> list[dict[str, float]]:
    return [
        {"false_positive_rate": rate, "power": power}
        for rate, power in zip(_RATES, powers, strict=True)
    ]


def _test_printed(row: dict[str, float]) -> dict[str, str]:
    """Return a row as it is printed; the power is an upper bound."""
    return {
        "false_positive_rate": f"{row['false_positive_rate']:g}",
        "power": at_most(row["power"], 3),
    }


def _outwards(row: dict[str, float]) -> dict[str, float | str]:
    """Return a row as it is printed: both are upper bounds."""
    ends = at_most(row["total_epsilon"]), at_most(row["delta"], 3)
    return {**row, "total_epsilon": ends[0], "delta": ends[1]}


# The command `persons`: facts about persons that a release leaves, and that someone guesses.


_RELEASE = (
    "{release:<30.29}{left:>24|facts left}{guessed:>24|guessed}{apart:>24|told apart}"
    "{persons_left:>24|persons: one left}{persons_guessed:>24|one guessed}"
)
_BY_TAG = (
    "  {tag:<26.25}{annotated:>9,|annotated}{facts:>9,|in text}{outside:>9,|outside}"
    "{left:>24|left}{guessed:>24|guessed}{before:>8|before}{apart:>24|told apart}"
)


@command("persons")
@argument("file", type=Path, metavar="FILE")
@option(
    "--facts",
    required=True,
    metavar="COLUMN",
    help="the column of annotated facts, as JSON: persons with facts (tag and keyword), or spans "
    "(start, end, entity_type)",
)
@option("--text-column", default="text", metavar="NAME", help="the column of texts")
@option("--mechanism", multiple=True, help="a name from `mechanisms`; repeatable")
@option(
    "--epsilon",
    multiple=True,
    metavar="[MECHANISM=]VALUES",
    help=f"a number, {flags.EPSILON_VALUES}; MECHANISM=VALUES for one of several mechanisms; "
    "repeatable",
)
@option(
    "--redact",
    multiple=True,
    metavar="NAME",
    help="rules, or entities (an optional package): alone, and before each mechanism; repeatable",
)
@option(
    "--stranger",
    default=STRANGERS[0],
    type=Choice(STRANGERS),
    help="who guesses: counts knows how common content words are, counts-all function words too, "
    "equal takes all for equally likely, reads reads on through the text",
)
@flags.number("--draws", 100, "rewritings, where a share is drawn", least=2, most=MAX_DRAWS)
@flags.settings
@flags.lexicon
@reading_options
@flags.seed("of what is drawn")
def persons_command(options: Options) -> Answer:
    """Measure which facts about persons a release leaves, and which someone guesses."""
    check_seed(options.seed)
    if not (options.mechanism or options.redact):
        raise ParameterError("give --mechanism with --epsilon, --redact, or both")
    if options.epsilon and not options.mechanism:
        raise ParameterError("--epsilon is of a mechanism: give --mechanism too")
    for name in options.redact:
        redactor_of(name)  # refuses a wrong name before the file is read
    table_read = read_rows(options.file, options, options.text_column, options.facts)
    if table_read.place(options.text_column) == table_read.place(options.facts):
        raise ParameterError("texts and facts must stand in two different columns")
    texts = []
    rows = zip(
        table_read.column(options.text_column), table_read.column(options.facts), strict=True
    )
    for number, (text, cell) in enumerate(rows, start=1):
        try:
            parsed = parse_facts(text, cell)
            if text.strip() or parsed.facts:
                check_text(text, max_characters=MAX_FILE_CHARACTERS, max_tokens=MAX_FILE_TOKENS)
                texts.append(parsed)
        except (CorpusError, TextError) as error:
            raise type(error)(f"row {number:,} of the table: {error}") from None
    if not any(fact.spans for each in texts for fact in each.facts):
        raise CorpusError(
            f"no annotated fact of the {len(texts):,} texts stands in its text word for word, so "
            "there is nothing to measure; is --text-column the text that was annotated?"
        )
    mechanisms = build_mechanisms(options, options.mechanism) if options.mechanism else []
    lexicon = mechanisms[0].lexicon if mechanisms else load_lexicon(options)
    grids = epsilons_of_each(options.epsilon, mechanisms)
    how = fields.some(options, "stranger draws seed progress")
    releases: list[tuple[Mechanism | None, list[float]]] = [(None, [])] if options.redact else []
    results = [
        (result, mechanism)
        for mechanism, grid in [*releases, *zip(mechanisms, grids, strict=True)]
        for result in facts_left(
            texts,
            lexicon,
            mechanism,
            grid,
            redactors=list(dict.fromkeys(([""] if mechanism else []) + list(options.redact))),
            **how,
        )
    ]
    return Answer(
        fields.of_lexicon(lexicon)
        | fields.some(options, "seed draws")
        | {"not_measured": list(NOT_MEASURED)}
        | {
            "rows": [
                result.to_dict()
                | ({"parameters": None} if mechanism is None else fields.of_settings(mechanism))
                for result, mechanism in results
            ]
        },
        _person_lines([result for result, _ in results]),
    )


def _person_lines(results: Sequence[FactsLeft]) -> Iterator[str]:
    first = results[0]
    every = first.tags[0]
    yield (
        f"{first.texts:,} texts, {every.annotated:,} annotated facts; {every.facts:,} stand in "
        f"their texts word for word, of {first.persons:,} persons, {every.outside:,} of them with "
        "a word outside the vocabulary, which no mechanism lets pass"
    )
    yield from (f"Not measured: {what}." for what in NOT_MEASURED)
    yield ""
    yield from table(
        _RELEASE,
        [
            {
                "release": _release(result),
                **_shares(result.tags[0], "left guessed apart", result),
                **_shares(result, "persons_left persons_guessed", result),
            }
            for result in results
        ],
    )
    for result in results:
        yield f"\n{_release(result)}; guessed by {result.stranger}"
        yield from table(
            _BY_TAG,
            [
                {
                    **fields.some(row, "annotated facts outside"),
                    "tag": row.tag or "all",
                    "before": "" if row.before is None else f"{row.before:.3f}",
                    **_shares(row, "left guessed apart", result),
                }
                for row in result.tags
            ],
        )


def _release(result: FactsLeft) -> str:
    """Name a release in a few words."""
    mechanism = result.mechanism and f"{result.mechanism} ε={result.epsilon:.4g}"
    return " + ".join(filter(None, (result.redactor, mechanism)))


def _shares(row: Any, names: str, result: FactsLeft) -> dict[str, str]:
    """Write shares with their intervals; a lower bound carries its sign."""
    texts = {}
    for name, share in fields.some(row, names).items():
        least = name.endswith("guessed") and result.attacker not in (BAYES, READS)
        texts[name] = (
            ""
            if share is None
            else (f"{'≥' if least else ''}{share.value:.3f} ({share.low:.3f} to {share.high:.3f})")
        )
    return texts
