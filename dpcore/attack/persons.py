"""Facts about persons that are left in a private text, and that someone can guess from it.

A fact is a short value with a tag (a name, an age, a place) that a file annotates. Only facts that
stand in their text word for word are measured; one that a text merely implies takes a reader of
language, and style and length are not looked at either. Such a fact has one or more *places*, runs
of positions of the text. A word outside the vocabulary never comes out of a mechanism, so a fact
with such a word is never left and never guessed; these facts are in every share, and counted.

* *Left*: at one place of the fact at least, all its words come out as they went in. Words are
  rewritten independently, so with P(w | w) of the mechanism the chance is exact.
* *Guessed*: at one place at least, a stranger (`dpcore.attack.leak`) names all its words. A
  stranger who sees one output at a time names argmax_v π(v)·P(y | v), and Pr[guess = w | w] is a
  sum over all outputs; right guesses of the one who reads on (`reads`) are counted on one rewriting
  of each text, under the posterior of the bigrams. `counts` and `reads` are scored on content words
  (to `counts` function words are impossible): of *bank of america* the function word is granted.
* *Told apart*: the chance that the true value is likelier, given the outputs at all places of the
  fact, than another value drawn from those of the same tag and number of words in the file; ties
  count half. It is the area under the curve (AUC) of the posterior that takes these values for
  equally likely, ½ by chance; over facts whose words are all in the vocabulary, and over
  `limits.MAX_FACT_VALUES` drawn values if there are more. Exact if one word is seen of the fact,
  else estimated from drawn outputs.

A person has their facts of one text; the chance that one of them is left is that of the union of
their places, which may overlap. Intervals (95 %) are over texts, as ratios of sums (Student's): the
interval of an exact share says how far it may differ on other texts of this kind. A share of 0 or 1
has no spread; its interval is that of Clopper and Pearson, for independent facts.

A redactor (`dpcore.rewrite.redact`) hides positions; the others are released, or rewritten by the
mechanism. Of a hidden word a stranger names the likeliest word of all, or reads on around it.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from dpcore.arguments import a_whole
from dpcore.arrays import BoolArray, FloatArray, IntArray
from dpcore.attack.language.context import guesses_around
from dpcore.attack.leak import (
    COUNTS,
    READS,
    SUMMED,
    all_columns,
    best_rule,
    channel_for,
    stranger_of,
    way_of,
)
from dpcore.attack.output.channel import open_channel
from dpcore.attack.output.prior import Gain, Prior
from dpcore.attack.output.success import chance_of_any
from dpcore.attack.trade.ground import BAYES
from dpcore.audit.montecarlo import clopper_pearson
from dpcore.errors import CorpusError, ParameterError
from dpcore.learn.intervals import ratio_of_sums, student_quantile
from dpcore.lexicon.lexicon import Lexicon, check_lexicon
from dpcore.lexicon.progress import Progress, silent
from dpcore.limits import MAX_DRAWS, MAX_FACT_TAGS, MAX_FACT_VALUES
from dpcore.mechanisms.bulk import WordCache, outputs_at
from dpcore.mechanisms.mechanism import Mechanism
from dpcore.noise.streams import check_seed, generator
from dpcore.rewrite.redact.redaction import Place, PlacedText, place_facts
from dpcore.rewrite.redact.spans import AnnotatedText

NOT_MEASURED = (
    "facts that a text implies and does not hold word for word",
    "what style and length of a text tell about its author",
)
"""What the shares here say nothing about, as sentences for a reader."""


def _right(places: Sequence[Place], positions: FloatArray) -> float:
    """Return the chance of one place at least from chances, (k,), or from draws, (R, k)."""
    if positions.ndim == 1:
        return chance_of_any(places, positions)
    hits = np.zeros(len(positions), dtype=bool)
    for first, stop in places:
        hits |= (positions[:, first:stop] == 1.0).all(axis=1)
    return float(hits.mean())


# Chances of single positions: of staying, and of being guessed.


@dataclass(frozen=True, eq=False)
class _Seen:
    """Chances that each position stays and is guessed, text by text: (k,), or draws, (R, k)."""

    left: list[FloatArray]
    guessed: list[FloatArray]
    left_exact: bool
    guessed_exact: bool
    attacker: str


class _Laws:
    """Laws of words under one mechanism at one ε; the last few are cached."""

    _BYTES = 128 * 2**20

    def __init__(self, mechanism: Mechanism, epsilon: float) -> None:
        self._mechanism, self._epsilon = mechanism, epsilon
        self._cache: WordCache[FloatArray] = WordCache(8 * len(mechanism.lexicon), self._BYTES)

    def of(self, word: int) -> FloatArray:
        """Return ln P(y | word) of every y, shape (n,)."""
        return next(iter(self._cache.each([word], self._compute, 1)))

    def _compute(self, words: list[int]) -> Iterator[FloatArray]:
        for word in words:
            yield self._mechanism.log_law(word, self._epsilon)

    def staying(self, words: IntArray) -> FloatArray:
        """Return P(w | w) at each distinct word of a list, 0 at all others, shape (n,)."""
        chance = np.zeros(len(self._mechanism.lexicon))
        for word in words.tolist():
            chance[word] = math.exp(self.of(word)[word])
        return np.minimum(chance, 1.0)


@dataclass(frozen=True, eq=False)
class Guesses:
    """Guesses of a stranger who sees one output at one ε; the very word is asked for.

    Attributes:
        rule: maps outputs, shape (k,), to guesses, shape (k,).
        right: Pr[guess = w | w] of each word w, shape (n,), summed over all outputs: its mean
            under the prior is `dpcore.attack.leak.Leak.after`. None if only `rule` is known.
        attacker: as of `Leak`.
    """

    rule: Callable[[IntArray], IntArray]
    right: FloatArray | None
    attacker: str


_PAIRS = 2_000  # words and outputs on which a rule is chosen where columns cannot be summed


def guesses_at(
    mechanism: Mechanism,
    epsilons: FloatArray,
    prior: Prior,
    *,
    seed: int = 0,
    progress: Progress = silent,
) -> list[Guesses]:
    """Find the best guess for every output at some ε, and how often it is right for each word.

    Args:
        mechanism: over any lexicon.
        epsilons: admissible, shape (E,).
        prior: of the stranger.
        seed: of the draws on which a rule is chosen where columns cannot be summed.
        progress: called with (stage, done, all).
    """
    if way_of(mechanism, prior) == SUMMED:
        table = np.zeros((epsilons.size, len(mechanism.lexicon)), dtype=np.int64)
        right = np.zeros(table.shape)
        channel = channel_for(mechanism, prior, progress)
        known = prior.logs[channel.words]
        for e, outputs, logs, _ in all_columns(channel, epsilons, progress):
            best = (logs + known).argmax(axis=1)
            table[e, outputs] = channel.words[best]
            chance = np.exp(logs[np.arange(best.size), best])
            np.add.at(right[e], channel.words[best], chance)
        return [
            Guesses(row.__getitem__, np.minimum(chances, 1.0), BAYES)
            for row, chances in zip(table, right, strict=True)
        ]
    rng = generator(seed, "leakage", mechanism.key)
    words = prior.draw(rng, _PAIRS)
    outputs = outputs_at(mechanism, rng, words, epsilons, progress)
    guesses = []
    for e, epsilon in enumerate(epsilons.tolist()):
        name, rule = best_rule(mechanism, epsilon, prior, Gain("word", None), outputs[:, e], words)
        guesses.append(Guesses(rule, None, name.partition(" ")[0]))
    return guesses


@dataclass(frozen=True, eq=False)
class _Stranger:
    """A stranger: prior, name, guess without an output, and the words that they are granted."""

    name: str
    prior: Prior
    constant: int
    function: BoolArray  # True for a word that they are granted, shape (n,)

    @classmethod
    def of(cls, lexicon: Lexicon, stranger: str | Prior) -> _Stranger:
        name, prior = stranger_of(lexicon, stranger)
        function = np.zeros(len(lexicon), dtype=bool)
        if name in (COUNTS, READS):  # scored on content words
            function = prior.probability == 0
        return cls(name, prior, int(prior.probability.argmax()), function)

    def granted(self, text: PlacedText, right: FloatArray | BoolArray) -> FloatArray:
        """Return the chances, (k,), or draws, (R, k), with 1 at the words that they are granted."""
        return np.where((text.words >= 0) & self.function[text.words], 1.0, right)


def _released(texts: Sequence[PlacedText], stranger: _Stranger) -> _Seen:
    """Return the chances where all words but the hidden ones are released unchanged."""
    left = [np.where(text.hidden, 0.0, 1.0) for text in texts]
    if stranger.name != READS:
        blind = [stranger.granted(text, text.words == stranger.constant) for text in texts]
        guessed = [np.where(t.hidden, right, 1.0) for t, right in zip(texts, blind, strict=True)]
        return _Seen(left, guessed, True, True, BAYES)
    read = []
    for text in texts:
        # Nobody names a word outside the vocabulary under a block; where it stands, it is read off.
        blocked = text.hidden & _of_facts(text) & (text.words >= 0)
        right = ~text.hidden
        if blocked.any():
            named = guesses_around(text.sentence, text.hidden, None, text.words, 0.0, blocked)
            right |= blocked & (named == text.words)
        read.append(stranger.granted(text, right))
    return _Seen(left, read, True, not any(text.hidden.any() for text in texts), READS)


def _rewritten(
    texts: Sequence[PlacedText],
    mechanism: Mechanism,
    epsilon: float,
    stranger: _Stranger,
    guesses: Guesses | None,
    laws: _Laws | None,
    draws: int,
    seed: int,
) -> _Seen:
    """Return the chances under a mechanism.

    Args:
        texts: the texts.
        mechanism: the mechanism.
        epsilon: ε.
        stranger: the stranger.
        guesses: guesses from one output; None for the stranger who reads on.
        laws: laws of the mechanism; None if it has none that are exact.
        draws: of each text, where something has to be drawn.
        seed: of these.
    """
    slots = [np.flatnonzero(_of_facts(t) & (t.words >= 0) & ~t.hidden) for t in texts]
    parts = [text.words[places] for text, places in zip(texts, slots, strict=True)]
    entries = np.concatenate([np.empty(0, dtype=np.int64), *parts])
    right = None if guesses is None else guesses.right
    several = np.empty((draws, entries.size), dtype=np.int64)
    if laws is None or (guesses is not None and right is None):
        rng = generator(seed, "facts left", mechanism.key)
        drawn = outputs_at(mechanism, rng, np.tile(entries, draws), [epsilon])
        several = drawn.reshape(several.shape)
    chance = None if laws is None else laws.staying(np.unique(entries))
    left: list[FloatArray] = []
    guessed: list[FloatArray] = []
    done = 0
    for text, places in zip(texts, slots, strict=True):
        outputs, inputs = several[:, done : done + places.size], text.words[places]
        done += places.size
        if chance is not None:
            left.append(_at(text, places, chance[inputs]))
        else:
            left.append(_at(text, places, outputs == inputs))
        if right is not None:
            named = _at(text, places, right[inputs])
        elif guesses is not None:
            rows = guesses.rule(outputs.reshape(-1)).reshape(outputs.shape)
            named = _at(text, places, rows == inputs)
        else:
            named = _at(text, places, np.zeros(inputs.size))
        blind = text.words == stranger.constant
        guessed.append(stranger.granted(text, np.where(text.hidden, blind, named)))
    attacker = guesses.attacker if guesses is not None else READS
    return _Seen(left, guessed, laws is not None, right is not None, attacker)


def _of_facts(text: PlacedText) -> BoolArray:
    """Return True for each position of a fact, shape (k,)."""
    inside = np.zeros(text.words.size, dtype=bool)
    for fact in text.facts:
        for first, stop in fact.places:
            inside[first:stop] = True
    return inside


def _at(text: PlacedText, places: IntArray, right: FloatArray | BoolArray) -> FloatArray:
    """Spread chances or draws at some positions, (..., places), over all, with 0 elsewhere."""
    full = np.zeros((*right.shape[:-1], text.words.size))
    full[..., places] = right
    return full


# Values told apart.


_TOLERANCE = 1e-9  # of log-likelihoods: below it two values are equally likely


def _compared(
    texts: Sequence[PlacedText],
    mechanism: Mechanism | None,
    epsilon: float,
    laws: _Laws | None,
    draws: int,
    seed: int,
) -> tuple[dict[tuple[int, int], float], bool]:
    """Return the AUC of each fact by (text, number of the fact), and whether all are exact."""
    groups: dict[tuple[str, int], list[tuple[tuple[int, ...], int, int]]] = defaultdict(list)
    for t, text in enumerate(texts):
        for f, fact in enumerate(text.facts):
            if fact.value:
                groups[fact.tag, len(fact.value)].append((fact.value, t, f))
    found: dict[tuple[int, int], float] = {}
    exact = True
    for (tag, size), facts in sorted(groups.items()):
        rng = generator(seed, "values of facts", tag, size)
        values = sorted({value for value, _, _ in facts})
        if len(values) < 2:
            continue
        if len(values) > MAX_FACT_VALUES:
            drawn = rng.permutation(len(values))[:MAX_FACT_VALUES]
            values = [values[int(i)] for i in np.sort(drawn)]
        rows = {w: laws.of(w) for value in values for w in value} if laws else {}
        once: dict[tuple[Any, ...], float] = {}
        for value, t, f in sorted(facts):
            text = texts[t]
            seen = [
                slot - first
                for first, stop in text.facts[f].places
                if tuple(text.words[first:stop].tolist()) == value
                for slot in range(first, stop)
                if not text.hidden[slot]
            ]
            others = [other for other in values if other != value]
            if not seen:
                found[t, f] = 0.5
                continue
            if (value, *seen) in once:
                found[t, f] = once[value, *seen]
                continue
            if mechanism is None or laws is None:
                apart = [any(value[j] != other[j] for j in seen) for other in others]
                found[t, f] = 0.5 + 0.5 * float(np.mean(apart))
                continue
            words = np.array([value[j] for j in seen])
            if len(seen) == 1:
                outputs = np.arange(len(text.sentence.lexicon))[:, None]
                weights = np.exp(laws.of(int(words[0])))
            else:
                exact = False
                outputs = outputs_at(mechanism, rng, np.tile(words, draws), [epsilon])
                outputs = outputs.reshape(draws, len(seen))
                weights = np.full(draws, 1.0 / draws)
            own = np.sum(
                [laws.of(w)[y] for w, y in zip(words.tolist(), outputs.T, strict=True)], axis=0
            )
            ahead = [
                _ahead(
                    own,
                    np.sum([rows[o[j]][y] for j, y in zip(seen, outputs.T, strict=True)], axis=0),
                )
                for o in others
            ]
            found[t, f] = float(np.mean(np.array(ahead) @ weights))
            if len(seen) == 1:  # draws are of one fact alone, so that their errors are independent
                once[value, *seen] = found[t, f]
    return found, exact


def _ahead(own: FloatArray, other: FloatArray) -> FloatArray:
    """Return 1 where the first log-likelihood is larger, ½ where both are equal, else 0."""
    # Both may be −∞ only where the true value cannot give the output, which is then never drawn.
    with np.errstate(invalid="ignore"):
        gap = own - other
    return np.where(np.abs(gap) <= _TOLERANCE, 0.5, np.asarray(gap > 0, dtype=np.float64))


# The shares, by tag and by person.


class Share(NamedTuple):
    """A share, and its interval of level 95 % over texts."""

    value: float
    low: float
    high: float


@dataclass(frozen=True)
class TagFacts:
    """Facts of one tag, or of all.

    Attributes:
        tag: the tag; "" for all.
        annotated: number of annotated facts.
        facts: number of those that stand in their text; shares are of these.
        outside: number of those with a word outside the vocabulary at every place.
        left: share that comes out as it went in; None if no fact stands in a text, as the others.
        guessed: share that the stranger guesses.
        before: share that they guess without an output.
        compared: number of facts of which values are told apart.
        apart: AUC of the true value against others; None if there are none to compare, or the
            mechanism has no exact law.
    """

    tag: str
    annotated: int
    facts: int
    outside: int
    left: Share | None
    guessed: Share | None
    before: float | None
    compared: int
    apart: Share | None


@dataclass(frozen=True)
class FactsLeft:
    """Facts that are left after one release, and persons of whom one is left at least.

    Attributes:
        mechanism: short name; "" if words are released unchanged.
        epsilon: ε; None without a mechanism.
        redactor: name of the redactor; "" for none.
        stranger: of `dpcore.attack.leak.STRANGERS`, or the name of the given prior.
        attacker: "bayes" if the guesses are the best possible; else the name of the attacker, and
            what is guessed is a lower bound.
        texts: number of texts.
        persons: number of persons of whom a fact stands in the text.
        persons_left: expected share of these of whom a fact is left.
        persons_guessed: expected share of these of whom a fact is guessed.
        left_exact: True if what is left is summed and not drawn.
        guessed_exact: the same of what is guessed.
        apart_exact: the same of what is told apart.
        tags: all tags together, then each in alphabetical order.
    """

    mechanism: str
    epsilon: float | None
    redactor: str
    stranger: str
    attacker: str
    texts: int
    persons: int
    persons_left: Share | None
    persons_guessed: Share | None
    left_exact: bool
    guessed_exact: bool
    apart_exact: bool
    tags: tuple[TagFacts, ...]

    def to_dict(self) -> dict[str, Any]:
        """Return the fields as a JSON object; a share is an object of value, low and high."""
        plain = asdict(self)
        for row in [plain, *plain["tags"]]:
            row |= {k: v._asdict() for k, v in row.items() if isinstance(v, Share)}
        return plain


def share_over_texts(values: FloatArray, counts: FloatArray) -> Share | None:
    """Return Σ values / Σ counts over texts with its interval; None if there is nothing.

    Args:
        values: sum of the chances of the facts of each text, shape (t,).
        counts: number of these facts, shape (t,).
    """
    some = counts > 0
    if not some.any():
        return None
    total = float(counts.sum())
    value = min(float(values.sum()) / total, 1.0)
    if some.sum() < 2:
        return Share(value, 0.0, 1.0)  # one text says nothing of others
    if value in (0.0, 1.0):
        return Share(value, *clopper_pearson(round(value * total), round(total), 0.025))
    ratio, error = ratio_of_sums(values[some], counts[some])
    half = student_quantile(int(some.sum()) - 1) * error
    return Share(value, max(ratio - half, 0.0), min(ratio + half, 1.0))


def facts_left(
    annotated: Sequence[AnnotatedText],
    lexicon: Lexicon,
    mechanism: Mechanism | None = None,
    epsilons: Sequence[float] | FloatArray = (),
    *,
    redactors: Sequence[str] = ("",),
    stranger: str | Prior = COUNTS,
    guesses: Sequence[Guesses] | None = None,
    draws: int = 100,
    seed: int = 0,
    progress: Progress = silent,
) -> list[FactsLeft]:
    """Measure how many facts of persons a release leaves, and how many someone guesses.

    Args:
        annotated: texts with facts (`dpcore.rewrite.redact.spans.parse_facts`).
        lexicon: the vocabulary, that of the mechanism.
        mechanism: rewrites the words; None to release them unchanged.
        epsilons: ε of the mechanism, shape (E,); none without one.
        redactors: names of redactors (`dpcore.rewrite.redact.redaction.REDACTORS`), each of which
            hides words first in a release of its own; "" for none.
        stranger: of `dpcore.attack.leak.STRANGERS`, or a prior. `reads` needs an exact law.
        guesses: of this stranger at each ε, from `guesses_at`, if they are known already.
        draws: rewritings of each fact, where a share has to be drawn.
        seed: of these draws, and of the texts that `reads` reads.
        progress: called with (stage, done, all).

    Returns:
        Results for each ε, in order, and each redactor; without a mechanism for each redactor.

    Raises:
        ParameterError: there is no such stranger or redactor, or it cannot be measured.
        EpsilonError: an ε is not admissible.
        TextError: a text cannot be read.
        CorpusError: there are more than `limits.MAX_FACT_TAGS` tags.
        MissingPackageError: the packages of the redactor are not installed.
    """
    check_lexicon(lexicon)
    draws, seed = a_whole(draws, "draws", 2, MAX_DRAWS), check_seed(seed)
    who = _Stranger.of(lexicon, stranger)
    tags = sorted({fact.tag for each in annotated for fact in each.facts})
    if len(tags) > MAX_FACT_TAGS:
        raise CorpusError(
            f"the facts have {len(tags):,} different tags; at most {MAX_FACT_TAGS} are read: a "
            "tag is a kind of facts, such as NAME"
        )
    releases: dict[str, list[PlacedText]] = {redactor: [] for redactor in redactors}
    for done, each in enumerate(annotated, start=1):
        for redactor, texts in releases.items():
            texts.append(place_facts(each, lexicon, redactor))
        progress("texts", done, len(annotated))
    tally = _Tally(annotated, tags, who)
    if mechanism is None:
        if len(epsilons):
            raise ParameterError("without a mechanism there is no ε: leave it out")
        return [
            tally.result(
                texts,
                ("", None, redactor),
                _released(texts, who),
                _compared(texts, None, 0.0, None, draws, seed),
            )
            for redactor, texts in releases.items()
        ]
    if mechanism.lexicon is not lexicon:
        raise ParameterError("the mechanism must be over the lexicon that is given")
    values = mechanism.check_epsilons(epsilons)
    found: list[Guesses | None] = [None] * values.size
    reading: _Reading | None = None
    if who.name == READS:
        reading = _Reading(mechanism, values, next(iter(releases.values())), seed, progress)
    elif guesses is not None:
        if len(guesses) != values.size:
            raise ParameterError(f"guesses at each of {values.size} ε are needed")
        found = list(guesses)
    else:
        found = list(guesses_at(mechanism, values, who.prior, seed=seed, progress=progress))
    results = []
    for e, epsilon in enumerate(values.tolist()):
        laws = _Laws(mechanism, epsilon) if mechanism.exact_law else None
        for redactor, texts in releases.items():
            seen = _rewritten(texts, mechanism, epsilon, who, found[e], laws, draws, seed)
            if reading is not None:
                seen = replace(seen, guessed=reading.right(texts, e, who, progress))
            apart = _compared(texts, mechanism, epsilon, laws, draws, seed) if laws else ({}, False)
            what = mechanism.short, epsilon, redactor
            results.append(tally.result(texts, what, seen, apart))
            progress(f"facts left by {mechanism.short}", len(results), values.size * len(releases))
    return results


class _Reading:
    """One rewriting of each text at some ε, and the words that a reader names in it."""

    def __init__(
        self,
        mechanism: Mechanism,
        epsilons: FloatArray,
        texts: Sequence[PlacedText],
        seed: int,
        progress: Progress,
    ) -> None:
        self._mechanism, self._epsilons = mechanism, epsilons
        self._channel = open_channel(mechanism, progress=progress)
        inputs = [text.sentence.inputs(seed, i) for i, text in enumerate(texts) if text.facts]
        entries = np.concatenate([np.empty(0, dtype=np.int64), *inputs])
        # All texts together: a word that occurs in several needs its law once.
        rng = generator(seed, "facts read", mechanism.key)
        self._outputs = outputs_at(mechanism, rng, entries, epsilons, progress)

    def right(
        self, texts: Sequence[PlacedText], e: int, stranger: _Stranger, progress: Progress
    ) -> list[FloatArray]:
        """Return 1 at each position of a fact that is named at the ε of this number, else 0."""
        done, found = 0, []
        for i, text in enumerate(texts):
            asked = _of_facts(text) & (text.words >= 0)
            right = np.zeros(asked.size, dtype=bool)
            if text.facts:
                outputs = self._outputs[done : done + asked.size, e]
                done += asked.size
                epsilon = float(self._epsilons[e])
                how = self._channel, outputs, epsilon, asked
                named = guesses_around(text.sentence, text.hidden, *how)
                right = asked & (named == text.words)
            found.append(stranger.granted(text, right))
            progress(f"texts read for {self._mechanism.short}", i + 1, len(texts))
        return found


class _Tally:
    """Sums over the facts and persons of some texts."""

    def __init__(
        self,
        annotated: Sequence[AnnotatedText],
        tags: Sequence[str],
        stranger: _Stranger,
    ) -> None:
        self._tags, self._stranger = tags, stranger
        self._annotated = Counter(fact.tag for each in annotated for fact in each.facts)

    def result(
        self,
        texts: Sequence[PlacedText],
        release: tuple[str, float | None, str],
        seen: _Seen,
        apart: tuple[dict[tuple[int, int], float], bool],
    ) -> FactsLeft:
        """Return the shares of one release: its mechanism, ε and redactor."""
        size, who = len(texts), self._stranger
        people = np.zeros(size)
        counts: dict[tuple[str, str], FloatArray] = defaultdict(lambda: np.zeros(size))
        kinds = ("facts", "outside", "left", "guessed", "before", "compared", "apart")
        known, told = np.zeros(size), np.zeros(size)
        for t, text in enumerate(texts):
            blind = who.granted(text, text.words == who.constant)
            of_person: dict[int, list[Place]] = defaultdict(list)
            for f, fact in enumerate(text.facts):
                of_person[fact.person] += fact.places
                each = {
                    "facts": 1.0,
                    "outside": float(not fact.value),
                    "left": _right(fact.places, seen.left[t]),
                    "guessed": _right(fact.places, seen.guessed[t]),
                    "before": _right(fact.places, blind),
                    "compared": float((t, f) in apart[0]),
                    "apart": apart[0].get((t, f), 0.0),
                }
                for name in kinds:
                    for tag in ("", fact.tag):
                        counts[tag, name][t] += each[name]
            people[t] = len(of_person)
            known[t] = sum(_right(places, seen.left[t]) for places in of_person.values())
            told[t] = sum(_right(places, seen.guessed[t]) for places in of_person.values())
        rows = []
        for tag in ("", *self._tags):
            sums = {name: counts[tag, name] for name in kinds}
            facts = sums["facts"]
            rows.append(
                TagFacts(
                    tag,
                    self._annotated[tag] if tag else self._annotated.total(),
                    round(facts.sum()),
                    round(sums["outside"].sum()),
                    share_over_texts(sums["left"], facts),
                    share_over_texts(sums["guessed"], facts),
                    float(sums["before"].sum() / facts.sum()) if facts.any() else None,
                    round(sums["compared"].sum()),
                    share_over_texts(sums["apart"], sums["compared"]),
                )
            )
        return FactsLeft(
            *release,
            who.name,
            seen.attacker,
            size,
            round(people.sum()),
            share_over_texts(known, people),
            share_over_texts(told, people),
            seen.left_exact,
            seen.guessed_exact,
            apart[1],
            tuple(rows),
        )
