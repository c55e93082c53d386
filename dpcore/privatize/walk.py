"""Walk through NIST SP 800-226: its questions on a guarantee, answered from a release's record.

The publication looks at a guarantee from the top of a pyramid down: ε and the unit of privacy
(Section 2), the algorithm with its utility and bias (Section 3), and the deployment (Section 4:
trust, side channels, security, collection). Each row belongs to one of its sections. A row is met
only where the record holds every fact that this needs: a missing fact is never a good one.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from enum import StrEnum
from typing import Any, NamedTuple

from dpcore.guarantee import ApproximateLocalPrivacy, MetricPrivacy, PureLocalPrivacy, Status
from dpcore.jobs.worker import Json
from dpcore.lexicon.catalogue import is_bundled
from dpcore.mechanisms.registry import MECHANISMS
from dpcore.outwards import at_least, at_most, without_noise
from dpcore.privatize.order import NOISE, MissingFactError, RecordFacts
from dpcore.rewrite.policy import UnknownWordPolicy
from dpcore.tables.shape import FORMATS
from dpcore.written import Filled, Numeral

CITED = (
    "Near, Darais, Lefkovitz, Howarth 2025: Guidelines for Evaluating Differential Privacy "
    "Guarantees, NIST SP 800-226, doi:10.6028/NIST.SP.800-226"
)
SECTIONS = {
    "2.2": "The Privacy Parameter ε",
    "2.3": "Variants of Differential Privacy",
    "2.4": "The Unit of Privacy",
    "2.5": "Comparing Differential Privacy Guarantees",
    "2.6": "Mixing Differential Privacy With Other Data Releases",
    "3": "Differentially Private Algorithms",
    "3.1": "Basic Mechanisms and Common Elements",
    "3.2": "Utility and Accuracy",
    "3.3": "Bias",
    "4.2": "Trust Models",
    "4.3": "Mechanism Implementation Challenges",
    "4.4": "Data Security and Access Control",
    "4.5": "Data Collection Exposure",
}
"""Sections of the publication to which rows belong, and their titles."""
PARTS = {
    "2": Filled("The guarantee (Section 2)"),
    "3": Filled("The algorithm (Section 3)"),
    "4": Filled("The deployment (Section 4)"),
    "": Filled("What is left"),
}
"""Layers of the pyramid, by the first digit of a section."""
TITLE = Filled("A walk through NIST SP 800-226")
DISCLAIMER = Filled(
    "A reading of the record by this laboratory along NIST SP 800-226: NIST has not evaluated it."
)
_STRONG = 1.0  # ε below which Section 2.2 calls a guarantee reasonable for strong privacy
_SUSPICIOUS = 1e-5  # δ above which Section 2.3 calls a guarantee suspicious
_SILENT = Filled("The record does not say.")


class Met(StrEnum):
    """Judgement of a row."""

    YES = "met"
    NO = "not met"
    UNKNOWN = "not known"


TOLD = {
    Met.YES: Filled("Met"),
    Met.NO: Filled("Not met"),
    Met.UNKNOWN: Filled("Not known"),
    None: Filled("To do"),
}
"""Judgements as headings."""


@dataclass(frozen=True)
class Row:
    """Question of the walk with its answer.

    Attributes:
        key: short name.
        section: number of the section of the publication; empty for what is left.
        question: in plain English; an answer that begins with "Yes" is a good one.
        met: judgement; None for what is left, which is not judged.
        answer: sentences, filled from the record.
        points: list that belongs to the answer.
        advice: what a person can do; empty where the row is met.
        facts: names of the fields of the record that were asked for.
    """

    key: str
    section: str
    question: str
    met: Met | None
    answer: tuple[str, ...]
    points: tuple[str, ...] = ()
    advice: str = ""
    facts: tuple[str, ...] = ()

    @property
    def title(self) -> str:
        """Section with its title, as it is cited; empty for what is left."""
        return f"§ {self.section} {SECTIONS[self.section]}" if self.section else ""

    @property
    def part(self) -> str:
        """Layer of the pyramid, a key of `PARTS`."""
        return self.section[:1]

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON form."""
        title = SECTIONS.get(self.section)
        return asdict(self) | {"title": title, "answer": " ".join(self.answer)}


def walk(record: Json) -> tuple[Row, ...]:
    """Answer the questions of the publication from the record of a release.

    Args:
        record: as `privatize` returns it, or an older one, which may lack fields.

    Returns:
        The rows in the order of its sections; the last one lists what a person must still do.
    """
    rows = []
    for key, section, answer, question, advice in _QUESTIONS:
        facts = _Facts(record)
        try:
            answered = answer(facts)
        except MissingFactError:
            answered = _Answer(Met.UNKNOWN, (_SILENT,))
        advice = "" if answered.met is Met.YES else answered.advice or advice
        rest = answered.points, advice, tuple(facts.asked)
        rows.append(Row(key, section, question, answered.met, answered.told, *rest))
    # Each piece of advice once: two rows may give the same.
    to_do = tuple(dict.fromkeys(row.advice for row in rows if row.advice))
    return (*rows, Row("left", "", Filled("What must a person still do?"), None, (), to_do))


def tally(rows: Iterable[Row]) -> str:
    """Count the judgements in one sentence."""
    judged = [row.met for row in rows if row.met is not None]
    met, unmet, unknown = (judged.count(each) for each in Met)
    return Filled(
        "Of {all} questions {met} are met, {unmet} are not, and {unknown} cannot be answered from "
        "the record.",
        all=len(judged),
        met=met,
        unmet=unmet,
        unknown=unknown,
    )


def walk_dict(rows: Sequence[Row]) -> dict[str, Any]:
    """Return the JSON form of a walk."""
    return {
        "publication": CITED,
        "disclaimer": str(DISCLAIMER),
        "counts": {str(each): sum(row.met is each for row in rows) for each in Met},
        "rows": [row.to_dict() for row in rows],
    }


def protected_words(count: int) -> str:
    """Write a number of protected words."""
    if count == 1:
        return Filled("1 protected word")
    return Filled("{count} protected words", count=Numeral(f"{count:,}"))


_KINDS = (PureLocalPrivacy.kind, ApproximateLocalPrivacy.kind, MetricPrivacy.kind)


class _Facts(RecordFacts):
    """Facts of a record that say what its guarantee is worth."""

    def spent(self, name: str) -> tuple[int, float, float | None]:
        """Return words, δ and ε of a composed guarantee; ε is None where none is known."""
        words, delta = self.count(f"{name}.words"), self.positive(f"{name}.delta")
        if self.of(f"{name}.epsilon") is None:
            return words, delta, None
        return words, delta, self.positive(f"{name}.epsilon", zero=True)

    @property
    def kind(self) -> str:
        """Kind of the guarantee, one of those that are known here."""
        kind = self.text("guarantee.kind")
        if kind not in _KINDS:
            raise MissingFactError("guarantee.kind")
        return kind

    @property
    def most(self) -> float:
        """ε between any two words: of a metric guarantee that of the two farthest ones."""
        if self.kind != MetricPrivacy.kind:
            return self.positive("guarantee.epsilon")
        # The plain sum over the longest text takes the two farthest words in every place.
        return without_noise(self.positive("composed.sum") / self.count("composed.words"))

    @property
    def holds(self) -> Met:
        """Judgement of the guarantee itself: proved or certified, refuted, or else not known."""
        status = self.text("guarantee.status")
        if status in (Status.PROVED, Status.CERTIFIED):
            return Met.YES
        return Met.NO if status == Status.REFUTED else Met.UNKNOWN

    def judged(self, good: bool) -> Met:
        """Judge a number of the guarantee: no better than the guarantee itself."""
        holds = self.holds
        return holds if good else Met.NO

    @property
    def caveat(self) -> tuple[str, ...]:
        """Sentence on a guarantee that is weaker than its numbers; none if it holds."""
        status = self.text("guarantee.status")
        if status == Status.REFUTED:
            return (Filled("The claim is refuted: its numbers do not hold."),)
        if status == Status.CONDITIONAL:
            return (Filled("The guarantee holds under a condition only."),)
        return ()


class _Answer(NamedTuple):
    met: Met
    told: tuple[str, ...]
    points: tuple[str, ...] = ()
    advice: str = ""  # in place of that of the question


def _texts(count: int) -> str:
    if count == 1:
        return Filled("1 text")
    return Filled("{texts} texts", texts=Numeral(f"{count:,}"))


def _bound(value: float, digits: int = 4) -> Numeral:
    return Numeral(at_most(without_noise(value), digits))


_NEVER = Filled("Never release this file: it is an experiment.")
_PROVE = Filled("Choose a mechanism whose guarantee is proved.")


# Section 2: the guarantee.


def _epsilon(facts: _Facts) -> _Answer:
    epsilon = facts.positive("guarantee.epsilon")
    first = Filled("ε = {epsilon} between any two words.", epsilon=_bound(epsilon))
    if facts.kind == MetricPrivacy.kind:
        first = Filled(
            "ε = {epsilon} for each unit of distance between two words: {most} for the two "
            "farthest ones.",
            epsilon=_bound(epsilon),
            most=_bound(facts.most),
        )
    compared = Filled(
        "NIST calls values below 1 reasonable, and warns that large ones may mean little."
    )
    return _Answer(facts.judged(facts.most < _STRONG), (first, compared, *facts.caveat))


def _text(facts: _Facts) -> _Answer:
    words, delta, epsilon = facts.spent("composed")
    if epsilon is None:
        first = Filled(
            "For δ = {delta:g} no ε is known for the longest text, of {words}.",
            words=protected_words(words),
            delta=delta,
        )
        return _Answer(Met.NO, (first, *facts.caveat))
    sentences: list[str] = [
        Filled(
            "For δ = {delta:g} the longest text, of {words}, has ε = {epsilon}.",
            words=protected_words(words),
            epsilon=_bound(epsilon),
            delta=delta,
        )
    ]
    # An older record has no median; half of the texts may have no words.
    if facts.there("composed_median") and facts.count("composed_median.words", zero=True):
        half, _, less = facts.spent("composed_median")
        if less is not None:
            sentences.append(
                Filled(
                    "Half of the texts have at most {words} and ε = {epsilon}.",
                    words=protected_words(half),
                    epsilon=_bound(less),
                )
            )
    return _Answer(facts.judged(epsilon < _STRONG), (*sentences, *facts.caveat))


def _again(facts: _Facts) -> _Answer:
    first = Filled(
        "The record speaks of one run, “{run}”, and not of other copies of the texts.",
        run=facts.text("run"),
    )
    _, delta, epsilon = facts.spent("composed")
    if epsilon is None:
        return _Answer(Met.UNKNOWN, (first,))
    # Basic composition of two copies of the longest text.
    twice = Filled(
        "A second copy would spend ε again: for δ = {delta:g} the longest text would have "
        "ε = {epsilon}.",
        epsilon=_bound(2.0 * epsilon),
        delta=2.0 * delta,
    )
    return _Answer(Met.UNKNOWN, (first, twice, *facts.caveat))


def _definition(facts: _Facts) -> _Answer:
    if facts.kind == MetricPrivacy.kind:
        weaker = Filled(
            "No, metric privacy, which is weaker: two words at distance d are told apart by a "
            "factor of at most e^({epsilon}·d).",
            epsilon=_bound(facts.positive("guarantee.epsilon")),
        )
        only = Filled(
            "Between any two words it is ε-differential privacy with ε = {most} only.",
            most=_bound(facts.most),
        )
        return _Answer(Met.NO, (weaker, only, *facts.caveat))
    first = Filled("Pure ε-differential privacy between any two words.")
    if facts.kind == ApproximateLocalPrivacy.kind:
        first = Filled(
            "(ε, δ)-differential privacy between any two words; NIST prefers variants that cannot "
            "fail altogether."
        )
    return _Answer(facts.holds, (first, *facts.caveat), advice=_PROVE)


def _delta(facts: _Facts) -> _Answer:
    if facts.kind != ApproximateLocalPrivacy.kind:
        first = Filled("For a single word it cannot, rounding aside: δ = 0.")
        return _Answer(facts.judged(True), (first, *facts.caveat), advice=_PROVE)
    log_delta, words = facts.number("guarantee.log_delta"), facts.count("protected_words")
    # n counts what the guarantee protects, and that is words.
    log_limit = min(-2.0 * math.log(words), math.log(_SUSPICIOUS))
    first = Filled(
        "It may with a probability of δ = {delta} for each word.",
        delta=Numeral(facts.text("guarantee.delta")),
    )
    usual = Filled(
        "NIST gives 1/n² as the usual limit, and calls more than 0.00001 suspicious: that is "
        "{limit} for {words}.",
        limit=Numeral(at_least(without_noise(math.exp(log_limit)), 3)),
        words=protected_words(words),
    )
    return _Answer(facts.judged(log_delta <= log_limit), (first, usual, *facts.caveat))


def _unit(facts: _Facts) -> _Answer:
    words, texts = facts.count("protected_words"), facts.count("documents")
    _ = facts.kind  # without a guarantee there is no unit
    first = Filled(
        "No, one word in its place: the guarantee compares two texts that differ in a single one "
        "of the {words} in {texts}.",
        words=protected_words(words),
        texts=_texts(texts),
    )
    advised = Filled(
        "NIST recommends one person with all of their data, and warns that smaller units protect "
        "events and not people."
    )
    others = Filled("A text may also speak of people who did not write it (§ 3.7).")
    return _Answer(Met.NO, (first, advised, others))


def _lengths(facts: _Facts) -> _Answer:
    words, texts = facts.count("protected_words"), facts.count("documents")
    first = Filled(
        "No: there are {texts} with {words} in all, and {longest} in the longest.",
        texts=_texts(texts),
        words=protected_words(words),
        longest=Numeral(f"{facts.count('composed.words'):,}"),
    )
    bounded = Filled("Two texts that the guarantee compares have equally many words.")
    return _Answer(Met.NO, (first, bounded))


def _author(facts: _Facts) -> _Answer:
    if not facts.there("composed_author"):
        first = Filled("Not counted: the ε of all words of one person add up.")
        return _Answer(Met.UNKNOWN, (first,))
    words, delta, epsilon = facts.spent("composed_author")
    wrote = {
        "texts": _texts(facts.count("composed_author.texts")),
        "words": protected_words(words),
        "delta": delta,
    }
    limit = Filled("Limit how much of one author is released.")
    counted = Filled("That is counted in these texts: nothing limits what an author may write.")
    if epsilon is None:
        first = Filled(
            "No author wrote more than {texts} and {words}; for δ = {delta:g} no ε is known for "
            "all of it.",
            **wrote,
        )
        return _Answer(Met.NO, (first, counted, *facts.caveat), advice=limit)
    first = Filled(
        "No author wrote more than {texts} and {words}: for δ = {delta:g} all of it together has "
        "ε = {epsilon}.",
        **wrote,
        epsilon=_bound(epsilon),
    )
    met = facts.judged(epsilon < _STRONG)
    return _Answer(met, (first, counted, *facts.caveat), advice=limit)


_REPORTED = (
    "mechanism", "parameters", "epsilon", "lexicon", "fingerprint", "version", "guarantee.kind",
    "guarantee.source",
)  # fmt: skip


def _parameters(facts: _Facts) -> _Answer:
    lacking = [name for name in _REPORTED if not facts.there(name)]
    settings: object = {}
    if not lacking:
        kind, settings = MECHANISMS.get(facts.text("mechanism")), facts.of("parameters")
        if kind is None or not isinstance(settings, Mapping):
            raise MissingFactError("parameters")
        lacking = [f"parameters.{name}" for name in kind.parameters() if name not in settings]
    if lacking or not isinstance(settings, Mapping):
        first = Filled("No: the record lacks “{names}”.", names=", ".join(lacking))
        return _Answer(Met.NO, (first,))
    names = {name: facts.text(name) for name in ("mechanism", "lexicon", "version")}
    listed = ", ".join(f"{name} = {value}" for name, value in settings.items())
    _ = facts.kind, facts.text("guarantee.source")
    first = Filled(
        "Yes: “{mechanism}” at ε = {epsilon} with the settings “{settings}”, over the lexicon "
        "“{lexicon}” (fingerprint “{fingerprint}”), by dpcore “{version}”.",
        **names,
        epsilon=_bound(facts.positive("epsilon")),
        settings=listed or "–",
        fingerprint=facts.text("fingerprint")[:12],
    )
    public = Filled("All of it may be public: the guarantee does not rest on hiding it.")
    return _Answer(Met.YES, (first, public))


def _public(facts: _Facts) -> _Answer:
    released = facts.texts("released")
    if not released:
        raise MissingFactError("released")
    first = Filled("No: not protected are the number of texts, their order, and this:")
    return _Answer(Met.NO, (first,), released)


def _columns(facts: _Facts) -> _Answer:
    if facts.flag("columns.original"):
        first = Filled("No: the original texts are beside the private ones.")
        return _Answer(Met.NO, (first,), advice=_NEVER)
    unprotected = facts.texts("columns.keep")
    if unprotected:
        first = Filled(
            "No: the cells of “{names}” are released as they are.", names=", ".join(unprotected)
        )
        return _Answer(Met.NO, (first,), facts.statements("kept"))
    first = Filled(
        "Yes: “{name}” is the only column. Its name is public, like the names of the files.",
        name=facts.text("columns.text"),
    )
    if facts.text("format") == FORMATS["text"]:  # lines, which have no column to name
        first = Filled("Yes: there are no columns. The names of the files are public.")
    return _Answer(Met.YES, (first,))


def _further(facts: _Facts) -> _Answer:
    if facts.there("columns.original") and facts.flag("columns.original"):
        return _Answer(Met.NO, (Filled("No: the file holds the original texts."),), advice=_NEVER)
    alone = Filled("Yes, for everything that is made from the copy alone: that costs no ε.")
    again = Filled(
        "No, where the original texts are looked at again, as to choose the best of several copies "
        "or to mend words by hand: the record ends before that."
    )
    return _Answer(Met.UNKNOWN, (alone, again))


# Section 3: the algorithm.


_PROOFS = {
    Status.PROVED: Filled("Yes, for the mechanism as it is implemented here."),
    Status.CERTIFIED: Filled("Yes, by computing every pair of words and every output."),
    Status.CONDITIONAL: Filled("Under a condition only."),
    Status.REFUTED: Filled("No, it is refuted."),
}


def _proof(facts: _Facts) -> _Answer:
    status = facts.text("guarantee.status")
    if status not in [*Status]:
        raise MissingFactError("guarantee.status")
    # The reason as a sentence of its own: a page knows it by its words.
    source = Filled("The source is {source}.", source=facts.text("guarantee.source"))
    sentences = (_PROOFS[Status(status)], facts.text("guarantee.reason"), source)
    conditional = Filled("Find out whether the condition of the guarantee is met.")
    return _Answer(facts.holds, sentences, advice=conditional if facts.holds is Met.UNKNOWN else "")


def _assumptions(facts: _Facts) -> _Answer:
    lexicon, bundled = facts.text("lexicon"), is_bundled(facts.text("fingerprint"))
    noise = Filled(
        "They are fresh noise for each word, and a lexicon that is public and was not made from "
        "these texts."
    )
    origin = Filled("Where “{lexicon}” comes from is not in the record.", lexicon=lexicon)
    if bundled:
        origin = Filled("“{lexicon}” is bundled, and made from public sources.", lexicon=lexicon)
    as_assumed = bundled and facts.text("noise") == NOISE
    met = facts.holds if as_assumed or facts.holds is Met.NO else Met.UNKNOWN
    return _Answer(met, (noise, origin, *facts.caveat), advice=_PROVE if as_assumed else "")


def _code(facts: _Facts) -> _Answer:
    first = Filled(
        "dpcore “{version}” made it, with tests of its own; a review by others is not in the "
        "record.",
        version=facts.text("version"),
    )
    return _Answer(Met.UNKNOWN, (first,))


def _utility(facts: _Facts) -> _Answer:
    first = Filled(
        "Not measured. {words} went through the noise one by one, which costs more accuracy than "
        "noise on a total.",
        words=protected_words(facts.count("protected_words")),
    )
    return _Answer(Met.UNKNOWN, (first,))


_TREATED = {
    UnknownWordPolicy.REPLACE: Filled(
        "Words outside the lexicon become random words before the noise."
    ),
    UnknownWordPolicy.MASK: Filled("Words outside the lexicon become […]."),
    UnknownWordPolicy.DROP: Filled("Words outside the lexicon are left out."),
    UnknownWordPolicy.REJECT: Filled("Texts with words outside the lexicon are refused."),
}


def _policy(facts: _Facts) -> UnknownWordPolicy:
    policy = facts.text("unknown_words")
    if policy not in [*UnknownWordPolicy]:
        raise MissingFactError("unknown_words")
    return UnknownWordPolicy(policy)


def _bias(facts: _Facts) -> _Answer:
    treated = _TREATED[_policy(facts)]
    lost = Filled("Texts with many of them may lose more; that was not measured.")
    return _Answer(Met.UNKNOWN, (treated, lost))


# Section 4: the deployment.


def _trust(facts: _Facts) -> _Answer:
    readers = Filled("Readers of the copy are not: noise is drawn word by word (the local model).")
    runner = Filled(
        "The person who ran the program could read {texts} (the central model), unless all writers "
        "ran it themselves.",
        texts=_texts(facts.count("documents")),
    )
    return _Answer(Met.UNKNOWN, (readers, runner))


def _randomness(facts: _Facts) -> _Answer:
    if facts.there("seed") and facts.of("seed") is not None:
        first = Filled("No: the record holds its seed, “{seed}”.", seed=str(facts.of("seed")))
        return _Answer(Met.NO, (first,), advice=_NEVER)
    # An experiment without a seed is not one that this program records so.
    if facts.text("kind") != "release" or facts.text("noise") != NOISE:
        raise MissingFactError("noise")
    first = Filled(
        "Yes: ChaCha20 drew it under a secret from the operating system, which is deleted by now."
    )
    return _Answer(Met.YES, (first,))


def _rounding(facts: _Facts) -> _Answer:
    loss = facts.positive("guarantee.rounding.loss", zero=True)
    total = facts.positive("guarantee.rounding.total_variation", zero=True)
    first = Filled(
        "Yes: it adds at most {loss} to the loss between two words, and {total} of total variation "
        "to each law.",
        loss=_bound(loss, 3),
        total=_bound(total, 3),
    )
    return _Answer(Met.YES, (first, facts.text("guarantee.rounding.reason")))


def _unknown(facts: _Facts) -> _Answer:
    policy = _policy(facts)
    if policy is UnknownWordPolicy.REPLACE:
        first = Filled("That a word was unknown is protected like the two farthest words are.")
        return _Answer(facts.holds, (first, _TREATED[policy], *facts.caveat), advice=_PROVE)
    first = Filled("No, it can be seen or guessed.")
    return _Answer(Met.NO, (first, _TREATED[policy]))


def _timing(facts: _Facts) -> _Answer:
    if _policy(facts) is UnknownWordPolicy.REJECT:
        first = Filled("No: a text with an unknown word is refused with a message.")
        return _Answer(Met.NO, (first,))
    first = Filled("They tell readers of the copy nothing; others may have watched the run.")
    return _Answer(Met.UNKNOWN, (first,))


def _tuning(facts: _Facts) -> _Answer:
    first = Filled(
        "How “{mechanism}” and ε = {epsilon} were chosen is not in the record; a choice made on "
        "these texts tells something of them, and no ε counts that.",
        mechanism=facts.text("mechanism"),
        epsilon=_bound(facts.positive("epsilon")),
    )
    return _Answer(Met.UNKNOWN, (first,))


def _security(facts: _Facts) -> _Answer:
    if facts.there("columns.original") and facts.flag("columns.original"):
        return _Answer(Met.NO, (Filled("No: the file holds the original texts."),), advice=_NEVER)
    first = Filled(
        "The record does not say; if they leak, the guarantee is worth nothing for {texts}.",
        texts=_texts(facts.count("documents")),
    )
    return _Answer(Met.UNKNOWN, (first,))


def _collection(facts: _Facts) -> _Answer:
    first = Filled(
        "The record does not say whether the task needs {texts}; what is not collected needs no "
        "protection.",
        texts=_texts(facts.count("documents")),
    )
    return _Answer(Met.UNKNOWN, (first,))


_QUESTIONS: tuple[tuple[str, str, Callable[[_Facts], _Answer], str, str], ...] = (
    ("epsilon", "2.2", _epsilon, Filled("Is ε small between any two words?"),
     Filled("Choose the smallest ε with which the task still works.")),
    ("text", "2.2", _text, Filled("Is ε small for a whole text?"),
     Filled("Take a smaller ε or shorter texts if a whole text is to be hidden.")),
    ("again", "2.2", _again, Filled("Are the texts released only once?"),
     Filled("Keep this copy and use it from now on: never draw a second one.")),
    ("definition", "2.3", _definition, Filled("Is it differential privacy as NIST defines it?"),
     Filled("Judge a metric guarantee by its ε between the two farthest words.")),
    ("delta", "2.3", _delta, Filled("Is it unlikely that the guarantee fails altogether?"),
     Filled("Choose a smaller δ, or a mechanism without one.")),
    ("unit", "2.4", _unit, Filled("Is the unit of privacy a person?"),
     Filled("Decide whether it is enough to hide single words of these texts.")),
    ("lengths", "2.4", _lengths, Filled("Is it hidden how many texts and words there are?"),
     Filled("Cut the texts to one length first if lengths are private.")),
    ("author", "2.4", _author, Filled("Is ε small over all texts of one author?"),
     Filled("Count what each author wrote: the page Release does, with a column of authors.")),
    ("parameters", "2.5", _parameters, Filled("Are all parameters reported?"),
     Filled("Publish the missing parameters with the copy.")),
    ("public", "2.6", _public, Filled("Is everything in the copy protected?"),
     Filled("Read what is not protected before you give the copy away.")),
    ("columns", "2.6", _columns, Filled("Is it released without unprotected columns?"),
     Filled("Leave out the other columns, or protect them in another way.")),
    ("further", "2.6", _further, Filled("Does the guarantee survive further work on the copy?"),
     Filled("Work on with the copy alone.")),
    ("code", "3", _code, Filled("Is the program well tested, also by others?"),
     Filled("Have someone else check it, or test it with `python -m dpcore audit`.")),
    ("proof", "3.1", _proof, Filled("Is the guarantee of the mechanism proved?"),
     _PROVE),
    ("assumptions", "3.1", _assumptions, Filled("Are the assumptions of the guarantee met?"),
     Filled("Make sure that the lexicon was not made from private texts.")),
    ("utility", "3.2", _utility, Filled("Is the copy still useful?"),
     Filled("Measure it with `python -m dpcore utility`; the result is not private.")),
    ("bias", "3.3", _bias, Filled("Do all groups of texts lose equally little?"),
     Filled("Compare groups of texts before a result decides about people.")),
    ("trust", "4.2", _trust, Filled("Is no one trusted with the original texts?"),
     Filled("Say who read the original texts, or let all writers run the program.")),
    ("randomness", "4.3", _randomness, Filled("Is the noise impossible to draw again?"),
     Filled("Find out how the noise was drawn.")),
    ("rounding", "4.3", _rounding, Filled("Is rounding by the computer accounted for?"),
     Filled("Choose a mechanism whose rounding is bounded.")),
    ("unknown", "4.3", _unknown, Filled("Is it hidden which words were unknown?"),
     Filled("Exchange unknown words for random ones: `--unknown replace`.")),
    ("timing", "4.3", _timing, Filled("Do running times and errors tell nothing?"),
     Filled("Let no one watch the run or its messages.")),
    ("tuning", "4.3", _tuning, Filled("Were mechanism and ε chosen without these texts?"),
     Filled("Choose mechanism and ε on other texts than those that are released.")),
    ("security", "4.4", _security, Filled("Are the original texts safe?"),
     Filled("Encrypt or delete the original texts, and limit who may read them.")),
    ("collection", "4.5", _collection, Filled("Was no more collected than needed?"),
     Filled("Leave out texts that the task does not need.")),
)  # fmt: skip
"""Key, section, function that answers, question, and advice if it is not met."""
