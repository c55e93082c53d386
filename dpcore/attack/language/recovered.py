"""Words that each attacker recovers from a released text.

Four attackers, each knowing more: *blind* knows how frequent words are and sees nothing;
*likeliest* and *frequency* see only the output of each position; *context* reads the whole text. A
word counts as recovered if it is the first guess, or among the first ten. A recorded trial on
held-out text says how often three of them are right.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from dpcore import __version__
from dpcore.arrays import BoolArray, FloatArray, IntArray
from dpcore.attack.language.build import held_out_sentences
from dpcore.attack.language.context import BIGRAM, Place, context_attack, places_of
from dpcore.attack.language.language import language, language_folder, word_frequencies
from dpcore.attack.output.channel import Channel, open_channel
from dpcore.audit.montecarlo import clopper_pearson
from dpcore.errors import ParameterError, StudyError
from dpcore.learn.intervals import ratio_of_sums
from dpcore.lexicon.cache import FIELDS, refuse_of_the_system, write_text
from dpcore.lexicon.lexicon import Lexicon
from dpcore.lexicon.progress import Progress, silent
from dpcore.mechanisms.registry import create
from dpcore.noise.streams import generator
from dpcore.rewrite.languages import ENGLISH
from dpcore.rewrite.sentence import Sentence, prepare

BLIND, LIKELIEST, FREQUENCY, CONTEXT = ATTACKERS = ("blind", "likeliest", "frequency", "context")
TEN = 10


@dataclass(frozen=True, eq=False)
class Recovery:
    """L protected words of a text that the lexicon has, with their guesses; read-only.

    Attributes:
        lexicon: the words.
        reader: name of the reader of the context.
        written: input words, shape (L,).
        released: output words, shape (L,).
        guesses: of each attacker, shape (L,).
        ranks: of each attacker, rank of the input word among its guesses, 0 for the first,
            shape (L,); none for `likeliest`, which often finds many words equally likely.
        chances: posterior of the input word for `frequency` and `context`, shape (L,).
        unknown: number of protected words outside the vocabulary, whose output tells nothing.
    """

    lexicon: Lexicon
    reader: str
    written: IntArray
    released: IntArray
    guesses: dict[str, IntArray]
    ranks: dict[str, IntArray]
    chances: dict[str, FloatArray]
    unknown: int

    @property
    def counted(self) -> BoolArray:
        """True for content words that were replaced by another word, shape (L,)."""
        content = [
            self.lexicon.words[word] not in ENGLISH.stop_words for word in self.written.tolist()
        ]
        return np.asarray(np.array(content, dtype=bool) & (self.written != self.released))

    @property
    def smoothed(self) -> IntArray:
        """First guesses of the one who reads on: the release smoothed by the language, shape (L,).

        Computed from the released words alone, it costs no ε. What it gives back to a reader it
        gives to an attacker, for both read the same words.
        """
        return self.guesses[CONTEXT]

    def smoothed_outputs(self, sentence: Sentence, outputs: Sequence[int] | IntArray) -> IntArray:
        """Return the outputs of a text with the smoothed words, one for each open slot."""
        smoothed = np.array(outputs, dtype=np.int64)
        smoothed[sentence.words >= 0] = self.smoothed
        return smoothed

    @property
    def restored(self) -> int:
        """Number of changed words that smoothing gives back."""
        return int(((self.smoothed == self.written) & (self.released != self.written)).sum())

    @property
    def lost(self) -> int:
        """Number of words that had stayed and that smoothing exchanges for others."""
        return int(((self.smoothed != self.written) & (self.released == self.written)).sum())

    def right(self, attacker: str, first: int = 1) -> int:
        """Return how many of the changed content words are among the `first` guesses."""
        return int((self.ranks[attacker] < first)[self.counted].sum())

    def rows(self) -> list[dict[str, Any]]:
        """Return one row a word: written, released, counted, guesses, ranks (from 1), chances."""
        names, counted = self.lexicon.words, self.counted
        return [
            {
                "written": names[int(self.written[i])],
                "released": names[int(self.released[i])],
                "counted": bool(counted[i]),
                **{a: names[int(guesses[i])] for a, guesses in self.guesses.items()},
                **{f"rank_{a}": int(ranks[i]) + 1 for a, ranks in self.ranks.items()},
                **{f"chance_{a}": float(chances[i]) for a, chances in self.chances.items()},
            }
            for i in range(self.written.size)
        ]


def recover(
    channel: Channel,
    sentence: Sentence,
    outputs: Sequence[int] | IntArray,
    epsilon: float,
    *,
    reader: str = BIGRAM,
    progress: Progress = silent,
) -> Recovery:
    """Let every attacker guess the words of a released text.

    Args:
        channel: of the mechanism, over the whole lexicon.
        sentence: the prepared text.
        outputs: one released word for each of its open slots.
        epsilon: ε of every word.
        reader: reader of the context, one of `dpcore.attack.language.context.READERS`.
        progress: called with ("words", done, all).

    Raises:
        ParameterError: the text holds no protected word of the vocabulary or too many, or there is
            no such reader.
        LexiconError: the reader does not know the lexicon.
        EpsilonError: ε is not admissible.
    """
    places = places_of(sentence, outputs)
    attack = context_attack(channel, places, epsilon, reader=reader, progress=progress)
    known = sentence.words >= 0
    written, released = sentence.words[known], np.asarray(outputs)[known]
    blind = word_frequencies(sentence.lexicon)
    beliefs = {FREQUENCY: attack.alone, CONTEXT: attack.context}
    each = np.arange(written.size)
    return Recovery(
        sentence.lexicon,
        reader,
        written,
        released,
        {
            BLIND: np.full(written.size, blind.argmax()),
            LIKELIEST: attack.likeliest,
            FREQUENCY: attack.guesses_alone,
            CONTEXT: attack.guesses,
        },
        {
            BLIND: np.array([(blind > blind[word]).sum() for word in written], dtype=np.int64),
            **{name: _ranks(belief, written) for name, belief in beliefs.items()},
        },
        {name: belief[each, written] for name, belief in beliefs.items()},
        int((~known).sum()),
    )


def _ranks(beliefs: FloatArray, words: IntArray) -> IntArray:
    """Return the number of words with a larger posterior than each of these, shape (L,)."""
    own = beliefs[np.arange(words.size), words]
    return np.asarray((beliefs > own[:, None]).sum(axis=1))


# Trial of three attackers on text that no model has counted: does context undo word privacy?
#
# Held-out sentences of the treebank are rewritten once at each ε, and each attacker names every
# word: the first takes the word under which the output is likeliest, the second weighs that by word
# frequency, the third reads the whole rewritten sentence (`dpcore.attack.language.context`). An
# attacker's share of right names has an interval from the spread between sentences, because the
# words of one sentence are not independent.


FILE = "attack.json"
TRIED = (LIKELIEST, FREQUENCY, CONTEXT)
"""Attackers of the trial."""
KINDS = ("all", "content", "changed")
SETTINGS = (("tem", (2.0, 2.25, 2.5, 2.75, 3.0)),)
"""ε at which most words of the bundled lexicon begin to stay: from 7 to 77 of a hundred."""
_SHORTEST, _LONGEST = 5, 25


@dataclass(frozen=True)
class TrialPlan:
    """Settings of the trial.

    Attributes:
        sentences: number of sentences, drawn from those that qualify.
        seed: seed of the draw and of the noise.
    """

    sentences: int = 150
    seed: int = 0


def qualifying(lexicon: Lexicon, texts: Sequence[str]) -> list[Sentence]:
    """Return texts of 5 to 25 words, all of the vocabulary, each once, in order of appearance."""
    sentences = []
    for text in dict.fromkeys(texts):
        # In practice more than 25 words: not worth the tokenising.
        if len(text) > 400:
            continue
        sentence = prepare(text, lexicon)
        if _SHORTEST <= sentence.protected <= _LONGEST and np.all(sentence.words >= 0):
            sentences.append(sentence)
    return sentences


def try_attackers(
    channel: Channel,
    sentences: Sequence[Sentence],
    epsilon: float,
    seed: int,
    progress: Progress = silent,
) -> list[dict[str, Any]]:
    """Rewrite every sentence once and let all attackers guess.

    The attacker sees one sentence at a time, without its punctuation.

    Returns:
        One row for each attacker and kind of words (all; all but function words; those that were
        replaced by another one): words, right, share, and the ends of a 95 % interval. There is no
        row for a kind without words.
    """
    lexicon = channel.mechanism.lexicon
    function = np.array([word in ENGLISH.stop_words for word in lexicon.words])
    right = np.zeros((len(TRIED), len(KINDS), len(sentences)))
    total = np.zeros((len(KINDS), len(sentences)))
    for i, sentence in enumerate(sentences):
        # No ε in the key: every ε has the same noise, so that shares differ by ε alone.
        rng = generator(seed, "trial", channel.mechanism.key, i)
        outputs = channel.mechanism.sample(rng, sentence.words, epsilon)
        attack = context_attack(channel, [Place(int(y)) for y in outputs], epsilon)
        guesses = (attack.likeliest, attack.guesses_alone, attack.guesses)
        every = np.ones(sentence.words.size, dtype=bool)
        # Function words are guessed from grammar alone, unchanged words by reading them off.
        kinds = (every, ~function[sentence.words], outputs != sentence.words)
        for k, kept in enumerate(kinds):
            total[k, i] = kept.sum()
            for a, guess in enumerate(guesses):
                right[a, k, i] = (guess == sentence.words)[kept].sum()
        progress("sentences", i + 1, len(sentences))
    return [
        {"attacker": attacker, "words": kind} | share_of(right[a, k], total[k])
        for a, attacker in enumerate(TRIED)
        for k, kind in enumerate(KINDS)
        if total[k].any()
    ]


def share_of(right: FloatArray, total: FloatArray) -> dict[str, float]:
    """Compute a ratio of sums over sentences with its interval of level 95 %.

    The interval is never narrower than that of Clopper and Pearson for independent words: if all
    words or none are right, sentences have no spread.

    Args:
        right: words of each sentence that are right, shape (s,).
        total: words of each sentence, shape (s,), not all 0.

    Returns:
        `tokens`, `right`, `share`, `low` and `high`.
    """
    share, error = ratio_of_sums(right, total)
    low, high = clopper_pearson(int(right.sum()), int(total.sum()), 0.025)
    return {
        "tokens": int(total.sum()),
        "right": int(right.sum()),
        "share": share,
        "low": max(min(share - 1.96 * error, low), 0.0),
        "high": min(max(share + 1.96 * error, high), 1.0),
    }


def run(
    lexicon: Lexicon, folder: Path, out: Path, plan: TrialPlan, progress: Progress = silent
) -> dict[str, Any]:
    """Try all settings, and write the result beside the counts.

    Raises:
        LexiconError: a text is missing in the folder.
        ParameterError: fewer sentences qualify than requested.
    """
    known = qualifying(lexicon, held_out_sentences(folder))
    if not 2 <= plan.sentences <= len(known):
        raise ParameterError(
            f"sentences to try must be 2 to {len(known):,} (those that qualify), got "
            f"{plan.sentences}"
        )
    order = generator(plan.seed, "trial sentences").permutation(len(known))[: plan.sentences]
    sentences = [known[int(i)] for i in np.sort(order)]
    # Refuses a lexicon without counts here, before the first channel takes its time.
    language(lexicon)
    rows = []
    for name, epsilons in SETTINGS:
        channel = open_channel(create(name, lexicon), progress=progress)
        for epsilon in epsilons:
            shares = try_attackers(channel, sentences, epsilon, plan.seed, progress)
            rows += [{"mechanism": name, "epsilon": epsilon} | row for row in shares]
    result = {
        "command": "python -m dpcore language attack --data ../shared/data --out data/language",
        "version": __version__,
        "lexicon": lexicon.name,
        "fingerprint": lexicon.fingerprint,
        "seed": plan.seed,
        "text": "English Web Treebank, held-out documents",
        "sentences": plan.sentences,
        "of": len(known),
        "rows": rows,
    }
    write_text(out / FILE, json.dumps(result, indent=1, ensure_ascii=False) + "\n")
    return result


def read_recorded_trial() -> dict[str, Any]:
    """Read the recorded result of `run` on the bundled lexicon.

    Raises:
        StudyError: the file is missing or cannot be read.
    """
    path = language_folder() / FILE
    try:
        return dict(json.loads(path.read_text(encoding="utf-8")))
    except (OSError, *FIELDS) as error:
        refuse_of_the_system(error)
        raise StudyError(
            f"the recorded trial {path} cannot be read; make it with "
            "`python -m dpcore language attack`"
        ) from None
