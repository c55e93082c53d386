"""The command `audit --callable`: any function from words to words, by its outputs alone."""

from __future__ import annotations

from collections.abc import Iterator

from click import Choice, option

from dpcore import __version__
from dpcore.audit.blackbox.audit import DEFAULT_CALLS, audit_function
from dpcore.audit.blackbox.function import Form, named_function
from dpcore.audit.blackbox.promise import ANY, Promise
from dpcore.audit.blackbox.report import LEVEL, FunctionReport
from dpcore.cli import shared
from dpcore.cli.printer import Answer
from dpcore.cli.shell import Options
from dpcore.errors import ParameterError
from dpcore.lexicon.metric import Metric

_INTERRUPTED = 130
_FORMS = [str(form) for form in Form]

function_options = shared.several(
    option("--metric", help=f"of the claim: {', '.join(Metric)}, or {ANY} between any two words"),
    option("--delta", help="the claimed δ  [default: 0]"),
    shared.number("--samples", None, f"calls in all  [default: {DEFAULT_CALLS}]"),
    option(
        "--form",
        type=Choice([str(form) for form in Form]),
        help="what the function takes  [default: auto]",
    ),
)
"""Options that only a function has."""
NAMES = ("metric", "delta", "samples", "form")


def function_answer(options: Options) -> Answer:
    """Audit the function that --callable names."""
    given = {name: getattr(options, name) for name in NAMES}
    given = {name: value for name, value in given.items() if value is not None}
    # What is wrong with them is said before a large lexicon is read.
    Promise.of(options.epsilon, given.get("metric", Metric.EUCLIDEAN), given.get("delta", 0.0))
    named_function(options.callable)
    report = audit_function(
        options.callable,
        options.epsilon,
        lexicon=shared.lexicon(options),
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


def refuse_function_options(options: Options) -> None:
    """Refuse what belongs to --callable where it is not given.

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
            f"  reach      factors up to e^{report.resolution:.4g} can be seen; the promise allows "
            f"less for {report.within_reach:,} of {report.pairs:,} pairs of words"
        )
    yield f"  assumed    {report.assumed}"
