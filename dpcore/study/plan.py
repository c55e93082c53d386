"""A plan: which mechanisms, at which ε, on which words and data, under which seeds.

A plan is data. It is written as JSON beside what comes of it, and it is a product of its parts: one
cell for each combination. A cell says all that a worker has to know except where its files are
(`dpcore.study.sources`), and the randomness of a cell depends on the cell alone.
"""

from __future__ import annotations

import json
import math
import re
from dataclasses import asdict, dataclass
from itertools import product
from typing import TYPE_CHECKING, Any

from dpcore.errors import StudyError
from dpcore.mechanisms.registry import resolve
from dpcore.noise.streams import check_seed, generator

if TYPE_CHECKING:
    from collections.abc import Mapping

    import numpy as np

Settings = tuple[tuple[str, Any], ...]

BASELINE = ""
"""In place of a mechanism: the text as it stands."""
_FORMAT = 1
_TASK = re.compile(r"[A-Za-z_][\w.]*:[A-Za-z_]\w*")


def canonical(value: object) -> str:
    """JSON in one form, so that equal values have equal text.

    Raises:
        StudyError: it is not a JSON value, or holds NaN or an infinity.
    """
    try:
        return json.dumps(
            value, sort_keys=True, ensure_ascii=False, allow_nan=False, separators=(",", ":")
        )
    except (TypeError, ValueError) as error:
        raise StudyError(
            f"a plan holds JSON values only (texts, finite numbers, lists): {error}"
        ) from None


@dataclass(frozen=True)
class Arm:
    """One curve: a mechanism with its settings at some ε.

    Attributes:
        mechanism: short name or key in the registry; `BASELINE` for the text as it stands.
        epsilons: what is measured; none for the baseline, which has no ε.
        settings: of the mechanism.
        label: of the curve; the name of the mechanism if empty.
        options: for the task; they go before those of the plan.
    """

    mechanism: str
    epsilons: tuple[float, ...] = ()
    settings: Settings = ()
    label: str = ""
    options: Settings = ()

    def __post_init__(self) -> None:
        """Check names and ε (whether a mechanism has an ε depends on the lexicon)."""
        if self.mechanism != BASELINE:
            resolve(self.mechanism)
        if (self.mechanism == BASELINE) != (not self.epsilons):
            raise StudyError(
                "an arm of a plan is a mechanism with one ε or more, or the baseline without any; "
                f"got {self.mechanism or 'the baseline'!r} with {len(self.epsilons)}"
            )
        for epsilon in self.epsilons:
            if not 0 < epsilon < math.inf:
                raise StudyError(f"an ε of a plan is a finite number > 0, got {epsilon}")
        if len(set(self.epsilons)) != len(self.epsilons):
            raise StudyError(f"an ε stands twice in the arm {self.name!r} of a plan")

    @property
    def name(self) -> str:
        """The label, or what stands for it."""
        return self.label or self.mechanism or "baseline"


@dataclass(frozen=True)
class Cell:
    """One unit of work; all fields are JSON values.

    Attributes:
        task: the function that does it.
        label: of its curve.
        mechanism: as in `Arm`.
        settings: of the mechanism.
        epsilons: one, or all of an arm, or none (baseline).
        lexicon: name of a lexicon in the sources; empty if none is read.
        data: key of a file in the sources; empty if none is read.
        seed: of all randomness.
        options: for the task.
    """

    task: str
    label: str
    mechanism: str
    settings: Settings
    epsilons: tuple[float, ...]
    lexicon: str
    data: str
    seed: int
    options: Settings

    @property
    def epsilon(self) -> float | None:
        """The ε of a cell that has one; None for the baseline.

        Raises:
            StudyError: it has several.
        """
        if len(self.epsilons) > 1:
            raise StudyError(f"cell {self.label!r} has {len(self.epsilons)} values of ε, not one")
        return self.epsilons[0] if self.epsilons else None

    def option(self, name: str, default: Any = None) -> Any:
        """An option of the task."""
        return dict(self.options).get(name, default)

    def generator(self, *key: str | int) -> np.random.Generator:
        """Randomness of this cell and no other."""
        return generator(self.seed, "cell", self._identity(), *key)  # whoever does it, and when

    def shared_generator(self, *key: str | int) -> np.random.Generator:
        """Randomness that all cells of one seed and data have in common, such as a split."""
        return generator(self.seed, "data", self.data, *key)

    def _identity(self) -> str:
        """What the noise depends on: not the task, its options or the label."""
        # So a curve may get another name, or more may be measured of it, and its draws stay.
        names = ("mechanism", "settings", "epsilons", "lexicon", "data", "seed")
        return canonical([getattr(self, name) for name in names])

    def to_json(self) -> dict[str, Any]:
        """All fields."""
        return asdict(self)

    @classmethod
    def from_json(cls, fields: Mapping[str, Any]) -> Cell:
        """The cell that `to_json` gave."""
        return cls(**{name: _frozen(value) for name, value in fields.items()})


@dataclass(frozen=True)
class Plan:
    """A product of arms, lexicons, data and seeds.

    Attributes:
        name: for people and file names.
        task: `module:function`; the function takes a `Cell` and its `Sources` and returns rows. A
            worker imports it by this name.
        arms: the curves.
        lexicons: names in the sources; "" in place of one that is not read.
        data: keys of files in the sources.
        seeds: each is one trial.
        options: for the task.
        together: one cell holds all ε of an arm, for a task that gets them from one noise draw.
    """

    name: str
    task: str
    arms: tuple[Arm, ...]
    lexicons: tuple[str, ...] = ("default",)
    data: tuple[str, ...] = ("",)
    seeds: tuple[int, ...] = (0,)
    options: Settings = ()
    together: bool = False

    def __post_init__(self) -> None:
        """Check that there is something to do, and that no cell stands twice."""
        if not _TASK.fullmatch(self.task):
            raise StudyError(f"the task of a plan is module:function, got {self.task[:80]!r}")
        for seed in self.seeds:
            check_seed(seed)
        cells = self.cells()
        if not cells:
            raise StudyError(f"plan {self.name!r} has no cells: give arms, lexicons, data, seeds")
        if len({canonical(cell.to_json()) for cell in cells}) != len(cells):
            raise StudyError(f"plan {self.name!r} holds a cell twice")

    def cells(self) -> tuple[Cell, ...]:
        """Every combination: data, then lexicon, seed, arm and ε."""
        cells = []
        # The seed before the arms: what a seed's cells share in a worker is read once for all.
        for data, lexicon, seed, arm in product(self.data, self.lexicons, self.seeds, self.arms):
            options = tuple((dict(self.options) | dict(arm.options)).items())
            alone: list[tuple[float, ...]] = [(epsilon,) for epsilon in arm.epsilons] or [()]
            for epsilons in [arm.epsilons] if self.together else alone:
                curve = (self.task, arm.name, arm.mechanism, arm.settings)
                cells.append(Cell(*curve, epsilons, lexicon, data, seed, options))
        return tuple(cells)

    def to_json(self) -> dict[str, Any]:
        """A JSON object with all fields, as a manifest keeps it."""
        return {"format": _FORMAT} | asdict(self)


def _frozen(value: Any) -> Any:
    """JSON has lists where we have tuples."""
    return tuple(_frozen(item) for item in value) if isinstance(value, list | tuple) else value
