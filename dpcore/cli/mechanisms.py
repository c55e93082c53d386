"""Commands `mechanisms` and `calibrate`."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

from click import option

from dpcore import __version__
from dpcore.cli import fields, flags
from dpcore.cli.construction import load_lexicon, name_calibrate
from dpcore.cli.printer import Answer, table
from dpcore.cli.shell import Options, command
from dpcore.errors import DpcoreError, ParameterError
from dpcore.mechanisms.registry import MECHANISMS, create, package_of, resolve


@command("mechanisms")
@flags.lexicon
def mechanisms_command(options: Options) -> Answer:
    """List the mechanisms and their parameters."""
    lexicon = load_lexicon(options)
    rows, problems = [], []
    for key, kind in MECHANISMS.items():
        try:
            mechanism = create(key, lexicon)
        except DpcoreError as error:
            # One of ours that cannot be made is a fault here; one of another package must not hide
            # the rest.
            if package_of(kind) is None:
                raise
            problems.append(f"warning: {error}")
            continue
        name_calibrate(options, mechanism)
        allowed = mechanism.admissible
        rows.append(
            {
                "key": key,
                "name": kind.short,
                **fields.some(kind, "title summary"),
                "caution": mechanism.caution,
                "source": kind.source,
                "epsilon_means": str(kind.meaning),
                **fields.some(kind, "exact_law accepts_approximate_search"),
                "epsilon_above": allowed.low,
                # JSON has no infinity.
                "epsilon_below": allowed.high if math.isfinite(allowed.high) else None,
                "parameters": {
                    name: {k: v for k, v in declared.items() if v is not None and k != "type"}
                    | {"default": declared["default"]}
                    for name, declared in kind.parameters().items()
                },
                "package": package_of(kind),
            }
        )
    return Answer({"lexicon": lexicon.name, "mechanisms": rows}, _lines(rows), notes=problems)


def _lines(rows: list[dict[str, Any]]) -> Iterator[str]:
    for row in rows:
        limits = f"ε > {row['epsilon_above']:.4g}"
        if row["epsilon_below"] is not None:
            limits += f", ε < {row['epsilon_below']:.4g}"
        yield f"{row['name']:<20} {row['title']}  [{row['epsilon_means']}; {limits}]"
        yield f"{'':<20} {row['summary']}. {row['source']}."
        if row["package"]:
            yield f"{'':<20} From the package {row['package']}: not one of ours."
        if row["caution"]:
            yield f"{'':<20} {row['caution']}."
        for name, declared in row["parameters"].items():
            yield f"{'':<22}--set {name}={declared['default']}: {declared['help']}"


# The command `calibrate`: the certificate of a mechanism on a lexicon.


_TABLE = "{epsilon:>10.5g|ε} {strength:>10.5g} {proved_strength:>10.5g|proved}"


@command("calibrate")
@flags.one_mechanism
@option("--again", is_flag=True, help="compute it even if it is known")
@flags.file("--file", "also enter the certificate in this file", metavar="JSON")
def calibrate_command(options: Options) -> Answer:
    """Compute with how little noise a mechanism keeps its ε on a lexicon."""
    resolve(options.mechanism)  # refuses a wrong name before a large lexicon is read
    asked = create(options.mechanism, load_lexicon(options), options.set)
    mechanism = asked.calibrated
    if mechanism is None:
        raise ParameterError(
            f"{asked.short} has no certificate; tem-calibrated, optimal and "
            "truncated-gumbel-repaired have one"
        )
    lexicon = mechanism.lexicon
    known = mechanism.certificate if mechanism.is_known and not options.again else None
    # A known one is not computed again: at 25,000 words that takes minutes.
    certificate = known or mechanism.calibrate(options.progress)
    if options.file is not None:
        provenance = {
            "lexicon": lexicon.name,
            "command": f"{mechanism.calibrate_command} --again",
            "columns": ["certified epsilon", "strength in 1/distance"],
            "version": __version__,
        }
        mechanism.write(options.file, certificate, provenance)
    rows = [
        {
            "epsilon": epsilon,
            "strength": strength,
            "proved_strength": mechanism.proved_strength(epsilon),
        }
        for epsilon, strength in certificate.to_json()
    ]
    return Answer(
        fields.of_mechanism(mechanism) | {"certificate": rows},
        [f"{mechanism.title} on {lexicon.name}: noise certified at ε", *table(_TABLE, rows)],
    )
