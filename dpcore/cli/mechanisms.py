"""The command `mechanisms`: what can be chosen, and what each one's parameters are."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

from dpcore.cli import shared
from dpcore.cli.printer import Answer
from dpcore.cli.shell import Options, command
from dpcore.errors import DpcoreError
from dpcore.mechanisms.registry import MECHANISMS, create, package_of


@command("mechanisms")
@shared.lexicon_option
def mechanisms_command(options: Options) -> Answer:
    """List the mechanisms and their parameters."""
    lexicon = shared.lexicon(options)
    rows, problems = [], []
    for key, kind in MECHANISMS.items():
        try:
            mechanism = create(key, lexicon)
        except DpcoreError as error:
            if package_of(kind) is None:
                raise
            problems.append(f"warning: {error}")
            continue
        shared.name_calibrate(options, mechanism)
        allowed = mechanism.admissible
        rows.append(
            {
                "key": key,
                "name": kind.short,
                **shared.fields(kind, "title summary"),
                "caution": mechanism.caution,
                "source": kind.source,
                "epsilon_means": str(kind.meaning),
                **shared.fields(kind, "exact_law accepts_approximate_search"),
                "epsilon_above": allowed.low,
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
