"""The command `audit`: a mechanism, any function, one published claim, or the table of all."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterator
from typing import Any

from click import option

from dpcore.audit.profiles.any_inputs import any_inputs_report, on_any_inputs
from dpcore.audit.report import AuditReport, audit_report
from dpcore.audit.settings import AuditSettings
from dpcore.audit.verdict import Verdict
from dpcore.cli import shared
from dpcore.cli.audit_function import function_answer, function_options, refuse_function_options
from dpcore.cli.printer import Answer
from dpcore.cli.shell import Options, command, one_of
from dpcore.errors import ParameterError
from dpcore.mechanisms.mechanism import Mechanism
from dpcore.mechanisms.registry import create
from dpcore.outwards import at_most
from dpcore.papers.claims import CLAIMS, all_verdicts
from dpcore.papers.verdicts import keep, summary

_OF_OPTIMAL = ("optimal", "epsilon-two")  # claims that need its weights


@command("audit")
@one_of(
    {
        "--mechanism": {"help": "audit this mechanism: a name from `mechanisms`"},
        "--callable": {
            "metavar": "MODULE:FUNCTION",
            "help": "audit any function from words to words, by its outputs alone",
        },
        "--claim": {"metavar": "KEY", "help": "audit one published claim"},
        "--all": {"is_flag": True, "help": "the table of all published claims"},
    }
)
@option("--epsilon", help="the claimed ε (with --mechanism and --callable)")
@function_options
@shared.pairs(
    "--set",
    "a parameter of the mechanism; d=N: without a lexicon, the noise between any two clipped "
    "inputs of N coordinates",
)
@shared.number("--words", None, "compare N words drawn by the seed")
@option("--pairs", metavar="all|N", default="all", help="compare all pairs, or N drawn by the seed")
@shared.pairs(
    "--at",
    "a setting of --claim or --all: epsilon, delta, delta_root, latent, clip_norm, edge, words, "
    "draws or seed",
)
@shared.file("--file", "with --all: also keep the verdicts in this JSON file")
@shared.seed_option("of what is drawn  [default: 0]", None)
@shared.lexicon_option
def audit_command(options: Options) -> Answer:
    """Is a claimed guarantee true?"""
    if options.file is not None and not options.all:
        raise ParameterError("--file belongs to --all: it keeps the whole table of verdicts")
    if options.callable is not None:
        if options.epsilon is None:
            raise ParameterError("--callable needs --epsilon, the ε that is claimed")
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
    mechanism = shared.build(options)
    report = audit_report(
        mechanism,
        options.epsilon,
        words=options.words,
        pairs=pairs,
        seed=options.seed or 0,
        progress=options.progress,
    )
    return Answer(
        shared.mechanism_fields(mechanism) | _fields(report), _report_lines(mechanism, report)
    )


def _any_inputs(options: Options) -> Answer:
    """The noise between any two inputs of d coordinates: there are no words then."""
    # d is no parameter of a mechanism, but what stands for a lexicon.
    settings = {name: value for name, value in options.set.items() if name != "d"}
    mechanism = on_any_inputs(options.mechanism, options.set["d"], settings)
    named = options.lexicon is not None or options.language is not None
    if named or options.words is not None or options.pairs != "all":
        raise ParameterError(
            "--set d=N audits the noise without a lexicon: leave out --lexicon, --words and "
            "--pairs, or leave out d"
        )
    report = any_inputs_report(mechanism, options.epsilon)
    head = shared.mechanism_fields(mechanism) | {"lexicon": None, "fingerprint": None}
    head["parameters"] |= {"d": mechanism.lexicon.dimension}
    return Answer(head | _fields(report), _report_lines(mechanism, report))


def _fields(report: AuditReport) -> dict[str, Any]:
    """The fields of JSON, in which an ε that does not exist is null."""

    def finite(value: float) -> float | None:
        return value if math.isfinite(value) else None

    return {
        "claimed_epsilon": report.claimed_epsilon,
        "claimed_delta": math.exp(report.claimed_log_delta),
        "claimed_log_delta": finite(report.claimed_log_delta),
        "epsilon_effective": finite(report.epsilon_effective),
        "epsilon_at_most": finite(report.epsilon_most),
        **shared.fields(report, "delta_true"),
        "error": finite(report.error),
        "outcome": str(report.outcome),
        "verdict": report.label,
        "worst": None if report.worst is None else dataclasses.asdict(report.worst),
        **shared.fields(report, "method resolution"),
        "sampler": None if report.sampler is None else report.sampler.to_dict(),
    }


def _report_lines(mechanism: Mechanism, report: AuditReport) -> Iterator[str]:
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
    kinds = {field.name: str(field.type) for field in dataclasses.fields(AuditSettings)}
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
    if options.claim is not None and options.claim not in CLAIMS:
        raise ParameterError(f"unknown claim {options.claim[:40]!r}; known are {', '.join(CLAIMS)}")
    lexicon = shared.lexicon(options)
    keys = None if options.all else [options.claim]
    if options.all or options.claim in _OF_OPTIMAL:
        shared.certified(options, create("optimal", lexicon))
    verdicts = all_verdicts(lexicon, settings, keys=keys, progress=options.progress)
    if options.file is not None:
        keep(options.file, lexicon, settings, verdicts)
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
