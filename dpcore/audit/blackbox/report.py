"""Reports of the audits of a function: as data, as sentences and as notebook cards."""

from __future__ import annotations

import dataclasses
import math
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Any

from dpcore.audit.blackbox.function import Form, Probe, Repeats
from dpcore.audit.blackbox.search import Evidence, PowerBand
from dpcore.audit.verdict import Outcome
from dpcore.display import card
from dpcore.outwards import at_least, at_most

if TYPE_CHECKING:
    from dpcore.audit.blackbox.audit import Promise

ASSUMED = (
    "Every call is taken to be independent of all others; what a function remembers from call to "
    "call was looked for, and is not excluded."
)
LEVEL = 0.95
"""Level of the interval of a share."""


@dataclass(frozen=True)
class Share:
    """Share of randomly drawn words, with its Clopper-Pearson interval.

    Attributes:
        count: of `words`.
        words: drawn, each called once.
        low: lower end of the interval of level 95 %.
        high: upper end.
    """

    count: int
    words: int
    low: float
    high: float


@dataclass(frozen=True)
class FunctionReport:
    """Claim about a function from words to words, and the evidence of its outputs.

    Attributes:
        name: of the function.
        form: of its input.
        promise: the claim.
        lexicon: name of the vocabulary, and `fingerprint` its digest.
        fingerprint: see `lexicon`.
        seed: of the choice of words; the noise is the function's own.
        error: probability with which a refutation, or one of the lower bounds, may be wrong.
        outcome: REFUTED or NOT_REFUTED: draws prove nothing.
        label: the outcome, and how far the audit looked.
        evidence: events that were bounded on outputs of their own, best first.
        tests: rates and powers of tests of the most promising pair, all intervals together wrong
            with the probability `error` too; None if nothing was bounded.
        resolution: ln of the largest factor that so many calls can show.
        pairs: pairs of words that were compared.
        within_reach: of them, those whose guarantee allows less than `resolution`.
        unchanged: words that come out as they went in.
        outside: outputs that are not in the lexicon, of `calls`; refusals not counted.
        outsiders: a few of them.
        refused: words of the lexicon that gave no word in four calls, of `tried`; left out.
        tried: see `refused`.
        refusal: reply to one of them; empty if none was refused.
        probes: strings that are no words of the lexicon, and their outputs.
        told_apart: lower bound on the loss between two made-up words; None if not tested.
        repeats: agreement of calls and of processes; a sentence where it could not be tested.
        calls: words that were handed over, in this process.
        microseconds: a word, all calls together.
        stopped: True if it was stopped by hand before its end.
    """

    name: str
    form: Form
    promise: Promise
    lexicon: str
    fingerprint: str
    seed: int
    error: float
    outcome: Outcome
    label: str
    evidence: tuple[Evidence, ...]
    tests: PowerBand | None
    resolution: float
    pairs: int
    within_reach: int
    unchanged: Share
    outside: int
    outsiders: tuple[str, ...]
    refused: int
    tried: int
    refusal: str
    probes: tuple[Probe, ...]
    told_apart: float | None
    repeats: Repeats | str
    calls: int
    microseconds: float
    stopped: bool = False

    @property
    def epsilon_low(self) -> float:
        """Lower bound on ε at the claimed δ, but for `error`; 0 if nothing is shown."""
        return max((e.epsilon for e in self.evidence), default=0.0)

    @property
    def delta_low(self) -> float:
        """Lower bound on δ at the claimed ε, but for `error`; 0 if nothing is shown."""
        return max((e.delta for e in self.evidence), default=0.0)

    @property
    def findings(self) -> tuple[str, ...]:
        """Findings beside the bounds, one sentence each, the worst first."""
        sentences = []
        repeats = self.repeats
        # First what casts doubt on the bounds themselves: they assume independent calls.
        if not isinstance(repeats, str) and repeats.notable:
            sentences.append(repeats.sentence)
        share = self.unchanged
        if share.count == share.words > 0:
            sentences.append(f"every one of {share.words:,} words came out as it went in")
        if passed := [probe for probe in self.probes if probe.passed]:
            listed = ", ".join(
                f"{p.kind} (“{p.tally.text}”, {p.tally.unchanged} of {p.tally.calls} calls)"
                for p in passed
            )
            sentences.append(f"what is no word of the lexicon comes through: {listed}")
        if self.told_apart is not None and self.told_apart > 0:
            sentences.append(
                "words outside the vocabulary are told apart: the outputs of two made-up words "
                f"differ by a factor of at least e^{at_least(self.told_apart, 3)}"
            )
        sentences += [
            f"capital letters show in what comes out: in {p.tally.capitals} of {p.tally.calls} "
            f"calls for “{p.tally.text}”, in {p.plain.capitals} for “{p.plain.text}”"
            for p in self.probes
            # A string that came through shows its capitals anyway, and one example is enough.
            if p.plain is not None and p.capitals_show and not p.passed
        ][:1]
        if self.outside:
            named = ", ".join(f"“{word}”" for word in self.outsiders)
            sentences.append(
                f"{self.outside:,} of {self.calls:,} outputs are not in the lexicon: {named}"
            )
        if self.refused:
            sentences.append(
                f"{self.refused:,} of {self.tried:,} words of the lexicon were refused and left "
                f"out ({self.refusal})"
            )
        return tuple(sentence[0].upper() + sentence[1:] + "." for sentence in sentences)

    @property
    def shown(self) -> str:
        """The bounds in a sentence."""
        if not self.evidence:
            return "No event was bounded."
        # Lower bounds are rounded down and what is allowed up: the sentence stays true.
        best = self.evidence[0]
        allowed = (
            f"; the guarantee allows a factor of e^{at_most(best.allowed)}"
            + ("" if best.distance is None else f" at their distance of {best.distance:.4g}")
            + ("" if not self.promise.delta else f" and δ = {self.promise.delta:.4g}")
        )
        if self.epsilon_low:
            least = f"ε ≥ {at_least(self.epsilon_low)}"
            least += f", δ ≥ {at_least(self.delta_low)} at the claimed ε" if self.delta_low else ""
            least += f", but for a chance of {self.error:g}"
        else:
            least = f"The best of {len(self.evidence)} events shows nothing"
        return f"{least}: {best.sentence}{allowed}."

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON form."""
        repeats = self.repeats
        return {
            "callable": self.name,
            "form": str(self.form),
            "lexicon": self.lexicon,
            "fingerprint": self.fingerprint,
            "seed": self.seed,
            "claimed_epsilon": self.promise.epsilon,
            "claimed_delta": self.promise.delta,
            "metric": self.promise.name,
            "outcome": str(self.outcome),
            "verdict": self.label,
            "epsilon_low": self.epsilon_low,
            "delta_low": self.delta_low,
            "error": self.error,
            "resolution": finite(self.resolution),
            "pairs": self.pairs,
            "within_reach": self.within_reach,
            "evidence": [
                # Where the counts show nothing, the bound on the loss is −∞, which JSON lacks.
                dataclasses.asdict(e) | {"outputs": list(e.outputs), "loss": finite(e.loss)}
                for e in self.evidence
            ],
            "tests": None if self.tests is None else dataclasses.asdict(self.tests),
            "unchanged": dataclasses.asdict(self.unchanged),
            "outside": self.outside,
            "outsiders": list(self.outsiders),
            "refused": self.refused,
            "tried": self.tried,
            "refusal": self.refusal,
            "probes": [
                dataclasses.asdict(probe)
                | {"passed": probe.passed, "capitals_show": probe.capitals_show}
                for probe in self.probes
            ],
            "told_apart": None if self.told_apart is None else finite(self.told_apart),
            "repeats": {"reason": repeats}
            if isinstance(repeats, str)
            else dataclasses.asdict(repeats)
            | {
                "same_noise": repeats.same_noise,
                "partly_same": repeats.partly_same,
                "remembers": repeats.remembers,
                "fixed": repeats.fixed,
            },
            "findings": list(self.findings),
            "assumed": ASSUMED,
            "calls": self.calls,
            "microseconds": self.microseconds,
            "stopped": self.stopped,
        }

    def __repr__(self) -> str:
        """Return one line with the claim, the verdict and the lower bounds."""
        return (
            f"FunctionReport({self.name}, {self.promise.sentence}: {self.label}; "
            f"ε ≥ {at_least(self.epsilon_low)}, δ ≥ {at_least(self.delta_low)})"
        )

    def _repr_html_(self) -> str:
        """Return the verdict as a card: bounds, other findings, assumptions."""
        return card(
            f"Audit of {self.name} ({self.promise.sentence}): {self.label}",
            self.shown,
            *([self.tests.sentence] if self.tests is not None and self.tests.points else []),
            *self.findings,
            self.assumed,
        )

    @property
    def assumed(self) -> str:
        """Assumption of the bounds, and their cost."""
        return f"{ASSUMED} {self.calls:,} calls, {self.microseconds:.3g} µs a word."


def finite(value: float) -> float | None:
    """Return the number, or None for infinity, which JSON lacks."""
    return value if math.isfinite(value) else None


# The report of an audit by replayed noise.


class Grade(StrEnum):
    """Strength of a finding."""

    PROVED = "leak proved"
    """Two texts are told apart for certain, by one of their outputs: no ε without δ is true."""
    LOOK = "depends on the text: look at it"
    """A correct mechanism may have it: whether it leaks follows from its proof, not from runs."""


class Kind(StrEnum):
    """Subject of a finding, those first that weigh most."""

    DETERMINISTIC = "deterministic"
    RETURNED = "text returned as it is"
    KEPT = "word without noise"
    VOCABULARY = "private vocabulary"
    COPIED = "word copied from the text"
    LENGTH = "length of the output"
    SCALE = "scale of the noise"
    CANDIDATES = "candidates"
    DRAWS = "number or order of draws"
    SIZE = "size of a draw"
    BOUNDS = "bounds of a draw"
    SHARED = "draws shared by words"
    ELSEWHERE = "words elsewhere"
    REFUSED = "refused text"
    UNKNOWN = "words outside the vocabulary"
    SEED = "fixed default seed"


@dataclass(frozen=True)
class Finding:
    """Something that depends on the text, with two texts that show it.

    Attributes:
        kind: the subject.
        grade: what it is evidence of.
        sentence: the finding in words.
        text: one of the two texts.
        other: its neighbour, with another word in one place.
        place: of that word, from 0.
        where: file and line of the draw; empty if it is about outputs.
        runs: of the text that the finding rests on; 0 for the runs of the comparison alone.
        delta: lower bound on δ between the two texts, wrong with a probability of at most 10⁻⁶;
            None where none follows.
        pairs: number of pairs of texts that show it.
    """

    kind: Kind
    grade: Grade
    sentence: str
    text: str
    other: str
    place: int
    where: str = ""
    runs: int = 0
    delta: float | None = None
    pairs: int = 1

    @property
    def order(self) -> tuple[bool, int]:
        """Key to sort by: proofs first, then by subject."""
        return self.grade is not Grade.PROVED, list(Kind).index(self.kind)

    def __str__(self) -> str:
        """Return the grade, the subject and the sentence."""
        bound = f" (δ ≥ {at_least(self.delta, 3)} at any ε)" if self.delta else ""
        many = f" [{self.pairs:,} pairs]" if self.pairs > 1 else ""
        return f"{self.grade}: {self.kind}: {self.sentence}{bound}{many}"


@dataclass(frozen=True)
class ReplayReport:
    """Findings of an audit by replayed noise.

    Attributes:
        name: of the function.
        form: of its input: "text", "word" or "words".
        outcome: REFUTED if a leak is proved; else NOT_REFUTED: runs prove no guarantee.
        label: the outcome, and how far the audit looked.
        findings: those that are proved first.
        texts: number of different texts.
        pairs: pairs of them that differ in one word, each compared under the same noises.
        runs: calls of the function.
        refused: of the first runs, those that gave no text.
        draws: number of draws seen, by kind.
        all_seen: True if the same noise gave the same output and the same draws in every text.
        noise: the same in a sentence.
        not_seen: sentences about what such an audit cannot see.
        seed: of the noise and of the choice of words.
        seconds: of all runs together.
    """

    name: str
    form: str
    outcome: Outcome
    label: str
    findings: tuple[Finding, ...]
    texts: int
    pairs: int
    runs: int
    refused: int
    draws: dict[str, int]
    all_seen: bool
    noise: str
    not_seen: tuple[str, ...]
    seed: int
    seconds: float

    @property
    def proved(self) -> tuple[Finding, ...]:
        """Findings that separate two texts."""
        return tuple(f for f in self.findings if f.grade is Grade.PROVED)

    @property
    def kinds(self) -> frozenset[Kind]:
        """Subjects of all findings."""
        return frozenset(finding.kind for finding in self.findings)

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON form."""
        fields = {f.name: getattr(self, f.name) for f in dataclasses.fields(self)}
        del fields["name"], fields["label"]
        return {
            "callable": self.name,
            **fields,
            "outcome": str(self.outcome),
            "verdict": self.label,
            "findings": [
                dataclasses.asdict(f) | {"kind": str(f.kind), "grade": str(f.grade)}
                for f in self.findings
            ],
            "not_seen": list(self.not_seen),
        }

    def __repr__(self) -> str:
        """Return one line with the verdict and the subjects of the findings."""
        subjects = ", ".join(str(finding.kind) for finding in self.findings) or "no finding"
        return f"ReplayReport({self.name}: {self.label}; {subjects})"

    def __str__(self) -> str:
        """Return the verdict, each finding, the noise and its limits, one a line."""
        return "\n".join((f"{self.name}: {self.label}", *self.lines))

    @property
    def lines(self) -> tuple[str, ...]:
        """All that follows the verdict."""
        counts = ", ".join(f"{kind} {count:,}" for kind, count in self.draws.items()) or "none"
        return (
            *(f"  {finding}" for finding in self.findings),
            f"  draws seen: {counts}",
            f"  {self.noise}",
            *(f"  not seen: {sentence}" for sentence in self.not_seen),
            f"  {self.pairs:,} pairs of texts, {self.runs:,} runs, {self.seconds:.3g} s",
        )

    def _repr_html_(self) -> str:
        """Return the verdict as a card: findings, noise, limits."""
        return card(f"Replay of {self.name}: {self.label}", *(line.strip() for line in self.lines))
