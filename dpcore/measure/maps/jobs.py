"""Background jobs that build maps for the pages, shared by all sessions that need the same map.

A result appears in the cache atomically. The words that a person chose are sent to the build
process through its input, not through its arguments, which other users of the machine could read.
"""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path

from dpcore.errors import ParameterError, StudyError
from dpcore.jobs.background import Background, Job
from dpcore.jobs.executors import Processes
from dpcore.jobs.worker import Json, Tell, now_and_then
from dpcore.lexicon.cache import cache_folder
from dpcore.lexicon.catalogue import load, name_of, write_stored
from dpcore.lexicon.lexicon import Lexicon
from dpcore.lexicon.metric import Metric
from dpcore.limits import MAX_MAP_JOBS
from dpcore.measure.maps.fit import (
    DEFAULT_NEIGHBOURS,
    build_command,
    build_local_map,
    build_vocabulary_map,
    check_plan,
)
from dpcore.measure.maps.store import (
    MapPlan,
    Projection,
    check_cache,
    plan_of_vocabulary,
    plan_of_words,
    recall_map,
)

# Start and end of each stage on the way from 0 to 1, as shares of its time for 25,000 words on one
# core; and its name.
_STAGES = {
    "reading": (0.0, 0.0, "Reading the lexicon"),
    "neighbours": (0.0, 0.2, "Finding neighbours"),
    "preparing": (0.2, 0.35, "Preparing (10 to 40 s)"),
    "layout": (0.35, 0.95, "Placing the words"),
    "measuring": (0.95, 1.0, "Measuring what the map keeps"),
}


def _process(listen: Tell) -> Processes:
    # Half of the cores, for the neighbours; no retry: a map that ran out of memory would again.
    threads = max(1, (os.cpu_count() or 1) // 2)
    return Processes(1, listen, threads=threads, gently=True, attempts=1)


_MAPS = Background("dpcore.measure.maps.jobs:build", MAX_MAP_JOBS, Job, _process)


def start(
    lexicon: Lexicon,
    projection: Projection | str,
    centres: Sequence[int] = (),
    k: int = DEFAULT_NEIGHBOURS,
    *,
    seed: int = 0,
) -> Job | None:
    """Start building a map: of the whole lexicon, or of the neighbourhood of one or two words.

    At most `limits.MAX_MAP_JOBS` are built at a time, the others wait.

    Args:
        lexicon: words and vectors.
        projection: the projection; of a neighbourhood UMAP or densMAP.
        centres: one or two word indices; none for the whole lexicon.
        k: nearest words of each centre.
        seed: 0 to MAX_SEED.

    Returns:
        A share in the job, or None if the map exists.

    Raises:
        ParameterError: as `dpcore.measure.maps.fit.local_map`, or PCA of a neighbourhood, which
            `local_map` computes at once.
    """
    euclidean = lexicon.with_metric(Metric.EUCLIDEAN)
    if len(centres):
        plan = plan_of_words(euclidean, centres, k, projection, seed)
        if plan.projection is Projection.PCA:
            raise ParameterError("PCA of a neighbourhood is computed at once: use local_map")
    else:
        plan = plan_of_vocabulary(projection, seed)
    check_plan(euclidean, plan)
    if recall_map(plan, euclidean.fingerprint) is not None:
        return None
    return _MAPS.start(_requested(euclidean, plan), _Course, key=(euclidean.fingerprint, plan))


@contextmanager
def _requested(lexicon: Lexicon, plan: MapPlan) -> Iterator[list[Json]]:
    """Yield the only payload; files that it refers to exist while the context is open."""
    with tempfile.TemporaryDirectory(prefix="map-") as folder:
        name = name_of(lexicon)
        if name is None:  # the process cannot load it by name
            name = str(Path(folder) / "lexicon")
            write_stored(lexicon, Path(name), {})
        try:
            yield [{"lexicon": name, "plan": asdict(plan)}]
        except StudyError as error:  # no refusal: the process died or failed
            raise StudyError(
                f"{error}; try again, or see what it says with: {build_command(lexicon, plan)}"
            ) from None


def build(request: Json, tell: Tell) -> Json:
    """Build a map and keep it; the job of the process.

    Args:
        request: `lexicon`, a name or a folder, and `plan`, the fields of a `MapPlan`.
        tell: called a few times a second with the progress.

    Raises:
        ParameterError: the map cannot be kept, or as `build_vocabulary_map`.
        MissingPackageError: as `build_vocabulary_map`.
    """
    check_cache()
    progress = now_and_then(tell)
    progress("reading", 0, 0)
    lexicon = load(request["lexicon"])
    kind = Projection(request["plan"]["projection"])
    centres = tuple(request["plan"]["centres"])
    plan = MapPlan(**request["plan"] | {"projection": kind, "centres": centres})
    if centres:
        k = plan.neighbours
        shown = build_local_map(lexicon, centres, k, kind, seed=plan.seed, progress=progress)
    else:
        shown = build_vocabulary_map(lexicon, kind, seed=plan.seed, progress=progress)
    if recall_map(plan, shown.fingerprint) is None:
        raise ParameterError(f"the map could not be kept in {cache_folder()}: try again")
    return {}


class _Course:
    """Progress of a map."""

    def __init__(self) -> None:
        self._stage, self._done, self._total = "", 0, 0
        self._since = (0.0, 0)  # when the stage began to move, and from where

    def hear(self, stage: str, done: int, total: int) -> None:
        # The first round of a layout also compiles it, so the clock starts after it.
        if stage != self._stage or (self._done == 0 and done <= 1):
            self._since = (time.monotonic(), done)
        self._stage, self._done, self._total = stage, done, total

    def finish_part(self, now: float) -> None:
        self.hear("measuring", 1, 1)

    def progress(self, now: float) -> tuple[float, str]:
        first, last, title = _STAGES.get(self._stage, (0.0, 0.0, "Starting"))
        done, total, (begun, before) = self._done, self._total, self._since
        if not total:
            return first, title
        sentence = f"{title}: {done:,} of {total:,}"
        if done > before:
            left = (now - begun) / (done - before) * (total - done)
            sentence += f", about {max(1, round(left))} s left"
        return first + min(1.0, done / total) * (last - first), sentence
