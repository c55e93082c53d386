"""The network that comes with the laboratory: trained, fitted, tried, and written with a manifest.

It learns from the texts that the bigrams count, sentence by sentence, and is tried on the same
held-out part (`dpcore.attack.language.build`). The exponent of the attacker is fitted on sentences
of the training text, which a mechanism rewrites.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Sequence
from dataclasses import asdict, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from dpcore import __version__
from dpcore.arrays import FloatArray, IntArray
from dpcore.attack.language.build import (
    compounds,
    held_out_sentences,
    known_tokens,
    sources_of,
    used_sources,
)
from dpcore.attack.language.chain import forward_backward
from dpcore.attack.language.language import UNKNOWN, Bigram, language, language_folder
from dpcore.attack.language.reader_training import ReaderPlan, cut, train
from dpcore.attack.language.reading import read_on
from dpcore.attack.output.channel import open_channel
from dpcore.errors import LexiconError
from dpcore.learn.packages import torch
from dpcore.lexicon.cache import sha256_of_file, write_text
from dpcore.lexicon.damage import FIELDS, refuse_of_the_system
from dpcore.lexicon.masked_model import FILE, Reader, read_reader, write_reader
from dpcore.lexicon.progress import Progress, silent
from dpcore.lexicon.train.corpus import tokenise
from dpcore.mechanisms.registry import create
from dpcore.noise.streams import generator

if TYPE_CHECKING:
    from pathlib import Path

    from dpcore.attack.output.likelihood import Channel
    from dpcore.lexicon.lexicon import Lexicon

MANIFEST = "reader.json"
EXPONENTS = (0.0, 0.1, 0.2, 0.4, 0.6)
"""Of the answer of the network, from which the fit chooses."""
_MECHANISM, _EPSILONS = "tem", (2.1, 2.4)  # a tenth and a quarter of the words can be guessed
_FITTED = 20  # sentences
_TRIED = 600  # held-out sequences: the bigram between two words takes milliseconds a place


def sequences_of_folder(
    lexicon: Lexicon, folder: Path, plan: ReaderPlan
) -> tuple[list[IntArray], list[int]]:
    """The sequences of the shared texts, and how many times each counts.

    Raises:
        LexiconError: a text is not there.
    """
    parts: list[IntArray] = []
    times: list[int] = []
    for documents, weight in sources_of(folder, plan.everyday):
        new = _sequences_of(lexicon, documents, plan)
        parts += new
        times += [weight] * len(new)
    return parts, times


def _sequences_of(lexicon: Lexicon, documents: Iterable[Any], plan: ReaderPlan) -> list[IntArray]:
    corpus = tokenise([documents], compounds(lexicon))
    segments = corpus.segments.astype(np.int64)
    return cut(known_tokens(corpus, lexicon), segments, plan.longest, len(lexicon))


def pseudo_perplexity(reader: Reader, model: Bigram, parts: Sequence[IntArray]) -> dict[str, Any]:
    """How well each hidden word is named from all others: e to the mean of −ln P(word | others).

    Args:
        reader: the network.
        model: bigrams: their answer is P(w | left)·P(right | w), normalised.
        parts: sequences; words at the ends of a part that was cut out of a sentence are not asked.

    Returns:
        `tokens`, `pseudo_perplexity` and `pseudo_perplexity_bigram`.
    """
    own, beside, total = 0.0, 0.0, 0
    for part in parts:
        places = 1 + np.flatnonzero(part[1:-1] < reader.size)
        if not places.size:
            continue
        asked = np.arange(places.size)
        rows = np.repeat(reader.embedded(part)[None], places.size, axis=0)
        rows[asked, places] = reader.embedded(np.array(reader.hidden))
        logits = reader.logits(rows, places).astype(np.float64)
        most = logits.max(axis=1)
        sums = most + np.log(np.exp(logits - most[:, None]).sum(axis=1))
        own += float((sums - logits[asked, part[places]]).sum())
        for place in places.tolist():
            left, right = (
                int(part[i]) if part[i] <= reader.boundary else UNKNOWN
                for i in (place - 1, place + 1)
            )
            weights = model.after(left)[:-1] * model.before(right)[:-1]
            beside -= math.log(weights[part[place]] / weights.sum())
        total += places.size
    return {
        "tokens": total,
        "pseudo_perplexity": math.exp(own / total),
        "pseudo_perplexity_bigram": math.exp(beside / total),
    }


def fitted_exponent(
    reader: Reader, channel: Channel, sentences: Sequence[IntArray], epsilons: Sequence[float],
    seed: int, progress: Progress = silent,
) -> tuple[float, dict[str, float]]:  # fmt: skip
    """The power of the network's answer under which the written words are believed in most.

    Args:
        reader: the network.
        channel: of the mechanism that rewrites, over the whole lexicon.
        sentences: known words of each, shape (L,).
        epsilons: of the rewriting.
        seed: of its noise.
        progress: called with ("exponent", done, all).

    Returns:
        One of `EXPONENTS`, and the mean of −ln of the belief in the written word under each.
    """
    model = language(channel.mechanism.lexicon)
    losses = np.zeros(len(EXPONENTS))
    words = 0
    for i, sentence in enumerate(sentences):
        for epsilon in epsilons:
            rng = generator(seed, "reader exponent", i, f"{epsilon:g}")
            outputs = channel.mechanism.sample(rng, sentence, epsilon)
            evidence: list[FloatArray | int] = []
            for seen in channel.seen_all(outputs.tolist()):
                logs = seen.at(epsilon).logs
                evidence.append(np.exp(logs - logs.max()))
            start = forward_backward(model, evidence)
            for e, exponent in enumerate(EXPONENTS):
                beliefs = read_on(reader, evidence, start, model.frequency, exponent=exponent)
                for belief, word in zip(beliefs, sentence.tolist(), strict=True):
                    losses[e] -= math.log(max(belief[word], 1e-300))
            words += sentence.size
        progress("exponent", i + 1, len(sentences))
    losses /= words
    return EXPONENTS[int(losses.argmin())], {
        f"{exponent:g}": float(loss) for exponent, loss in zip(EXPONENTS, losses, strict=True)
    }


def build_reader(
    lexicon: Lexicon, folder: Path, out: Path, plan: ReaderPlan, progress: Progress = silent
) -> dict[str, Any]:
    """Train, fit, try the network on held-out text, and write the file and its manifest.

    The file is written every 250 steps, so that a training that is broken off leaves a network.

    Returns:
        The manifest.

    Raises:
        MissingPackageError: torch is not installed.
        LexiconError: a text is not there.
    """
    torch()  # before the texts are read, which takes a minute
    parts, times = sequences_of_folder(lexicon, folder, plan)
    path = out / FILE

    def keep(reader: Reader) -> None:
        write_reader(path, reader)

    keep(train(np.asarray(lexicon.vectors, np.float64), parts, times, plan, keep, progress))
    return finish(lexicon, folder, out, plan, parts, times, progress)


def finish(
    lexicon: Lexicon, folder: Path, out: Path, plan: ReaderPlan, parts: Sequence[IntArray],
    times: Sequence[int], progress: Progress = silent,
) -> dict[str, Any]:  # fmt: skip
    """Fit and try a network that was trained, and write it again with its manifest.

    Args:
        lexicon: its words.
        folder: of the texts.
        out: where its file lies.
        plan: of its training.
        parts: sequences that it was trained on.
        times: how many times each counts.
        progress: called with (stage, done, all).
    """
    path = out / FILE
    reader = read_reader(path)
    rng = generator(plan.seed, "reader fit")
    weights = np.asarray(times, dtype=np.float64)
    whole: list[IntArray] = []
    while len(whole) < _FITTED:
        part = parts[int(rng.choice(len(parts), p=weights / weights.sum()))]
        known = part[1:-1]
        if part[0] == part[-1] == len(lexicon) and known.size >= 5 and known.max() < len(lexicon):
            whole.append(known)
    channel = open_channel(create(_MECHANISM, lexicon), progress=progress)
    exponent, losses = fitted_exponent(reader, channel, whole, _EPSILONS, plan.seed, progress)
    reader = replace(reader, exponent=exponent)
    write_reader(path, reader)
    held_out = _sequences_of(lexicon, [[text] for text in held_out_sentences(folder)], plan)
    drawn = generator(plan.seed, "reader trial").permutation(len(held_out))[:_TRIED]
    manifest = {
        "command": (
            "python -m dpcore language train --data ../shared/data --out data/language "
            f"--steps {plan.steps}"
        ),
        "version": __version__,
        "lexicon": lexicon.name,
        "fingerprint": lexicon.fingerprint,
        "plan": asdict(plan),
        "sequences": len(parts),
        "exponent": exponent,
        "exponent_loss": losses,
        "files": {FILE: {"sha256": sha256_of_file(path), "bytes": path.stat().st_size}},
        "held_out": pseudo_perplexity(
            reader, language(lexicon), [held_out[int(i)] for i in np.sort(drawn)]
        ),
        "sources": used_sources(folder, plan.everyday),
    }
    write_text(out / MANIFEST, json.dumps(manifest, indent=1, ensure_ascii=False) + "\n")
    return manifest


def reader_manifest() -> dict[str, Any]:
    """What the bundled network was made of, and how well it reads.

    Raises:
        LexiconError: it is missing or cannot be read.
    """
    path = language_folder() / MANIFEST
    try:
        return dict(json.loads(path.read_text(encoding="utf-8")))
    except (OSError, *FIELDS) as error:
        refuse_of_the_system(error)
        raise LexiconError(
            f"{path} cannot be read; make it with `python -m dpcore language train`"
        ) from None
