"""A plan: which mechanisms, at which ε, on which words and data, under which seeds.

A plan is data. It can be written as JSON and read again, and it is a product of its parts: one
cell for each combination. A cell says all that a worker has to know except where its files are
(`dpcore.study.sources`), and the randomness of a cell depends on the cell alone.
"""

from __future__ import annotations

import hashlib
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
_OURS = "dpcore."


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
        return generator(self.seed, "cell", self._identity(), *key)

    def shared_generator(self, *key: str | int) -> np.random.Generator:
        """Randomness that all cells of one seed and data have in common, such as a split."""
        return generator(self.seed, "data", self.data, *key)

    def secret(self) -> bytes:
        """32 bytes that key the noise of the documents of this cell, an experiment."""
        return hashlib.sha256(f"experiment\n{self._identity()}".encode()).digest()

    def _identity(self) -> str:
        """What the noise depends on: not the task, its options or the label."""
        names = ("mechanism", "settings", "epsilons", "lexicon", "data", "seed")
        return canonical([getattr(self, name) for name in names])

    def to_json(self) -> dict[str, Any]:
        """All fields."""
        return asdict(self)

    @classmethod
    def from_json(cls, found: Mapping[str, Any]) -> Cell:
        """The cell that `to_json` gave."""
        return cls(
            **dict(found)
            | {
                "settings": _settings(found["settings"]),
                "epsilons": tuple(found["epsilons"]),
                "options": _settings(found["options"]),
            }
        )


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
        found = []
        for data, lexicon, seed, arm in product(self.data, self.lexicons, self.seeds, self.arms):
            options = tuple((dict(self.options) | dict(arm.options)).items())
            alone: list[tuple[float, ...]] = [(epsilon,) for epsilon in arm.epsilons] or [()]
            found += [
                Cell(
                    self.task,
                    arm.name,
                    arm.mechanism,
                    arm.settings,
                    epsilons,
                    lexicon,
                    data,
                    seed,
                    options,
                )
                for epsilons in ([arm.epsilons] if self.together else alone)
            ]
        return tuple(found)

    def to_json(self) -> dict[str, Any]:
        """A JSON object that `from_json` reads."""
        return {"format": _FORMAT} | asdict(self)

    @classmethod
    def from_json(cls, found: Mapping[str, Any]) -> Plan:
        """Read a plan, which may come from a stranger: its task must be one of ours.

        Raises:
            StudyError: it is not a plan.
        """
        fields = dict(found)
        if fields.pop("format", None) != _FORMAT:
            raise StudyError(f"a plan is a JSON object with format {_FORMAT}")
        try:
            if not str(fields["task"]).startswith(_OURS):
                raise StudyError(f"the task of a plan file begins with {_OURS}")
            fields["arms"] = tuple(
                Arm(
                    **dict(arm)
                    | {
                        "epsilons": tuple(arm["epsilons"]),
                        "settings": _settings(arm["settings"]),
                        "options": _settings(arm["options"]),
                    }
                )
                for arm in fields["arms"]
            )
            fields |= {name: tuple(fields[name]) for name in ("lexicons", "data", "seeds")}
            return cls(**fields | {"options": _settings(fields["options"])})
        except (KeyError, TypeError, ValueError) as error:
            if isinstance(error, StudyError):
                raise
            raise StudyError(f"a plan lacks or has too many fields: {error}") from None


def _settings(found: Any) -> Settings:
    """Pairs of name and value, from JSON."""
    return tuple((str(name), _frozen(value)) for name, value in found)


def _frozen(value: Any) -> Any:
    """JSON has lists where we have tuples."""
    return tuple(_frozen(one) for one in value) if isinstance(value, list) else value
