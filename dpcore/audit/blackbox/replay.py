"""Audit of a rewriter by replayed noise: dependences on the text that must not be there.

The rewriter runs on texts that differ in one word, each time with the same noise, while every call
of a generator is noted (`recording`). Two runs of a pair show which draws, bounds and words follow
from the text. That is evidence of two kinds. Some of it separates two texts for certain: a word to
which no number is drawn and that comes out as it is, whatever the noise. The rest is a dependence
that a correct mechanism may have, and is reported as one to look at. The weights of an exponential
mechanism and the centre of added noise do depend on the word, and are no finding.

Instrumented runs on neighbours with the same randomness are the idea of Cebere, Erb, Desfontaines,
Bellet and Fitzsimons (2026, arXiv:2602.17454), for queries on tables with a declared sensitivity.
"""

from __future__ import annotations

import dataclasses
import difflib
import sys
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import combinations
from typing import Any

from dpcore.arguments import a_real, describe
from dpcore.audit.blackbox.function import Function, Refusal
from dpcore.audit.blackbox.recording import Draw, Tape, Value
from dpcore.audit.blackbox.report import Finding, Grade, Kind, ReplayReport
from dpcore.audit.blackbox.runs import FORMS, Rewriter, Run, Seen, Text, neighbours
from dpcore.audit.montecarlo import DEFAULT_ERROR, clopper_pearson
from dpcore.audit.verdict import Outcome
from dpcore.errors import EpsilonError, ParameterError
from dpcore.lexicon.lexicon import Lexicon, check_lexicon
from dpcore.lexicon.progress import Progress, silent
from dpcore.noise.streams import check_seed

NOISES = 4
"""Noises under which every text is run, the same for all texts."""
CONFIRMING, FAR = 28, 48
"""Further runs of a text that looks separated: with new noise, and with noise far in its tails."""
_ALIKE = 0.5  # of difflib's ratio: a string made up letter by letter from another one
_CONFIRMED = 6  # pairs at most that are run again for one kind of finding

# What a draw's arguments are for, by their names.
_NOISE = {
    "normal", "laplace", "gumbel", "logistic", "exponential", "gamma", "lognormal", "rayleigh",
    "weibull", "multivariate_normal", "gauss", "normalvariate", "expovariate", "gammavariate",
    "standard_gamma", "standard_t", "chisquare", "pareto", "vonmises", "wald",
}  # fmt: skip
_CENTRES = {"loc", "mu", "mean"}
_WEIGHTS = {"p", "weights", "cum_weights", "pvals"}
_SIZES = {"size", "k", "nbytes", "length", "args", "counts"}
_SETS = {"a", "population", "seq", "x"}
_CHOOSING = {"choice", "choices", "sample", "shuffle", "permutation", "permuted"}


def replay_function(
    function: Function | str,
    epsilon: float | None = None,
    *,
    lexicon: Lexicon | None = None,
    texts: Sequence[str] | None = None,
    form: str = "text",
    seed: int = 0,
    progress: Progress = silent,
) -> ReplayReport:
    """Audit a rewriter by replayed noise.

    Args:
        function: text → text, or its name `package.module:function`. An argument `epsilon` or
            `eps`, or a second one without a default, is given ε; `rng`, `generator`,
            `random_state` and `seed` are given generators that are recorded.
        epsilon: for the function, if it takes one; nothing else depends on it.
        lexicon: source of the words; None: common English words.
        texts: to rewrite, of at least one word; None: two made-up ones.
        form: "text", "word" (one word in, one out) or "words" (a list of words).
        seed: of the noise and of the choice of words.
        progress: called with (stage, done, total).

    Raises:
        EpsilonError: ε is not a finite number > 0.
        ParameterError: no such function, or one that takes none of the texts; or another replay is
            under way.
    """
    if epsilon is not None:
        given, epsilon = epsilon, a_real(epsilon, "epsilon", EpsilonError)
        if not 0 < epsilon < float("inf"):
            raise EpsilonError(f"epsilon must be a finite number > 0, got {describe(given)}")
    if lexicon is not None:
        check_lexicon(lexicon)
    if not (isinstance(form, str) and form in FORMS):
        raise ParameterError(f"a form is one of {', '.join(FORMS)}, got {describe(form)}")
    check_seed(seed)
    tested = Rewriter(function, epsilon, form)
    scenes = neighbours(lexicon, texts, form, seed)
    return _Replay(tested, scenes, lexicon, seed, progress).report()


# The audit.


class _Replay:
    """One audit, from its first call to its report."""

    def __init__(
        self,
        tested: Rewriter,
        scenes: list[list[Text]],
        lexicon: Lexicon | None,
        seed: int,
        progress: Progress,
    ) -> None:
        self.tested, self.scenes, self.lexicon = tested, scenes, lexicon
        self.seed, self.progress = seed, progress
        self.seen: dict[tuple[str, ...], Seen] = {}
        self.watched = frozenset(t.word for scene in scenes for t in scene if t.made_up)
        self.found: dict[Kind, list[Finding]] = {}
        self.tries: Counter[Kind] = Counter()
        self.kinds: Counter[str] = Counter()
        self.controlled = True
        self.refused = 0

    # -- the calls

    def _run(self, text: Text, noise: int, *, far: bool = False) -> Run:
        fixed = self._fixed(text) if far else frozenset[bytes]()
        tape = Tape(self.seed, noise, far=far, watched=self.watched, fixed=fixed)
        run = self.tested.run(text.words, tape)
        self.kinds.update(run.kinds)
        return run

    def _fixed(self, text: Text) -> frozenset[bytes]:
        """Return the starts of generators whose seed does not depend on the noise."""
        first, second = self.seen[text.words].runs[:2]
        return first.starts & second.starts

    def _look(self) -> None:
        """Run every text under every noise, and some of them twice."""
        texts = list(dict.fromkeys(text for scene in self.scenes for text in scene))
        # The first call fills caches, which may want numbers of their own.
        self.tested.run(texts[0].words, Tape(self.seed, NOISES))
        for done, text in enumerate(texts):
            if text.words not in self.seen:
                runs = [self._run(text, noise) for noise in range(NOISES)]
                self.seen[text.words] = Seen(runs)
                # The same noise again: where the output is another one, not all noise was seen.
                again = self._run(text, 0)
                self.controlled &= again.output == runs[0].output and again.kinds == runs[0].kinds
            self.progress("replaying", done + 1, len(texts))
        self.controlled &= not self.tested.native
        outputs = [run.output for seen in self.seen.values() for run in seen.runs]
        self.refused = sum(isinstance(output, Refusal) for output in outputs)
        if self.refused == len(outputs):
            reason = next(str(output) for output in outputs)
            raise ParameterError(
                f"{self.tested.name} gave no text for any of the texts that were tried, but "
                f"{reason}: a function of a text that returns a text is needed, or another form"
            )

    def _confirm(self, *texts: Text) -> None:
        """Run texts again, with new noise and with noise far in its tails."""
        for text in texts:
            seen = self.seen[text.words]
            if not seen.more:
                seen.more = [self._run(text, 1000 + i) for i in range(CONFIRMING)]
                seen.far = [self._run(text, 2000 + i, far=True) for i in range(FAR)]
            if seen.without is None and text.others:
                # No generator is asked for a word whose absence leaves the numbers the same.
                alone = Tape(self.seed, 0)
                seen.without = self.tested.run(text.others, alone).numbers
                self.controlled &= not self.tested.native
            elif seen.without is None:
                seen.without = 0

    def _untouched(self, text: Text) -> bool:
        """Return True if no number is drawn for the word of this text."""
        seen = self.seen[text.words]
        return self.controlled and all(run.numbers == seen.without for run in seen.runs)

    def _try(self, kind: Kind) -> bool:
        """Return True while pairs of this kind may still be run again."""
        proved = any(f.grade is Grade.PROVED for f in self.found.get(kind, ()))
        self.tries[kind] += 1
        return not proved and self.tries[kind] <= _CONFIRMED

    def _add(
        self, kind: Kind, grade: Grade, sentence: str, text: Text, other: Text, **more: Any
    ) -> None:
        finding = Finding(
            kind=kind,
            grade=grade,
            sentence=sentence,
            text=" ".join(text.words),
            other=" ".join(other.words),
            place=text.place,
            **more,
        )
        self.found.setdefault(kind, []).append(finding)

    # -- the report

    def report(self) -> ReplayReport:
        """Run the audit."""
        start = time.perf_counter()
        self._look()
        if not self._same_text_always():
            for scene in self.scenes:
                for text, other in combinations(scene, 2):
                    self._outputs(text, other)
                    self._outputs(other, text)
                    self._traces(text, other)
            self._shared()
        if self.tested.fixed_default:
            text = self.scenes[0][0]
            self._add(
                Kind.SEED,
                Grade.LOOK,
                f"the argument {self.tested.fixed_default} has a fixed default: each call without "
                "it has the same noise, and the output is a function of the text",
                text,
                text,
            )
        found = list(map(_summary, self.found.values()))
        if not self.controlled:  # a later run may have shown it
            found = [dataclasses.replace(f, grade=Grade.LOOK, delta=None) for f in found]
        findings = tuple(sorted(found, key=lambda f: f.order))
        proved = sum(f.grade is Grade.PROVED for f in findings)
        pairs = sum(len(scene) * (len(scene) - 1) // 2 for scene in self.scenes)
        extent = f"{pairs:,} pairs of texts, {self.tested.runs:,} runs"
        looked = len(findings) - proved
        if not self.controlled:
            extent = f"not all randomness was seen; {extent}"
        label = f"{Outcome.NOT_REFUTED} ({looked} to look at; {extent})"
        if proved:
            label = f"{Outcome.REFUTED}: {proved} {'leak' if proved == 1 else 'leaks'} proved"
        return ReplayReport(
            name=self.tested.name,
            form=self.tested.form,
            outcome=Outcome.REFUTED if proved else Outcome.NOT_REFUTED,
            label=label,
            findings=findings,
            texts=len(self.seen),
            pairs=pairs,
            runs=self.tested.runs,
            refused=self.refused,
            draws=dict(self.kinds.most_common()),
            all_seen=self.controlled,
            noise=self._noise(),
            not_seen=self._not_seen(),
            seed=self.seed,
            seconds=time.perf_counter() - start,
        )

    def _noise(self) -> str:
        """Say whether the noise was seen at all."""
        runs = [run for seen in self.seen.values() for run in seen.every]
        any_draw = any(run.draws for run in runs)
        changed = any(not seen.constant for seen in self.seen.values())
        if not any_draw and (changed or not self.controlled):
            return "The randomness was not seen: no draw was recorded, and outputs change."
        if not self.controlled:
            return (
                "Some randomness was not seen, or calls depend on earlier ones: the same noise "
                "gave another output or other draws."
            )
        if not any_draw:
            return "No draw was made, and no output ever changed."
        if not changed:
            return "Draws were made, and no output ever changed."
        return "The same noise gave the same output: all randomness was seen in these runs."

    def _not_seen(self) -> tuple[str, ...]:
        sentences = [
            "Other processes and threads, and generators inside libraries that are not written in "
            "Python.",
            "Generators, and names of their functions, that other packages than the function's own "
            "keep from before.",
            "Arithmetic after a draw, such as a scale that multiplies a number drawn before.",
        ]
        loaded = [name for name in ("torch", "tensorflow", "jax") if name in sys.modules]
        if loaded:
            drew = ", and drew" if self.tested.native else ""
            sentences.append(f"The generators of {', '.join(loaded)}: loaded here{drew}.")
        return tuple(sentences)

    # -- findings about outputs

    def _same_text_always(self) -> bool:
        """Report a function whose outputs never change; return True if it is one."""
        if not self.controlled or not all(seen.constant for seen in self.seen.values()):
            return False
        pairs = [
            (a, b)
            for scene in self.scenes
            for a, b in combinations(scene, 2)
            if self.seen[a.words].runs[0].output != self.seen[b.words].runs[0].output
        ]
        if not pairs:
            return True  # one output for all texts: nothing depends on them
        text, other = next(((a, b) for a, b in pairs if not (a.made_up or b.made_up)), pairs[0])
        self._confirm(text, other)
        both = [self.seen[text.words], self.seen[other.words]]
        if not (self.controlled and all(seen.constant for seen in both)):
            return False
        # Numbers from a generator that the program or the text itself seeds are no noise.
        noise = any(
            draw.start not in self._fixed(t) or not draw.start
            for t, seen in zip((text, other), both, strict=True)
            for run in seen.runs
            for draw in run.draws
        )
        count = len(both[0].every)
        reason = "its generators always start the same"
        if not self.kinds:
            reason = "nothing is drawn, at least nothing that can be seen here"
        if noise:
            self._add(
                Kind.DETERMINISTIC,
                Grade.LOOK,
                f"the output never changed in {count} runs, though numbers are drawn: they have no "
                "effect, or ε is so large that it does not show",
                text,
                other,
                runs=count,
            )
            return False
        self._add(
            Kind.DETERMINISTIC,
            Grade.PROVED,
            f"the output is a function of the text: {reason}, and {count} runs of each text agree",
            text,
            other,
            runs=count,
            delta=clopper_pearson(CONFIRMING, CONFIRMING, DEFAULT_ERROR)[0],
        )
        return True

    def _outputs(self, text: Text, other: Text) -> None:
        """Compare what comes out for a text with what comes out for its neighbour."""
        seen, beside = self.seen[text.words], self.seen[other.words]
        refusals = [isinstance(run.output, Refusal) for run in seen.runs]
        if all(refusals) or any(isinstance(r.output, Refusal) for r in beside.runs):
            if all(refusals) and not any(isinstance(r.output, Refusal) for r in beside.runs):
                self._add(
                    Kind.REFUSED,
                    Grade.LOOK,
                    f"“{text.word}” is refused where “{other.word}” is not "
                    f"({seen.runs[0].output}): the refusal tells them apart",
                    text,
                    other,
                )
            return
        self._copied(text, other)
        returned = self._returned(text, other)
        if not returned:
            self._kept(text, other)
        self._length(text, other)

    def _returned(self, text: Text, other: Text) -> bool:
        """Report a text that comes back as it is; return True if it does."""
        seen, beside = self.seen[text.words], self.seen[other.words]
        whole_text = " ".join(text.words)
        same = all(" ".join(run.tokens) == whole_text for run in seen.runs)
        if not same or _out_and_in(text, other):
            return same
        if all(" ".join(run.tokens) == " ".join(other.words) for run in beside.runs):
            return False  # both come back; a pair with a third text shows it
        if not self._try(Kind.RETURNED):
            return True
        self._confirm(text, other)
        any_draw = any(run.draws for run in seen.runs)
        away = [" ".join(run.tokens) != whole_text for run in beside.more]
        if seen.constant and not any_draw and self.controlled and any(away):
            delta = clopper_pearson(sum(away), len(away), DEFAULT_ERROR)[0]
            self._add(
                Kind.RETURNED,
                Grade.PROVED,
                f"a text with “{text.word}” is returned as it is, and nothing is drawn for it; "
                f"with “{other.word}” in its place another text came out in {sum(away)} of "
                f"{len(away)} runs",
                text,
                other,
                runs=len(seen.every),
                delta=delta,
            )
        elif seen.constant:
            self._add(
                Kind.RETURNED,
                Grade.LOOK,
                f"a text with “{text.word}” came back as it is in all of {len(seen.every)} runs"
                + (", though numbers are drawn for it" * any_draw),
                text,
                other,
                runs=len(seen.every),
            )
        return True

    def _kept(self, text: Text, other: Text) -> None:
        """Report a place whose word no noise changes."""
        seen, beside, place = self.seen[text.words], self.seen[other.words], text.place
        if seen.lengths != {len(text.words)} or len(seen.at(place)) != 1:
            return
        (word,) = seen.at(place)
        if beside.lengths != {len(other.words)} or beside.at(place) == {word}:
            return
        if _out_and_in(text, other):
            return
        # Between words that both stay, it is a third one that shows it.
        if beside.at(place) == {other.word} or not self._try(Kind.KEPT):
            return
        self._confirm(text, other)
        if seen.at(place) != {word} or seen.lengths != {len(text.words)}:
            return
        away = [place < len(r.tokens) and r.tokens[place] != word for r in beside.more]
        share = f"with “{other.word}” another word came out in {sum(away)} of {len(away)} runs"
        runs = len(seen.every)
        in_lexicon = self.lexicon is not None and not (text.made_up or other.made_up)
        alone = self._untouched(text) and not self._untouched(other)
        if alone and any(away) and (word == text.word or in_lexicon):
            delta = clopper_pearson(sum(away), len(away), DEFAULT_ERROR)[0]
            self._add(
                Kind.KEPT,
                Grade.PROVED,
                f"no number is drawn for “{text.word}”, and “{word}” comes out in its place "
                f"whatever the noise ({runs} runs); {share}",
                text,
                other,
                runs=runs,
                delta=delta,
            )
        elif any(away):
            why = (
                "words outside the vocabulary are told from those in it"
                if text.made_up and word != text.word
                else "no noise reaches it, or it is too small for it to show"
            )
            self._add(
                Kind.KEPT,
                Grade.LOOK,
                f"for “{text.word}” it is “{word}” that came out in all of {runs} runs, also with "
                f"noise far in its tails; {share}: {why}",
                text,
                other,
                runs=runs,
            )

    def _copied(self, text: Text, other: Text) -> None:
        """Report a made-up word that comes out: only the text can have it."""
        if not text.made_up:
            return
        seen, beside = self.seen[text.words], self.seen[other.words]
        if not any(_has(run, text.word) for run in seen.runs):
            draw = next((d for r in seen.runs for d in r.draws if _holds(d, text.word)), None)
            if draw is None:
                return
        if any(_has(run, text.word) for run in beside.runs):
            return
        draw = next((d for r in seen.runs for d in r.draws if _holds(d, text.word)), None)
        kind = Kind.COPIED if draw is None else Kind.VOCABULARY
        if not self._try(kind):
            return
        self._confirm(text, other)
        came = [_has(run, text.word) for run in seen.every]
        if not any(came):
            return
        fresh = [_has(run, text.word) for run in seen.more]
        delta = clopper_pearson(sum(fresh), len(fresh), DEFAULT_ERROR)[0]
        # A string that is made up letter by letter comes out nearly right as well.
        nearly = any(_nearly(token, text.word) for run in seen.every for token in run.tokens)
        noisy = 0 < sum(fresh) < len(fresh)
        sure = draw is not None or self._untouched(text) or (noisy and not nearly)
        sure &= self.controlled
        how = "" if draw is None else f"; it is among the candidates of {draw.kind} ({draw.where})"
        self._add(
            kind,
            Grade.PROVED if sure else Grade.LOOK,
            f"“{text.word}”, made up for this audit, comes out in {sum(fresh)} of {len(fresh)} "
            f"runs of its text{how}: no other text can give it",
            text,
            other,
            where="" if draw is None else draw.where,
            runs=len(seen.every),
            delta=delta if sure else None,
        )

    def _length(self, text: Text, other: Text) -> None:
        """Report an output whose length follows from the text."""
        seen, beside = self.seen[text.words], self.seen[other.words]
        pairs = list(zip(seen.runs, beside.runs, strict=True))
        if not any(len(a.tokens) != len(b.tokens) for a, b in pairs):
            return
        fixed = len(seen.lengths) == len(beside.lengths) == 1
        if fixed and seen.lengths != beside.lengths and self._try(Kind.LENGTH):
            self._confirm(text, other)
            if len(seen.lengths) == len(beside.lengths) == 1:
                (first,), (second,) = seen.lengths, beside.lengths
                runs = len(seen.every)
                certain = self.controlled and all(map(_moving, (seen, beside)))
                certain |= self._untouched(text) != self._untouched(other)
                strange = text.made_up or other.made_up
                self._add(
                    Kind.LENGTH,
                    Grade.PROVED if certain and not strange else Grade.LOOK,
                    f"the text decides how many words come out: {first} with “{text.word}”, "
                    f"{second} with “{other.word}”, in all of {runs} runs of each, also with noise "
                    "far in its tails"
                    + (": words outside the vocabulary are told from those in it" * strange),
                    text,
                    other,
                    runs=runs,
                    delta=clopper_pearson(CONFIRMING, CONFIRMING, DEFAULT_ERROR)[0]
                    if certain and not strange
                    else None,
                )
                return
        self._add(
            Kind.LENGTH,
            Grade.LOOK,
            f"with the same noise the outputs for “{text.word}” and “{other.word}” have "
            "different numbers of words",
            text,
            other,
        )

    # -- findings about draws

    def _traces(self, text: Text, other: Text) -> None:
        """Compare the draws of two texts under each noise, up to the first that differs in kind."""
        pairs = zip(self.seen[text.words].runs, self.seen[other.words].runs, strict=True)
        kinds: set[Kind] = set()
        for run, beside in pairs:
            if isinstance(run.output, Refusal) or isinstance(beside.output, Refusal):
                continue
            for about, sentence, where in _differences(run, beside, text, other):
                # Stand-ins for unknown words are drawn: that is about the vocabulary alone.
                strange = text.made_up != other.made_up and about is not Kind.SCALE
                kind = Kind.UNKNOWN if strange else about
                if kind not in kinds:
                    kinds.add(kind)
                    self._add(kind, Grade.LOOK, sentence, text, other, where=where)
            aligned = run.kinds == beside.kinds and len(run.tokens) == len(beside.tokens)
            comparable = not kinds & {Kind.SIZE, Kind.CANDIDATES, Kind.BOUNDS, Kind.UNKNOWN}
            if aligned and comparable and len(run.tokens) == len(text.words):
                places = [
                    i
                    for i, (a, b) in enumerate(zip(run.tokens, beside.tokens, strict=True))
                    if a != b and i != text.place
                ]
                if places and Kind.ELSEWHERE not in kinds:
                    kinds.add(Kind.ELSEWHERE)
                    self._add(
                        Kind.ELSEWHERE,
                        Grade.LOOK,
                        f"with the same noise “{text.word}” and “{other.word}” change the word "
                        f"that comes out for “{text.words[places[0]]}”: no guarantee of single "
                        "words adds up for this text",
                        text,
                        other,
                    )

    def _shared(self) -> None:
        """Report draws whose weights or centres depend on words of two places."""
        changed: dict[tuple[str, ...], dict[int, set[tuple[int, int]]]] = {}
        example: dict[tuple[str, ...], tuple[Text, Text]] = {}
        for scene in self.scenes:
            base = scene[0]
            run = self.seen[base.words].runs[0]
            for other in scene[1:]:
                beside = self.seen[other.words].runs[0]
                if other.made_up or run.kinds != beside.kinds:
                    continue
                draw_places = _places(run, beside, len(base.words))
                places = changed.setdefault(base.words, {})
                places.setdefault(base.place, set()).update(draw_places)
                example.setdefault(base.words, (base, other))
        for words, places in changed.items():
            for first, second in combinations(places, 2):
                both = places[first] & places[second]
                if not both or len(self.seen[words].runs[0].draws) < 2:
                    continue
                draw = self.seen[words].runs[0].draws[min(both)[0]]
                text, other = example[words]
                self._add(
                    Kind.SHARED,
                    Grade.LOOK,
                    f"“{words[first]}” and “{words[second]}” both change the arguments of one draw "
                    f"({draw.kind}, {draw.where}): the noise at one word depends on another",
                    text,
                    other,
                    where=draw.where,
                )
                break


def _summary(findings: Sequence[Finding]) -> Finding:
    """Return the clearest finding of a kind, with the number of pairs that show it."""
    best = min(findings, key=lambda f: f.grade is not Grade.PROVED)
    return dataclasses.replace(best, pairs=len({(f.text, f.other) for f in findings}))


def _out_and_in(text: Text, other: Text) -> bool:
    """Return True if only the neighbour has a made-up word, for which others stand in."""
    return other.made_up and not text.made_up


def _has(run: Run, word: str) -> bool:
    return word in str(run.output) and not isinstance(run.output, Refusal)


def _holds(draw: Draw, word: str) -> bool:
    return any(word in value.held for value in draw.arguments.values())


def _nearly(token: str, word: str) -> bool:
    """Return True for a string that is like a word and is not the word."""
    stripped = token.strip(".,;:!?")
    if word in stripped or not stripped:
        return False
    return bool(difflib.SequenceMatcher(None, stripped, word).ratio() > _ALIKE)


def _moving(seen: Seen) -> bool:
    """Return True if noise changes the word at every place, or nothing is drawn at all."""
    if not any(run.draws for run in seen.runs):
        return True
    ordinary = [*seen.runs, *seen.more]
    columns = zip(*(run.tokens for run in ordinary), strict=False)
    return all(len(set(column)) > 1 for column in columns)


_Difference = tuple[Kind, str, str]


def _differences(run: Run, beside: Run, text: Text, other: Text) -> Iterator[_Difference]:
    """Compare draws in order, until one is of another kind: what follows has other numbers."""
    pair = f"“{text.word}” and “{other.word}”"
    for first, second in zip(run.draws, beside.draws, strict=False):
        if first.kind != second.kind:
            yield (
                Kind.DRAWS,
                f"with the same noise {pair} lead to other draws: {first.kind} ({first.where}) and "
                f"{second.kind} ({second.where})",
                first.where,
            )
            return
        for name, value in first.arguments.items():
            against = second.arguments.get(name)
            if against is None or value.digest == against.digest:
                continue
            kind = _about(first, name, value, against)
            if kind is not None:
                yield (
                    kind,
                    f"{pair} change {name} of {first.kind} ({first.where}): {value.text} and "
                    f"{against.text}",
                    first.where,
                )
    if len(run.draws) != len(beside.draws):
        longer = max(run.draws, beside.draws, key=len)
        extra = longer[min(len(run.draws), len(beside.draws))]
        yield (
            Kind.DRAWS,
            f"with the same noise {pair} lead to {len(run.draws):,} and {len(beside.draws):,} "
            f"draws; the first that one of them lacks is {extra.kind} ({extra.where})",
            extra.where,
        )


def _about(draw: Draw, name: str, value: Value, against: Value) -> Kind | None:
    """Return what a difference of an argument may show; None if mechanisms are made so."""
    method = draw.method
    if name in _CENTRES or name in _WEIGHTS:
        # The centre of added noise, and the weights of a choice, are the mechanism.
        return None if value.size == against.size else Kind.CANDIDATES
    if name in _SIZES:
        return Kind.SIZE
    if method in _CHOOSING and name in _SETS:
        return Kind.CANDIDATES
    return Kind.SCALE if method in _NOISE else Kind.BOUNDS


def _places(run: Run, beside: Run, words: int) -> set[tuple[int, int]]:
    """Return (draw, row) of weights, centres and scales that differ; row −1 for a whole draw."""
    places = set()
    for i, (first, second) in enumerate(zip(run.draws, beside.draws, strict=True)):
        for name, value in first.arguments.items():
            against = second.arguments.get(name)
            if against is None or value.digest == against.digest:
                continue
            if _about(first, name, value, against) not in {None, Kind.SCALE}:
                return set()  # other numbers from here on: nothing is aligned
            if len(value.rows) == len(against.rows) == words:
                differing = zip(value.rows, against.rows, strict=True)
                places |= {(i, row) for row, (a, b) in enumerate(differing) if a != b}
            else:
                places.add((i, -1))
    return places
