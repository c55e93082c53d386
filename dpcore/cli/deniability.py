"""The command `deniability`: how deniable words become."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from dpcore.cli import shared
from dpcore.cli.printer import Answer, table, to_json
from dpcore.cli.shell import Options, command
from dpcore.errors import ParameterError
from dpcore.lexicon.cache import write_text
from dpcore.measure.deniability import Deniability, choose_method, measure
from dpcore.measure.summary import summarise, summary_rows
from dpcore.mechanisms.mechanism import Mechanism
from dpcore.plots.layout import probability_text

_TABLE = (
    "{epsilon:>10.4g|ε}  {mean:<26|mean Nw, 95 % interval} {deviation:>7.2g|± sd} {median:>8.2g} "
    "{worst:>8.2g} {word:<16|}{spread:>17|Sw mean ± sd} {sw:>7.1f|median} {effective:>10.1f}"
)


@command("deniability")
@shared.measuring_options
@shared.compared_options
@shared.file("--out", "write the JSON to this file")
def deniability_command(options: Options) -> Answer:
    """Nw, Sw and the effective number 1/Σp² of outputs of words."""
    mechanisms, selection = shared.prepare(options, options.mechanism)
    grids = shared.epsilons_of_each(options.epsilon, mechanisms)
    for mechanism in mechanisms:  # refused before the first of them is measured
        choose_method(mechanism, options.method)
    measured = [
        measure(mechanism, selection, epsilons, **shared.measuring(options))
        for mechanism, epsilons in zip(mechanisms, grids, strict=True)
    ]
    result = {}
    if options.json or options.out:  # of a large corpus, more rows than a person waits for
        head = shared.selection_fields(options, mechanisms[0].lexicon, selection)
        result = head | _fields(mechanisms, measured)
    if options.out:
        try:
            write_text(options.out, to_json(result) + "\n")
        except OSError as error:
            raise ParameterError(f"cannot write {options.out}: {error.strerror}") from None
    return Answer(result, _lines(measured))


def _fields(
    mechanisms: Sequence[Mechanism], measured: Sequence[Deniability]
) -> dict[str, list[dict[str, Any]]]:
    return {
        "mechanisms": [
            {
                **shared.settings_fields(mechanism),
                "method": str(measurement.method),
                **shared.fields(measurement.figures, "detail numerical_error"),
            }
            for mechanism, measurement in zip(mechanisms, measured, strict=True)
        ],
        "rows": [row for measurement in measured for row in measurement.rows()],
        "summary": [row for measurement in measured for row in summary_rows(measurement)],
    }


def _lines(measured: Sequence[Deniability]) -> Iterator[str]:
    selection = measured[0].selection
    yield f"{selection.description}: {len(selection):,} words, R = {measured[0].runs:,}"
    if selection.tokens:
        yield (
            f"{selection.tokens:,} tokens, of which {selection.unknown:,} outside the vocabulary "
            "are not measured"
        )
    for measurement in measured:
        yield (f"\n{measurement.mechanism}: {measurement.method} ({measurement.figures.detail})")
        yield from table(_TABLE, _rows(measurement))


def _rows(measured: Deniability) -> Iterator[dict[str, Any]]:
    nw, sw, effective = (summarise(measured, q) for q in ("nw", "sw", "effective"))
    for e, epsilon in enumerate(measured.epsilons):
        yield {
            "epsilon": epsilon,
            "mean": probability_text(nw.mean[e], nw.mean_low[e], nw.mean_high[e]),
            "deviation": nw.deviation[e],
            "median": nw.median[e],
            "worst": nw.worst[e],
            "word": measured.selection.names[int(nw.worst_word[e])][:14],
            "spread": f"{sw.mean[e]:>8.1f} ± {sw.deviation[e]:<6.1f}",
            "sw": sw.median[e],
            "effective": effective.median[e],
        }
