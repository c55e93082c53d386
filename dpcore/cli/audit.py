"""Commands `audit` (mechanisms, functions, published claims) and `appendix-c`."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterator, Sequence
from typing import Any

from click import Choice, option

from dpcore import __version__
from dpcore.audit.blackbox.audit import ANY, DEFAULT_CALLS, Promise, audit_function
from dpcore.audit.blackbox.function import Form, named_function
from dpcore.audit.blackbox.replay import replay_function
from dpcore.audit.blackbox.report import LEVEL, FunctionReport
from dpcore.audit.blackbox.runs import FORMS
from dpcore.audit.report import (
    AuditReport,
    AuditSettings,
    any_inputs_report,
    audit_report,
    on_any_inputs,
)
from dpcore.audit.verdict import Verdict
from dpcore.cli import fields, flags
from dpcore.cli.construction import (
    build_mechanism,
    epsilons_of_each,
    load_lexicon,
    with_certificate,
)
from dpcore.cli.printer import Answer, table
from dpcore.cli.shell import Options, command, one_of
from dpcore.errors import ParameterError
from dpcore.lexicon.metric import Metric
from dpcore.measure.deniability import check_runs
from dpcore.measure.words import select_words
from dpcore.mechanisms.mechanism import Mechanism
from dpcore.mechanisms.registry import create
from dpcore.noise.streams import check_seed
from dpcore.outwards import at_most
from dpcore.papers.claims import CLAIMS, all_verdicts, summary, write_verdicts
from dpcore.papers.xu2021.appendix_c import (
    appendix_rows,
    everyday_extremes,
    gumbel_sentences,
    laplace_sentences,
)
from dpcore.plots.style import probability_text

# The command `audit --callable`: any function from words to words, by its outputs alone.


# 128 + SIGINT, as shells report an interrupt: the answer is printed, but a script has to know.
_INTERRUPTED = 130
_FORMS = list(dict.fromkeys([*map(str, Form), *FORMS]))

function_options = flags.several(
    option("--metric", help=f"of the claim: {', '.join(Metric)}, or {ANY} between any two words"),
    # No defaults here: None tells an option that was not typed, see `refuse_function_options`.
    option("--delta", help="the claimed δ  [default: 0]"),
    flags.number("--samples", None, f"calls in all  [default: {DEFAULT_CALLS}]"),
    option(
        "--form",
        type=Choice(_FORMS),
        help="what the function takes  [default: auto; with --replay: text]",
    ),
    option(
        "--replay",
        is_flag=True,
        default=None,
        help="a function from text to text: record its random draws, and say which depend on the "
        "text; --epsilon only if the function takes ε",
    ),
)
"""Options that only a function has."""
NAMES = ("metric", "delta", "samples", "form", "replay")


def function_answer(options: Options) -> Answer:
    """Audit the function that --callable names."""
    given = {name: getattr(options, name) for name in NAMES}
    given = {name: value for name, value in given.items() if value is not None}
    if given.pop("replay", False):
        return _replay_answer(options, given)
    # Errors in the options appear before a large lexicon is read.
    Promise.of(options.epsilon, given.get("metric", Metric.EUCLIDEAN), given.get("delta", 0.0))
    named_function(options.callable)
    report = audit_function(
        options.callable,
        options.epsilon,
        lexicon=load_lexicon(options),
        seed=options.seed or 0,
        progress=options.progress,
        **given,
    )
    return Answer(
        report.to_dict() | {"version": __version__},
        _lines(report),
        notes=["stopped: what is said rests on the calls until then"] if report.stopped else (),
        code=_INTERRUPTED if report.stopped else 0,
    )


def _replay_answer(options: Options, given: dict[str, Any]) -> Answer:
    """Replay the noise of the function that --callable names."""
    if beside := [f"--{name}" for name in given if name != "form"]:
        raise ParameterError(
            f"{', '.join(beside)} and --replay do not go together: a replay judges no claim"
        )
    epsilon = None
    if options.epsilon is not None:
        epsilon = Promise.of(options.epsilon, ANY, 0.0).epsilon
    # Without a lexicon by name the words are common ones, as the function may have any vocabulary.
    own_lexicon = options.lexicon is not None or options.language is not None
    report = replay_function(
        options.callable,
        epsilon,
        lexicon=load_lexicon(options) if own_lexicon else None,
        seed=options.seed or 0,
        progress=options.progress,
        **given,
    )
    head = f"{report.name}: {report.label}"
    return Answer(report.to_dict() | {"version": __version__}, [head, *report.lines])


def refuse_function_options(options: Options) -> None:
    """Refuse options of --callable where it is not given.

    Raises:
        ParameterError: there is such an option.
    """
    if any(getattr(options, name) is not None for name in NAMES):
        listed = ", ".join(f"--{name}" for name in NAMES)
        raise ParameterError(f"{listed} belong to --callable")


def _lines(report: FunctionReport) -> Iterator[str]:
    yield f"{report.name}: {report.label}"
    yield f"  claimed    {report.promise.sentence}"
    yield f"  shown      {report.shown}"
    if report.tests is not None and report.tests.points:
        yield f"  tests      {report.tests.sentence}"
    share = report.unchanged
    if share.words:
        yield (
            f"  unchanged  {share.count:,} of {share.words:,} words come out as they went in "
            f"({share.low:.3g} to {share.high:.3g}, {LEVEL:.0%})"
        )
    for finding in report.findings:
        yield f"  found      {finding}"
    if isinstance(report.repeats, str):
        yield f"  processes  {report.repeats}"
    elif not report.repeats.notable:
        yield f"  processes  {report.repeats.sentence}"
    if report.evidence:
        yield (
            f"  reach      factors up to e^{report.resolution:.4g} can be seen; the guarantee "
            f"allows less for {report.within_reach:,} of {report.pairs:,} pairs of words"
        )
    yield f"  assumed    {report.assumed}"


_OF_OPTIMAL = ("optimal", "epsilon-two")  # claims that need its weights


@command("audit")
@one_of(
    {
        "--mechanism": {"help": "audit this mechanism: a name from `mechanisms`"},
        "--callable": {
            "metavar": "MODULE:FUNCTION",
            "help": "audit any function of words, by its outputs or (--replay) by its draws",
        },
        "--claim": {"metavar": "KEY", "help": "audit one published claim"},
        "--all": {"is_flag": True, "help": "the table of all published claims"},
    }
)
@option("--epsilon", help="the claimed ε (with --mechanism and --callable)")
@function_options
@flags.pairs(
    "--set",
    "a parameter of the mechanism; d=N: without a lexicon, the noise between any two clipped "
    "inputs of N coordinates",
)
@flags.number("--words", None, "compare N words drawn by the seed")
@option("--pairs", metavar="all|N", default="all", help="compare all pairs, or N drawn by the seed")
@flags.pairs(
    "--at",
    "a setting of --claim or --all: epsilon, delta, delta_root, latent, clip_norm, edge, words, "
    "draws or seed",
)
@flags.file("--file", "with --all: also keep the verdicts in this JSON file")
@flags.seed("of what is drawn  [default: 0]", None)
@flags.lexicon
def audit_command(options: Options) -> Answer:
    """Is a claimed guarantee true?"""
    if options.file is not None and not options.all:
        raise ParameterError("--file belongs to --all: it keeps the whole table of verdicts")
    if options.callable is not None:
        if options.epsilon is None and not options.replay:
            raise ParameterError("--callable needs --epsilon, the ε that is claimed, or --replay")
        # Refused and not ignored: an option without effect would let a person think that it had
        # one.
        if options.at or options.set or options.words or options.pairs != "all":
            raise ParameterError(
                "--set, --at, --words and --pairs are not for --callable: a function is called as "
                "it is, --samples times"
            )
        return function_answer(options)
    refuse_function_options(options)
    if options.mechanism is not None:
        if options.epsilon is None:
            raise ParameterError("--mechanism needs --epsilon")
        if options.at:
            raise ParameterError("--at belongs to --claim and --all; a mechanism takes --set")
        # A dimension in place of a lexicon: the noise is then audited without any words.
        return (_any_inputs if "d" in options.set else _mechanism)(options)
    if options.epsilon is not None or options.set or options.words or options.pairs != "all":
        raise ParameterError(
            "--epsilon, --set, --words and --pairs belong to --mechanism; a claim takes "
            "--at NAME=VALUE"
        )
    return _claims(options)


def _mechanism(options: Options) -> Answer:
    try:
        pairs = None if options.pairs == "all" else int(options.pairs)
    except ValueError:
        raise ParameterError(
            f"--pairs takes `all` or a whole number, got {options.pairs[:40]!r}"
        ) from None
    mechanism = build_mechanism(options)
    report = audit_report(
        mechanism,
        options.epsilon,
        words=options.words,
        pairs=pairs,
        seed=options.seed or 0,
        progress=options.progress,
    )
    result = fields.of_mechanism(mechanism) | _fields(report)
    return Answer(result, _report_lines(mechanism, report))


def _any_inputs(options: Options) -> Answer:
    """Audit the noise between any two inputs of d coordinates, without words."""
    # d is no parameter of a mechanism: it replaces the lexicon.
    settings = {name: value for name, value in options.set.items() if name != "d"}
    mechanism = on_any_inputs(options.mechanism, options.set["d"], settings)
    named = options.lexicon is not None or options.language is not None
    if named or options.words is not None or options.pairs != "all":
        raise ParameterError(
            "--set d=N audits the noise without a lexicon: leave out --lexicon, --words and "
            "--pairs, or leave out d"
        )
    report = any_inputs_report(mechanism, options.epsilon)
    head = fields.of_mechanism(mechanism) | {"lexicon": None, "fingerprint": None}
    head["parameters"] |= {"d": mechanism.lexicon.dimension}
    return Answer(head | _fields(report), _report_lines(mechanism, report))


def _fields(report: AuditReport) -> dict[str, Any]:
    """Return the fields of JSON, in which an ε that does not exist is null."""

    def finite(value: float) -> float | None:
        return value if math.isfinite(value) else None

    return {
        "claimed_epsilon": report.claimed_epsilon,
        "claimed_delta": math.exp(report.claimed_log_delta),
        "claimed_log_delta": finite(report.claimed_log_delta),
        "epsilon_effective": finite(report.epsilon_effective),
        "epsilon_at_most": finite(report.epsilon_most),
        **fields.some(report, "delta_true"),
        "error": finite(report.error),
        "outcome": str(report.outcome),
        "verdict": report.label,
        "worst": None if report.worst is None else dataclasses.asdict(report.worst),
        **fields.some(report, "method resolution"),
        "sampler": None if report.sampler is None else report.sampler.to_dict(),
    }


def _report_lines(mechanism: Mechanism, report: AuditReport) -> Iterator[str]:
    # From its logarithm: δ of TrLaplace is the d-th power of a setting, and underflows.
    delta, worst = "", report.worst
    if report.claimed_log_delta > -math.inf:
        delta = f", δ = e^{report.claimed_log_delta:.6g}"
    effective = report.epsilon_effective
    shown = f"{effective:.6g}" if math.isfinite(effective) else "none is true"
    delta_sign = "≥" if report.bounded else "="
    yield f"{mechanism.title}: {report.label}"
    yield f"  claimed   ε = {report.claimed_epsilon:.6g}{delta}"
    if report.sampler is None:
        true = f"= {shown}" if not report.bounded else report.between
        yield f"  true      ε {true}, δ at the claimed ε {delta_sign} {report.delta_true:.6g}"
    else:
        yield f"  true      ε ≤ {at_most(effective, 6)} by the proof, for the law; not computed"
        yield f"  sampler   {report.sampler.outcome}"
    if worst is not None:
        output = "" if worst.output is None else f"output {worst.output!r} for "
        yield f"  worst     {output}{worst.word!r} against {worst.other!r}"
    yield f"  method    {report.method}"


def _settings(options: Options) -> AuditSettings:
    # Types are texts here, since annotations are not evaluated.
    kinds = {field.name: str(field.type) for field in dataclasses.fields(AuditSettings)}
    # --seed has no default, or it would override `--at seed=N`.
    values: dict[str, Any] = {} if options.seed is None else {"seed": options.seed}
    for name, value in options.at.items():
        if name not in kinds:
            raise ParameterError(f"--at takes a name of {', '.join(kinds)}, got {name[:60]!r}")
        whole = kinds[name] == "int"
        try:
            values[name] = int(value) if whole else float(value)
        except ValueError:
            kind = "a whole number" if whole else "a number"
            raise ParameterError(f"{name} must be {kind}, got {value[:40]!r}") from None
    return AuditSettings(**values)


def _claims(options: Options) -> Answer:
    settings = _settings(options)
    # Refused before a large lexicon is read.
    if options.claim is not None and options.claim not in CLAIMS:
        raise ParameterError(f"unknown claim {options.claim[:40]!r}; known are {', '.join(CLAIMS)}")
    lexicon = load_lexicon(options)
    keys = None if options.all else [options.claim]
    if options.all or options.claim in _OF_OPTIMAL:
        with_certificate(options, create("optimal", lexicon))
    verdicts = all_verdicts(lexicon, settings, keys=keys, progress=options.progress)
    if options.file is not None:
        write_verdicts(options.file, lexicon, settings, verdicts)
    lines = _row if options.all else _verdict_lines
    return Answer(
        summary(lexicon, settings, verdicts),
        [line for verdict in verdicts for line in lines(verdict)],
    )


def _row(verdict: Verdict) -> Iterator[str]:
    yield f"{verdict.label:<40} {verdict.key:<26} {verdict.title}; {verdict.source}"


def _verdict_lines(verdict: Verdict) -> Iterator[str]:
    yield f"{verdict.title}: {verdict.label}"
    yield f"  claim      {verdict.claim}"
    yield f"  source     {verdict.source}"
    for condition in verdict.conditions:
        yield f"  condition  {condition.text}: {'met' if condition.met else 'not met'}"
    yield f"  computed   {verdict.computed}"
    for name, value in verdict.numbers.items():
        yield f"    {name} = {value:.6g}" if isinstance(value, float) else f"    {name} = {value}"
    if verdict.failing_step:
        yield f"  fails at   {verdict.failing_step}"
    yield f"  holds      {verdict.repair}"
    yield f"  command    {verdict.command}"


# The command `appendix-c`: the formulas of Xu et al. 2021, Appendix C, beside the truth.


_EPSILONS = {"madlib": "1,10,100", "truncated-gumbel": "1e3,1e5,1e7"}
_TABLE = (
    "{name:<17|}{epsilon:>10.4g|ε} {word:<14.13}{nearest:>7.3f|δ} {formula:>9.4f}  "
    "{interval:<26|truth, 95 % interval} {proved:>19}"
)


@command("appendix-c")
@option(
    "--words", type=flags.names, metavar="A,B,C",
    help="these words  [default: a dense and a sparse one]",
)  # fmt: skip
@option(
    "--epsilon",
    multiple=True,
    metavar="[MECHANISM=]VALUES",
    help=f"{flags.EPSILON_VALUES}, for madlib or truncated-gumbel; repeatable  [default: "
    + ", ".join(f"{m}={e}" for m, e in _EPSILONS.items())
    + "]",
)
@flags.number("--runs", 1000, "noise directions of madlib")
@flags.seed("of these directions")
@flags.lexicon
def appendix_c_command(options: Options) -> Answer:
    """Compare how often words stay: formulas of Xu et al. 2021, Appendix C, and exact values."""
    check_runs(options.runs)
    check_seed(options.seed)
    lexicon = load_lexicon(options)
    chosen = select_words(lexicon, options.words or everyday_extremes(lexicon))
    mechanisms = [create(name, lexicon) for name in _EPSILONS]
    grids = epsilons_of_each(_with_defaults(options.epsilon), mechanisms)
    laplace, gumbel = (
        appendix_rows(
            mechanism, chosen, grid,
            runs=options.runs, seed=options.seed, progress=options.progress,
        )
        for mechanism, grid in zip(mechanisms, grids, strict=True)
    )  # fmt: skip
    rows = laplace + gumbel
    # In words: Madlib in the middle of its ε, truncated Gumbel at its lowest.
    sentences = laplace_sentences(laplace, grids[0][len(grids[0]) // 2], lexicon.dimension)
    sentences += gumbel_sentences(gumbel, grids[1][0], len(lexicon))
    return Answer(
        fields.of_selection(options, lexicon, chosen) | {"rows": rows, "sentences": sentences},
        [*table(_TABLE, _printed(rows)), "", *sentences],
    )


def _printed(rows: Sequence[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    for row in rows:
        yield row | {
            "name": row["mechanism"].split(".")[0],
            "interval": probability_text(row["truth"], row["nw_low"], row["nw_high"]),
            "proved": f"{row['low']:>9.3g} to {row['high']:<6.3f}",
        }


def _with_defaults(given: Sequence[str]) -> list[str]:
    """Add the default of a mechanism that the options do not mention."""
    if any("=" not in text for text in given):
        return list(given)  # a list for both
    # By short name or by registry key, both of which a person may type.
    missing = [m for m in _EPSILONS if not any(o.startswith((f"{m}=", f"{m}.v")) for o in given)]
    return [*given, *(f"{m}={_EPSILONS[m]}" for m in missing)]
