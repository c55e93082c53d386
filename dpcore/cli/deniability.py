"""The command `deniability`: how deniable words become."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dpcore.cli import shared
from dpcore.cli.printer import Answer, table, to_json
from dpcore.cli.shell import Options, command
from dpcore.cli.terminal import progress_bars
from dpcore.errors import ParameterError

if TYPE_CHECKING:
    from dpcore.measure.deniability import Deniability
    from dpcore.mechanisms.mechanism import Mechanism

_TABLE = (
    "{epsilon:>10.4g}  {mean:<26} {deviation:>7.2g} {median:>8.2g} {worst:>8.2g} {word:<16}"
    "{spread:>17} {sw:>7.1f} {effective:>10.1f}"
)
_TITLES = {
    "epsilon": "ε", "mean": "mean Nw, 95 % interval", "deviation": "± sd", "word": "",
    "spread": "Sw mean ± sd", "sw": "median",
}  # fmt: skip


@command("deniability")
@shared.measuring_options
@shared.compared_options
@shared.file("--out", "write the JSON to this file")
def deniability_command(options: Options) -> Answer:
    """Nw, Sw and the effective number 1/Σp² of outputs of words."""
    from dpcore.measure.deniability import choose_method, measure

    with progress_bars() as progress:
        mechanisms, selection = shared.prepare(options, options.mechanism, progress)
        grids = shared.epsilons_of_each(options.epsilon, mechanisms)
        for mechanism in mechanisms:
            choose_method(mechanism, options.method)
        measured = [
            measure(
                mechanism,
                selection,
                epsilons,
                method=options.method,
                runs=options.runs,
                seed=options.seed or 0,
                progress=progress,
            )
            for mechanism, epsilons in zip(mechanisms, grids, strict=True)
        ]
    result = {}
    if options.json or options.out:  # of a large corpus, more rows than a person waits for
        head = shared.selection_fields(options, mechanisms[0].lexicon, selection)
        result = head | _fields(mechanisms, measured)
    if options.out:
        _write(options.out, to_json(result))
    return Answer(result, _lines(measured))


def _fields(
    mechanisms: Sequence[Mechanism], measured: Sequence[Deniability]
) -> dict[str, list[dict[str, Any]]]:
    from dpcore.measure.summary import summary_rows

    return {
        "mechanisms": [
            {
                "mechanism": mechanism.key,
                "parameters": mechanism.settings(),
                "method": str(one.method),
                "detail": one.figures.detail,
                "numerical_error": one.figures.numerical_error,
            }
            for mechanism, one in zip(mechanisms, measured, strict=True)
        ],
        "rows": [row for one in measured for row in one.rows()],
        "summary": [row for one in measured for row in summary_rows(one)],
    }


def _write(path: Path, text: str) -> None:
    from dpcore.lexicon.cache import write_text

    try:
        write_text(path, text + "\n")
    except OSError as error:
        raise ParameterError(f"cannot write {path}: {error.strerror}") from None


def _lines(measured: Sequence[Deniability]) -> Iterator[str]:
    selection = measured[0].selection
    yield f"{selection.description}: {len(selection):,} words, R = {measured[0].runs:,}"
    if selection.tokens:
        yield (
            f"{selection.tokens:,} tokens, of which {selection.unknown:,} outside the vocabulary "
            "are not measured"
        )
    for one in measured:
        yield f"\n{one.mechanism}: {one.method} ({one.figures.detail})"
        yield from table(_TABLE, _rows(one), **_TITLES)


def _rows(measured: Deniability) -> Iterator[dict[str, Any]]:
    from dpcore.measure.summary import summarise
    from dpcore.plots.layout import probability_text

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
