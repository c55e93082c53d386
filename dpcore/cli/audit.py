"""The command `audit`: one mechanism, one published claim, or the table of all of them."""

from __future__ import annotations

import dataclasses
import math
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dpcore.cli.mechanisms import (
    build,
    common_options,
    describe,
    given_settings,
    print_json,
    seed_option,
)
from dpcore.errors import ParameterError

if TYPE_CHECKING:
    import argparse

    from dpcore.audit.report import AuditReport
    from dpcore.audit.settings import AuditSettings
    from dpcore.audit.verdict import Verdict
    from dpcore.cli.mechanisms import Commands
    from dpcore.lexicon.progress import Progress
    from dpcore.mechanisms.mechanism import Mechanism


def register(commands: Commands) -> None:
    """Add the command; its handler takes the parsed arguments and returns an exit code."""
    command = commands.add_parser("audit", help="is a claimed guarantee true?")
    what = command.add_mutually_exclusive_group(required=True)
    what.add_argument("--mechanism", help="audit this mechanism: a name from `mechanisms`")
    what.add_argument("--claim", metavar="KEY", help="audit one published claim")
    what.add_argument("--all", action="store_true", help="the table of all published claims")
    command.add_argument("--epsilon", help="the claimed ε (with --mechanism)")
    command.add_argument(
        "--set",
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="a parameter of the mechanism; may be repeated; d=N: without a lexicon, the noise "
        "between any two clipped inputs of N coordinates",
    )
    command.add_argument("--words", type=int, metavar="N", help="compare N words drawn by the seed")
    command.add_argument(
        "--pairs", metavar="all|N", default="all", help="compare all pairs, or N drawn by the seed"
    )
    command.add_argument(
        "--at",
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="a setting of --claim or --all: epsilon, delta, delta_root, latent, clip_norm, edge, "
        "words, draws or seed; may be repeated",
    )
    command.add_argument(
        "--file", metavar="PATH", help="with --all: also keep the verdicts in this JSON file"
    )
    seed_option(command, "of what is drawn (default 0)")
    common_options(command)
    command.set_defaults(handler=_audit)


def _audit(options: argparse.Namespace) -> int:
    from dpcore.cli.terminal import progress_bars

    if options.file is not None and not options.all:
        raise ParameterError("--file belongs to --all: it keeps the whole table of verdicts")
    if options.mechanism is not None:
        if options.epsilon is None:
            raise ParameterError("--mechanism needs --epsilon")
        if options.at:
            raise ParameterError("--at belongs to --claim and --all; a mechanism takes --set")
        with progress_bars() as progress:
            return _mechanism(options, progress)
    if options.epsilon is not None or options.set or options.words or options.pairs != "all":
        raise ParameterError(
            "--epsilon, --set, --words and --pairs belong to --mechanism; a claim takes "
            "--at NAME=VALUE"
        )
    with progress_bars() as progress:
        return _claims(options, progress)


def _mechanism(options: argparse.Namespace, progress: Progress) -> int:
    settings = given_settings(options)
    if "d" in settings:
        mechanism, report = _any_inputs(options, settings)
    else:
        mechanism, report = _on_words(options, progress)
    if options.json:
        print_json(_describe(mechanism, settings.get("d")) | _fields(report))
        return 0
    effective = report.epsilon_effective
    print(f"{mechanism.title}: {report.label}")
    print(f"  claimed   ε = {report.claimed_epsilon:.6g}{_delta(report)}")
    shown = f"{effective:.6g}" if math.isfinite(effective) else "none is true"
    if report.sampler is None:
        print(f"  true      ε = {shown}, δ at the claimed ε = {report.delta_true:.6g}")
    else:
        print(f"  true      ε ≤ {shown} by the proof, for the law; not computed")
        print(f"  sampler   {report.sampler.outcome}")
    if report.worst is not None:
        worst = report.worst
        if worst.output is not None:
            print(f"  worst     output {worst.output!r} for {worst.word!r} against {worst.other!r}")
        else:
            print(f"  worst     {worst.word!r} against {worst.other!r}")
    print(f"  method    {report.method}")
    return 0


def _on_words(options: argparse.Namespace, progress: Progress) -> tuple[Mechanism, AuditReport]:
    from dpcore.audit.report import audit_report

    mechanism = build(options)
    pairs = None if options.pairs == "all" else _count(options.pairs)
    report = audit_report(
        mechanism,
        options.epsilon,
        words=options.words,
        pairs=pairs,
        seed=options.seed or 0,
        progress=progress,
    )
    return mechanism, report


def _any_inputs(
    options: argparse.Namespace, settings: dict[str, str]
) -> tuple[Mechanism, AuditReport]:
    from dpcore.audit.profiles.any_inputs import any_inputs_report, on_any_inputs

    mechanism = on_any_inputs(
        options.mechanism,
        settings["d"],
        {name: value for name, value in settings.items() if name != "d"},
    )
    if options.lexicon is not None or options.words is not None or options.pairs != "all":
        raise ParameterError(
            "--set d=N audits the noise without a lexicon: leave out --lexicon, --words and "
            "--pairs, or leave out d"
        )
    return mechanism, any_inputs_report(mechanism, options.epsilon)


def _describe(mechanism: Mechanism, dimension: str | None) -> dict[str, Any]:
    """The fields that every result begins with; a d in place of the lexicon."""
    found = describe(mechanism)
    if dimension is None:
        return found
    parameters = found["parameters"] | {"d": mechanism.lexicon.dimension}
    return found | {"parameters": parameters, "lexicon": None, "fingerprint": None}


def _count(text: str) -> int:
    try:
        return int(text)
    except ValueError:
        raise ParameterError(f"--pairs takes `all` or a whole number, got {text[:40]!r}") from None


def _delta(report: AuditReport) -> str:
    if report.claimed_log_delta == -math.inf:
        return ""
    return f", δ = e^{report.claimed_log_delta:.6g}"


def _fields(report: AuditReport) -> dict[str, Any]:
    """The fields of JSON, in which an ε that does not exist is null."""
    finite = math.isfinite
    return {
        "claimed_epsilon": report.claimed_epsilon,
        "claimed_delta": math.exp(report.claimed_log_delta),
        "claimed_log_delta": report.claimed_log_delta if finite(report.claimed_log_delta) else None,
        "epsilon_effective": report.epsilon_effective if finite(report.epsilon_effective) else None,
        "delta_true": report.delta_true,
        "error": report.error,
        "outcome": str(report.outcome),
        "verdict": report.label,
        "worst": None if report.worst is None else dataclasses.asdict(report.worst),
        "method": report.method,
        "resolution": report.resolution,
        "sampler": None if report.sampler is None else report.sampler.to_dict(),
    }


def _settings(options: argparse.Namespace) -> AuditSettings:
    from dpcore.audit.settings import AuditSettings

    known = {field.name: str(field.type) for field in dataclasses.fields(AuditSettings)}
    values: dict[str, Any] = {} if options.seed is None else {"seed": options.seed}
    for setting in options.at:
        name, equals, value = setting.partition("=")
        if not equals or name.strip() not in known:
            raise ParameterError(
                f"--at takes NAME=VALUE with a name of {', '.join(known)}, got {setting[:60]!r}"
            )
        whole = known[name.strip()] == "int"
        try:
            values[name.strip()] = int(value) if whole else float(value)
        except ValueError:
            kind = "a whole number" if whole else "a number"
            raise ParameterError(f"{name.strip()} must be {kind}, got {value[:40]!r}") from None
    return AuditSettings(**values)


def _claims(options: argparse.Namespace, progress: Progress) -> int:
    from dpcore.lexicon.catalogue import load
    from dpcore.papers.claims import CLAIMS, all_verdicts
    from dpcore.papers.verdicts import keep, summary

    settings = _settings(options)
    if options.claim is not None and options.claim not in CLAIMS:
        raise ParameterError(f"unknown claim {options.claim[:40]!r}; known are {', '.join(CLAIMS)}")
    lexicon = load(options.lexicon)
    keys = None if options.all else [options.claim]
    found = all_verdicts(lexicon, settings, keys=keys, progress=progress)
    if options.file is not None:
        keep(Path(options.file), lexicon, settings, found)
    if options.json:
        print_json(summary(lexicon, settings, found))
        return 0
    for one in found:
        _show(one, brief=options.all)
    return 0


def _show(verdict: Verdict, *, brief: bool) -> None:
    if brief:
        print(f"{verdict.label:<40} {verdict.key:<26} {verdict.title}; {verdict.source}")
        return
    print(f"{verdict.title}: {verdict.label}")
    print(f"  claim      {verdict.claim}")
    print(f"  source     {verdict.source}")
    for condition in verdict.conditions:
        print(f"  condition  {condition.text}: {'met' if condition.met else 'not met'}")
    print(f"  computed   {verdict.computed}")
    for name, value in verdict.numbers.items():
        print(f"    {name} = {value:.6g}" if isinstance(value, float) else f"    {name} = {value}")
    if verdict.failing_step:
        print(f"  fails at   {verdict.failing_step}")
    print(f"  holds      {verdict.repair}")
    print(f"  command    {verdict.command}")
