"""Making a recorded experiment: run its plan, add what is true of its privacy, write both files."""

from __future__ import annotations

import json
import tempfile
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dpcore import __version__
from dpcore.jobs.executors import of
from dpcore.jobs.machine import machine_facts
from dpcore.lexicon.packages import installed
from dpcore.lexicon.progress import Progress, silent
from dpcore.study.embeddings import load_embedding
from dpcore.study.experiment_results import ExperimentEntry, tidy
from dpcore.study.plan import canonical
from dpcore.study.privacy_rows import privacy_rows
from dpcore.study.runner import run
from dpcore.study.sources import gather

if TYPE_CHECKING:
    import pandas as pd

    from dpcore.lexicon.lexicon import Lexicon
    from dpcore.papers.experiments import Experiment

_PACKAGES = ("scikit-learn", "scipy", "rouge-score", "sacrebleu", "torch", "transformers")


def record_experiment(
    experiment: Experiment,
    data: Path | None,
    workers: int = 1,
    work: Path | None = None,
    progress: Progress = silent,
) -> tuple[ExperimentEntry, pd.DataFrame]:
    """Run an experiment.

    Args:
        experiment: what to do.
        data: the folder of corpora and vectors; None for an experiment that reads none.
        workers: processes.
        work: finished cells are kept here, and a run that was stopped goes on; a temporary folder
            if None.
        progress: called after every cell.

    Returns:
        How it was made (`file` and `sha256` are empty until it is written), and the table.

    Raises:
        StudyError: a file is missing, a cell failed, or the folder cannot be written.
    """
    if work is None:
        with tempfile.TemporaryDirectory(prefix="dpcore-") as folder:
            return record_experiment(experiment, data, workers, Path(folder), progress)
    plan = experiment.plan
    lexicons = {name: load_embedding(name, data) for name in plan.lexicons if name}
    files = {name: data / name for name in plan.data if name and data is not None}
    sources = gather(plan, work, lexicons=lexicons, files=files)
    found: dict[str, tuple[dict[str, Any], ...]] = {}
    seconds = 0.0
    with of(workers) as executor:
        for done in run(plan, sources, work, executor=executor, progress=progress):
            found[canonical(done.cell.to_json())] = done.rows
            seconds += done.seconds
    rows = [one for cell in plan.cells() for one in found[canonical(cell.to_json())]]
    progress("what is true of the privacy", 0, 1)
    rows += privacy_rows(plan, lexicons)
    entry = ExperimentEntry(
        name=experiment.name,
        title=experiment.title,
        source=experiment.source,
        command=f"python -m dpcore study run {experiment.name}"
        + (" --data ../shared/data" if experiment.reads_data else ""),
        plan=json.loads(canonical(plan.to_json())),
        sizes=experiment.sizes,
        version=__version__,
        date=datetime.now(UTC).date().isoformat(),
        seconds=round(seconds, 1),
        workers=workers,
        lexicons=[_facts(name, lexicon) for name, lexicon in lexicons.items()],
        data={name: place.fingerprint for name, place in sources.files},
        packages=installed(_PACKAGES),
        machine=machine_facts(),
        file="",
        sha256="",
    )
    return entry, tidy(rows)


def _facts(name: str, lexicon: Lexicon) -> dict[str, Any]:
    extent = lexicon.extent
    return {
        "name": name,
        "title": lexicon.name,
        "words": len(lexicon),
        "dimension": lexicon.dimension,
        "separation": extent.separation,
        "diameter": extent.diameter,
        "fingerprint": lexicon.fingerprint,
    }
