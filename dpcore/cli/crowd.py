"""Commands `count` and `plan`: what private texts say together, and how many it takes."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from click import Choice, argument, option

from dpcore.attack.leak import COUNTS, STRANGERS
from dpcore.cli import fields, flags
from dpcore.cli.construction import build_mechanism, load_lexicon
from dpcore.cli.printer import Answer, table
from dpcore.cli.shell import Options, command, one_of
from dpcore.crowd import queries as asking
from dpcore.crowd.check import check_law
from dpcore.crowd.comparison import Comparison, compare
from dpcore.crowd.counting import Texts, estimate_counts, open_copy
from dpcore.crowd.estimates import FOR, LEVEL, TEXTS, Estimates, Tally
from dpcore.crowd.planner import WORDS_PER_TEXT, Plan, countable_words, plan
from dpcore.crowd.queries import Queries
from dpcore.errors import ParameterError, StudyError
from dpcore.jobs import executors
from dpcore.jobs.executors import Serial
from dpcore.lexicon.lexicon import Lexicon
from dpcore.lexicon.progress import Progress
from dpcore.limits import MAX_QUERIES
from dpcore.rewrite.sentence import decode, file_bytes

_ROWS = (
    "{query:<24|counted} {group:<16|in} {words:>12|of words} {estimate:>12|estimate} "
    "{low:>12|at least} {high:>12|at most}  {method}"
)
_DIFFERENCES = (
    "{query:<24|counted} {group:<16|in} {share:>10|per 1,000} {other:>10|elsewhere} "
    "{low:>10|at least} {high:>10|at most} {z:>7}"
)


@command("count")
@argument("private", type=Path)
@flags.file("--record", "the record that `privatize` wrote beside the copy", required=True)
@one_of(
    {
        "--words": {"type": flags.names, "metavar": "A,B,C", "help": "each of these words"},
        "--list": {"type": Path, "metavar": "FILE", "help": "all words of a file, one a line"},
        "--kinds": {"is_flag": True, "help": "every kind of words of WordNet"},
        "--near": {"metavar": "WORD", "help": "a word or one of the nine nearest to it"},
        "--top": {
            "type": int, "metavar": "N",
            "help": "the words that came out most often; with --by, that differ most",
        },
        "--check": {"is_flag": True, "help": "nothing: test the texts against their record"},
    }
)  # fmt: skip
@option("--by", metavar="COLUMN", help="a kept column, whose values divide the texts")
@option(
    "--for", "of", default=TEXTS, type=Choice(FOR),
    help="texts: intervals for these very texts; population: for those that they stand for",
)  # fmt: skip
@option("--level", default=LEVEL, help="coverage of the intervals, all of them together")
@flags.workers
@flags.lexicon
def count_command(options: Options) -> Answer:
    """Estimate from a private copy how often words were in the originals.

    No ε is spent: all of it follows from what was released.
    """
    # Before anything is read: a wrong number of workers or a missing package is refused at once.
    executor = executors.of(options.workers, options.scheduler)
    opened = options.private, options.record, load_lexicon(options), options.by
    if isinstance(executor, Serial):
        return _counted(open_copy(*opened), options)
    # Beside the copy, which all workers read.
    with executor, _beside(options.private) as folder:
        return _counted(open_copy(*opened, executor=executor, folder=folder), options)


@contextmanager
def _beside(path: Path) -> Iterator[Path]:
    """Make a folder for public files until the end of the block."""
    try:
        folder = tempfile.mkdtemp(dir=path.absolute().parent, prefix=f".{path.name}-count-")
    except OSError as error:
        raise StudyError(
            f"workers need a place beside {path.name} for the lexicon, and there is none "
            f"({error.strerror}): count with one process, or a copy in another folder"
        ) from None
    try:
        yield Path(folder)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _counted(texts: Texts, options: Options) -> Answer:
    lexicon = texts.mechanism.lexicon
    if options.check:
        return _checked(texts, options.progress)
    estimates = estimate_counts(
        texts,
        _asked(lexicon, options),
        top=options.top,
        of=options.of,
        level=options.level,
        progress=options.progress,
    )
    several = len(estimates.observed.groups) > 1
    comparison = compare(estimates) if several else None
    result = estimates.to_dict() | ({"differences": comparison.to_dict()} if comparison else {})
    return Answer(result, _lines(estimates, comparison), _notes(estimates))


def _asked(lexicon: Lexicon, options: Options) -> Queries | None:
    if options.words is not None:
        return asking.of_words(lexicon, _words(options.words) or [])
    if options.list is not None:
        return _of_file(lexicon, options.list)
    if options.kinds:
        return asking.of_kinds(lexicon)
    if options.near is not None:
        return asking.of_near(lexicon, options.near)
    return None


def _of_file(lexicon: Lexicon, path: Path) -> Queries:
    """Read a list of words; a message has no word of it, for it may be a secret itself."""
    text = decode(file_bytes(path))
    words = [line.strip() for line in text.splitlines() if line.strip()]
    vocabulary_words = [word for word in words if word in lexicon]
    if not vocabulary_words:
        raise ParameterError(f"{path.name} holds no word of the lexicon {lexicon.name!r}")
    unknown = len(words) - len(vocabulary_words)
    name = "the list" if not unknown else f"the list, without {unknown:,} unknown words"
    return asking.of_lists(lexicon, {name: vocabulary_words})


def _checked(texts: Texts, progress: Progress) -> Answer:
    observed = texts.tally(Tally(len(texts.mechanism.lexicon), used=texts.used))
    check = check_law(
        texts.mechanism, texts.epsilon, observed, used=texts.used, progress=progress
    )  # fmt: skip
    result = {"mechanism": texts.mechanism.short, "epsilon": texts.epsilon} | check.to_dict()
    return Answer(result, [check.sentence])


def _lines(estimates: Estimates, comparison: Comparison | None) -> list[str]:
    if comparison is not None and estimates.hypotheses is not None:
        rows = [_difference(row.to_dict()) for row in comparison.found]
        names = len({row.query for row in comparison.rows})
        said = (
            f"{len({row.query for row in comparison.found}):,} of the {names:,} clearest words "
            f"differ, {comparison.hypotheses:,} compared; of such words one in twenty differs by "
            "chance"
        )
        return [said, *(table(_DIFFERENCES, rows) if rows else ())]
    shown = [row.to_dict() for row in estimates.rows]
    lines = list(table(_ROWS, [_shown(row) for row in shown]))
    if comparison is not None and comparison.found:
        differences = [_difference(row.to_dict()) for row in comparison.found]
        lines += ["", "What differs:", *table(_DIFFERENCES, differences)]
    return lines


def _shown(row: dict[str, Any]) -> dict[str, Any]:
    numbers = {
        name: "unknown" if row[name] is None else f"{row[name]:,.0f}"
        for name in ("words", "estimate", "low", "high")
    }
    return row | numbers


def _difference(row: dict[str, Any]) -> dict[str, Any]:
    numbers = {name: f"{1000 * row[name]:.3f}" for name in ("share", "other", "low", "high")}
    return row | numbers | {"z": f"{row['z']:+.1f}"}


def _notes(estimates: Estimates) -> list[str]:
    level = f"{100 * estimates.level:g} %"
    whom = "these texts" if estimates.of == TEXTS else "the texts that these stand for"
    notes = [
        f"Intervals of {level}, all together, for {whom}. No ε is spent. Words outside of the "
        "vocabulary count as they were treated: each as a random word, if they were replaced."
    ]
    if not estimates.estimators.unbiased.all():
        notes.append(
            "Some things have no unbiased estimate under this mechanism: what that may add or "
            "take is part of their intervals."
        )
    if len(estimates.estimators.queries) == MAX_QUERIES:
        notes.append(f"At most {MAX_QUERIES:,} things are counted at a time.")
    return notes


# The command `plan`: of texts, leakage and error two are given, and the third is computed.

_PLANNED = (
    "{query:<24|counted} {share:>12|per million} {error:>10|error} {texts:>14|texts} "
    "{least_share:>16|from per million} {above_bound:>12|above bound}"
)


@command("plan")
@flags.one_mechanism
@option("--epsilon", help="ε of each word")
@option(
    "--leak", "leakage", type=float, metavar="SHARE",
    help="in place of --epsilon: the share of words that the stranger guesses",
)  # fmt: skip
@flags.number("--texts", None, "number of texts")
@option(
    "--error", type=float, metavar="SHARE",
    help="half the width of every interval, as a share of the count: 0.1 is 10 %",
)  # fmt: skip
@option(
    "--words", type=flags.names, metavar="A,B,C",
    help="words to count  [default: those of the ranks 100, 1,000 and 10,000]",
)  # fmt: skip
@option(
    "--share", type=float, metavar="SHARE",
    help="share of each of them among all words of the texts  [default: that of the language]",
)  # fmt: skip
@option(
    "--words-per-text", type=float, default=WORDS_PER_TEXT, help="words of a text that are changed"
)
@option("--level", default=LEVEL, help="coverage of each interval by itself")
@option(
    "--stranger", default=COUNTS, metavar="WHO",
    help=f"who guesses: {', '.join(STRANGERS)}, or a list such as monday=0.5,garage=0.5",
)  # fmt: skip
@option("--countable", is_flag=True, help="say how many words of the lexicon can be counted, too")
def plan_command(options: Options) -> Answer:
    """Compute the number of texts, the ε or the error of a count from the other two.

    Give two of --texts, --error, and --epsilon or --leak. The error is that of the noise.
    """
    mechanism = build_mechanism(options)
    shared = fields.some(options, "words_per_text level stranger progress")
    numbers = fields.some(options, "texts error epsilon leakage share")
    outcome = plan(mechanism, words=_words(options.words), **numbers, **shared)
    result = outcome.to_dict() | fields.of_settings(mechanism)
    lines = [outcome.sentence, "", *table(_PLANNED, [_planned(row) for row in result["rows"]])]
    if options.countable:
        if outcome.texts is None:
            raise ParameterError("no number of texts is enough: give --texts for --countable")
        countable = countable_words(
            mechanism, texts=outcome.texts, error=outcome.error, epsilon=outcome.epsilon, **shared
        ).to_dict()
        result["countable"] = {name: countable[name] for name in ("share", "words", "judged")}
        lines += ["", f"So can be counted: {countable['words']:,} words of the lexicon."]
    return Answer(result | fields.of_lexicon(mechanism.lexicon), lines, _plan_notes(outcome))


def _words(named: list[str] | None) -> list[str] | None:
    if named is None:
        return None
    words = [word.strip() for word in named if word.strip()]
    if not words:
        raise ParameterError("--words names no word: say them with commas between")
    return words


def _planned(row: dict[str, Any]) -> dict[str, Any]:
    def said(value: float | None, form: str, factor: float = 1.0, unit: str = "") -> str:
        return "none" if value is None else f"{factor * value:{form}}{unit}"

    return {
        "query": row["query"],
        "share": said(row["share"], ",.1f", 1e6),
        "error": said(row["error"], ".3g", 100.0, " %"),
        "texts": said(row["texts"], ",.0f"),
        "least_share": said(row["least_share"], ",.1f", 1e6),
        "above_bound": said(row["above_bound"], ",.1f"),
    }


def _plan_notes(outcome: Plan) -> list[str]:
    notes = [
        "Error: half the width of an interval for these texts over the count. Texts: how many it "
        "takes for the error of the plan. From: the share of all words from which on it is met."
    ]
    if any(row.above_bound is not None for row in outcome.rows):
        notes.append(
            "Above bound: the variance over the least that any mechanism with this local ε could "
            "have, if it served this one count alone."
        )
    if outcome.above_bound is not None:
        notes.append(
            f"Over all words, equally common, the mean variance is {outcome.above_bound:.3g} times "
            "the least of any mechanism with this local ε."
        )
    return notes
