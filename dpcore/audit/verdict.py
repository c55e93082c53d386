"""Verdict on a published claim, as data for pages and files."""

from __future__ import annotations

import dataclasses
import math
from dataclasses import dataclass
from enum import StrEnum

from dpcore.arrays import a_number
from dpcore.errors import ParameterError
from dpcore.lexicon.cache import FIELDS, brief
from dpcore.written import Filled

Number = float | int | str
"""Figure of a verdict; a number that is not finite is kept as text ("∞")."""


class Outcome(StrEnum):
    """Verdict on a claim. An audit refutes, or fails to; only a proof proves."""

    PROVED = "proved"
    CHECKED = "checked exactly on this vocabulary"
    CONDITIONAL = "conditional"
    """It holds under a condition that these settings do not meet, or that was not computed."""
    NOT_REFUTED = "not refuted"
    DISAGREES = "the sampler disagrees with its law"
    """The proof is about a law, and draws contradict that law: a fault of the sampler."""
    REFUTED = "refuted"


@dataclass(frozen=True)
class Condition:
    """A condition of the claim, and whether these settings meet it."""

    text: str
    met: bool


@dataclass(frozen=True, kw_only=True)
class SamplerTest:
    """Test that a sampler has the law of a proof. It does not test the proof.

    Attributes:
        tests: how many statistics were tested, each at its share of `error`.
        draws: of the sampler.
        p_value: the smallest of all tests.
        threshold: a test fails below this p-value.
        error: a correct sampler fails some test with at most about this probability.
        failed: names of the tests that failed.
    """

    tests: int
    draws: int
    p_value: float
    threshold: float
    error: float
    failed: tuple[str, ...] = ()

    @property
    def agrees(self) -> bool:
        """True if no test failed."""
        return not self.failed

    @property
    def outcome(self) -> str:
        """The finding in a few words, with the smallest p-value."""
        if self.agrees:
            return "no test tells the sampler from its law"
        return Filled("the sampler disagrees with its law (p = {p:.2g})", p=self.p_value)

    def judged(self, claim: Outcome) -> Outcome:
        """Return the outcome of an audit, given the outcome of the claim about the law.

        Draws of the sampler neither prove nor refute anything about the law.
        """
        return claim if self.agrees else Outcome.DISAGREES

    def label(self, claim: str) -> str:
        """Return the outcome as a table shows it: both findings, if the sampler fails."""
        if self.agrees:
            return claim
        return Filled("{outcome}; of the law: {claim}", outcome=self.outcome, claim=claim)

    def to_dict(self) -> dict[str, object]:
        """Return the JSON form."""
        return {**dataclasses.asdict(self), "failed": list(self.failed)}


@dataclass(frozen=True, kw_only=True)
class Verdict:
    """A published claim, its check and the verdict.

    Attributes:
        key: short name, for links and the command line.
        title: readable name of the claim.
        claim: one sentence.
        source: paper of the claim, with the number of the theorem.
        mechanism: short name in the registry; empty if it has no entry there.
        lexicon: name of the vocabulary, and `fingerprint` its digest; empty if none was used.
        fingerprint: see `lexicon`.
        settings: the parameters of this check.
        conditions: of the claim, checked for these settings.
        computed: result of the check, in one or two sentences.
        outcome: verdict on the claim; `DISAGREES` where a test of the sampler failed.
        sampler: that test, where there was one.
        law: verdict on the claim about the law, where there was one.
        extent: of a check that proves nothing, such as "1,770 pairs of words".
        failing_step: the step of the published proof that does not hold; empty if none.
        repair: the replacement, or the proof; one sentence.
        numbers: the figures of `computed`, by name.
        command: that reproduces it.
    """

    key: str
    title: str
    claim: str
    source: str
    outcome: Outcome
    computed: str
    command: str
    mechanism: str = ""
    lexicon: str = ""
    fingerprint: str = ""
    settings: dict[str, Number] = dataclasses.field(default_factory=dict)
    conditions: tuple[Condition, ...] = ()
    extent: str = ""
    failing_step: str = ""
    repair: str = ""
    numbers: dict[str, Number] = dataclasses.field(default_factory=dict)
    sampler: SamplerTest | None = None
    law: Outcome | None = None

    def __post_init__(self) -> None:
        """Convert numbers that JSON lacks to text; check the outcome against its grounds."""
        for name in ("settings", "numbers"):
            given = getattr(self, name)
            object.__setattr__(self, name, {key: _plain(value) for key, value in given.items()})
        if self.outcome is Outcome.NOT_REFUTED and not self.extent:
            raise ParameterError(
                f"verdict {self.key}: 'not refuted' needs to say how far it looked"
            )
        if self.outcome is Outcome.REFUTED and not self.numbers:
            raise ParameterError(f"verdict {self.key}: 'refuted' needs the numbers that refute it")
        unmet = [condition.text for condition in self.conditions if not condition.met]
        if (self.law or self.outcome) is Outcome.PROVED and unmet:
            raise ParameterError(f"verdict {self.key}: not 'proved' unless {unmet[0]}")
        if self.outcome is Outcome.CONDITIONAL and not unmet:
            raise ParameterError(f"verdict {self.key}: 'conditional' needs a condition not met")
        if (self.outcome is Outcome.DISAGREES) == (self.sampler is None or self.sampler.agrees):
            raise ParameterError(f"verdict {self.key}: a sampler disagrees if its test fails")

    @property
    def label(self) -> str:
        """The outcome as a table shows it."""
        if self.sampler is not None and self.law is not None:
            return self.sampler.label(str(self.law))
        if self.outcome is Outcome.NOT_REFUTED:
            return Filled("not refuted ({extent})", extent=self.extent)
        return str(self.outcome)

    def to_dict(self) -> dict[str, object]:
        """Return the JSON form, with the label."""
        fields = {field.name: getattr(self, field.name) for field in dataclasses.fields(self)}
        fields["outcome"] = str(self.outcome)
        fields["conditions"] = [dataclasses.asdict(condition) for condition in self.conditions]
        fields["sampler"] = None if self.sampler is None else self.sampler.to_dict()
        fields["law"] = None if self.law is None else str(self.law)
        return fields | {"label": self.label}

    @classmethod
    def from_dict(cls, fields: dict[str, object]) -> Verdict:
        """Read a verdict from its JSON form.

        Raises:
            ParameterError: a field is missing, unknown or of the wrong kind.
        """
        try:
            values = {name: value for name, value in fields.items() if name != "label"}
            values["outcome"] = Outcome(str(values["outcome"]))
            conditions = values.get("conditions", [])
            if not isinstance(conditions, list):
                raise TypeError("conditions is a list")
            values["conditions"] = tuple(
                Condition(text=str(condition["text"]), met=bool(condition["met"]))
                for condition in conditions
            )
            if isinstance(test := values.get("sampler"), dict):
                values["sampler"] = SamplerTest(**test | {"failed": tuple(test["failed"])})
            if values.get("law") is not None:
                values["law"] = Outcome(str(values["law"]))
            return cls(**values)  # type: ignore[arg-type]
        except FIELDS as error:
            raise ParameterError(f"this is no verdict: {brief(error)}") from None


def _plain(value: object) -> Number:
    if isinstance(value, str | int) and not isinstance(value, bool):
        return value
    number = a_number(float(value), "a figure of a verdict")  # type: ignore[arg-type]
    if math.isfinite(number):
        return number
    return "∞" if number > 0 else "−∞"
