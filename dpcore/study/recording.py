"""Making a recorded result: load the words, measure every series, and write table and manifest."""

from __future__ import annotations

import time
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import numpy as np

from dpcore import __version__
from dpcore.lexicon.progress import Progress, silent
from dpcore.measure import words as measured
from dpcore.measure.deniability import measure
from dpcore.measure.summary import BANDS, QUANTITIES, summarise
from dpcore.mechanisms.registry import create
from dpcore.mechanisms.trlaplace import TruncatedLaplaceMechanism
from dpcore.mechanisms.truncation import worst_delta
from dpcore.noise.streams import check_seed, generator
from dpcore.study.machine import machine_facts
from dpcore.study.results import COLUMNS, MEASURED, UNDEFINED, Entry
from dpcore.study.vocabularies import BUNDLED, CORPORA, CountedLexicon

if TYPE_CHECKING:
    import pandas as pd

    from dpcore.measure.deniability import Deniability
    from dpcore.measure.words import Selection
    from dpcore.mechanisms.mechanism import Mechanism
    from dpcore.study.parts import Series, Study

Row = dict[str, Any]
_ERRORS = {"nw": "nw_error", "sw": "sw_error", "effective": "effective_error"}


@dataclass(frozen=True)
class Options:
    """How a study is recorded: number of words (None: the study's own) and seed."""

    words: int | None = None
    seed: int = 0


def record(
    study: Study, counted: CountedLexicon, options: Options, progress: Progress = silent
) -> tuple[Entry, pd.DataFrame]:
    """Measure a study on its vocabulary.

    Args:
        study: what to measure.
        counted: its vocabulary (`load_vocabulary`).
        options: number of words and seed.
        progress: called after every word of every series.

    Returns:
        How it was made (`file` and `sha256` are empty until it is written), and the table.

    Raises:
        ParameterError: the number of words is not 1 to that of the vocabulary, or the seed is not
            one.
        LexiconError, UnknownMechanismError: as creating a mechanism.
    """
    import pandas as pd

    check_seed(options.seed)
    selection = choose_words(study, counted, options)
    rows: list[Row] = []
    series: list[dict[str, Any]] = []
    start = time.perf_counter()
    for number, one in enumerate(study.series, start=1):
        label = f"{one.name} ({number} of {len(study.series)})"
        facts, found = _measure(one, study, counted, selection, options.seed, label, progress)
        series.append(facts)
        rows += found
    seconds = time.perf_counter() - start
    table = pd.DataFrame(rows, columns=list(COLUMNS))
    entry = Entry(
        name=study.name,
        title=study.title,
        source=study.source,
        command=_command(study, options),
        seed=options.seed,
        version=__version__,
        date=datetime.now(UTC).date().isoformat(),
        seconds=round(seconds, 1),
        runs=study.runs,
        words=len(selection),
        selection=selection.description,
        vocabulary=describe_vocabulary(study.vocabulary, counted),
        data=counted.data,
        series=series,
        machine=machine_facts(),
        file="",
        sha256="",
    )
    return entry, table


def choose_words(study: Study, counted: CountedLexicon, options: Options) -> Selection:
    """The words of a study under a seed.

    Raises:
        ParameterError: the number of words is not 1 to that of the vocabulary.
    """
    lexicon = counted.lexicon
    wanted = options.words if options.words is not None else min(study.words, len(lexicon))
    rng = generator(options.seed, "words of", study.name)
    if not study.by_tokens:
        return measured.sample(lexicon, wanted, rng)
    whole = measured.Selection(
        np.arange(len(lexicon)),
        lexicon.words,
        counted.counts,
        "tokens of the corpus",
        counted.tokens,
        counted.unknown,
    )
    return measured.reduced(whole, wanted, rng)


def describe_vocabulary(key: str, counted: CountedLexicon) -> dict[str, Any]:
    """What a manifest says of a vocabulary."""
    lexicon, extent = counted.lexicon, counted.lexicon.extent
    corpus = CORPORA.get(key)
    return {
        "key": key,
        "title": corpus.title if corpus else f"the bundled lexicon {lexicon.name}",
        "words": len(lexicon),
        "dimension": lexicon.dimension,
        "separation": extent.separation,
        "diameter": extent.diameter,
        "fingerprint": lexicon.fingerprint,
        "tokens": counted.tokens if corpus else None,
        "unknown_tokens": counted.unknown if corpus else None,
        "paper_words": corpus.paper_words if corpus else None,
        "paper_separation": corpus.paper_separation if corpus else None,
    }


def _measure(
    one: Series,
    study: Study,
    counted: CountedLexicon,
    selection: Selection,
    seed: int,
    label: str,
    progress: Progress,
) -> tuple[dict[str, Any], list[Row]]:
    """The manifest's facts and the rows of one series."""
    lexicon = counted.lexicon
    mechanism = create(one.mechanism, lexicon, dict(one.settings))
    if one.named:
        names = [name for name in one.named if name in lexicon]
        chosen = measured.named(lexicon, names) if names else None
    else:
        most = len(selection) if one.words is None else one.words
        chosen = measured.reduced(selection, most, generator(seed, "fewer words", one.name))
    inside = [epsilon for epsilon in one.epsilons if epsilon in mechanism.admissible]
    outside = [epsilon for epsilon in one.epsilons if epsilon not in mechanism.admissible]
    facts: dict[str, Any] = {
        "name": one.name,
        "curve": one.curve or one.name,
        "mechanism": mechanism.key,
        "parameters": mechanism.settings(),
        "method": "",
        "detail": "",
        "words": len(chosen) if chosen else 0,
        "numerical_error": 0.0,
    }
    rows: list[Row] = []
    if chosen and inside:
        found = measure(
            mechanism,
            chosen,
            inside,
            method=one.method,
            runs=study.runs,
            seed=seed,
            progress=lambda _, done, total: progress(label, done, total),
        )
        facts |= {
            "method": str(found.method),
            "detail": found.figures.detail,
            "numerical_error": found.figures.numerical_error,
        }
        rows = _word_rows(found) if one.named else _summary_rows(found)
    common = {"curve": facts["curve"], "series": one.name, "mechanism": mechanism.key}
    common |= {"method": facts["method"], "runs": study.runs}
    if not one.named:
        empty = {"status": UNDEFINED, "word": "", "words": 0}
        rows += [
            {"epsilon": epsilon, "quantity": quantity, **empty}
            for quantity in QUANTITIES
            for epsilon in outside
        ]
    deltas = {epsilon: _true_delta(mechanism, epsilon) for epsilon in inside}
    return facts, [
        row | common | {"true_delta": deltas.get(row["epsilon"], float("nan"))} for row in rows
    ]


def _summary_rows(found: Deniability) -> list[Row]:
    """One row a quantity and ε over the words."""
    rows = []
    for quantity in QUANTITIES:
        s = summarise(found, quantity)
        rows += [
            {
                "word": "",
                "quantity": quantity,
                "status": MEASURED,
                "epsilon": epsilon,
                "mean": s.mean[e],
                "standard_deviation": s.deviation[e],
                "standard_error": s.mean_error[e],
                "median": s.median[e],
                "worst": s.worst[e],
                **{f"q{100 * q:02.0f}": s.bands[j, e] for j, q in enumerate(BANDS)},
                "words": len(found.selection),
            }
            for e, epsilon in enumerate(found.epsilons.tolist())
        ]
    return rows


def _word_rows(found: Deniability) -> list[Row]:
    """One row a word, quantity and ε."""
    rows = []
    for quantity in QUANTITIES:
        values = getattr(found.figures, quantity)
        errors = getattr(found.figures, _ERRORS[quantity])
        rows += [
            {
                "word": name,
                "quantity": quantity,
                "status": MEASURED,
                "epsilon": epsilon,
                "mean": values[i, e],
                "standard_deviation": 0.0,
                "standard_error": errors[i, e],
                **dict.fromkeys(("median", "worst", "q05", "q25", "q75", "q95"), values[i, e]),
                "words": 1,
            }
            for i, name in enumerate(found.selection.names)
            for e, epsilon in enumerate(found.epsilons.tolist())
        ]
    return rows


def _true_delta(mechanism: Mechanism, epsilon: float) -> float:
    """Exact δ at the nominal ε for the worst difference of two vectors; NaN if not that kind."""
    if not isinstance(mechanism, TruncatedLaplaceMechanism):
        return float("nan")
    return worst_delta(mechanism.truncation(epsilon), mechanism.bound, mechanism.dimension)


def _command(study: Study, options: Options) -> str:
    """The command line that makes the result again."""
    parts = [f"python -m dpcore study run {study.name}"]
    if study.vocabulary != BUNDLED:
        parts.append("--data ../shared/data")
    if options.words is not None:
        parts.append(f"--words {options.words}")
    return " ".join([*parts, f"--seed {options.seed}"])
