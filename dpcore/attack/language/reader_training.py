"""Training of the network that reads a sentence, with torch, on the texts that the bigrams count.

In every sequence a share of the words is hidden, and the network learns to name them from the rest
(Devlin et al. 2019, Section 3.1; here every such word is replaced by the token for a hidden word).
A sequence is a sentence between two boundaries, or a part of a longer one.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

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
from dpcore.attack.language.context import read_on
from dpcore.attack.language.language import (
    UNKNOWN,
    Bigram,
    CountPlan,
    forward_backward,
    language,
    language_folder,
)
from dpcore.attack.output.channel import Channel, open_channel
from dpcore.errors import LexiconError, ParameterError
from dpcore.learn.tensors import array
from dpcore.lexicon.cache import FIELDS, refuse_of_the_system, sha256_of_file, write_text
from dpcore.lexicon.lexicon import Lexicon
from dpcore.lexicon.masked_model import FILE, SPECIAL, Reader, read_reader, write_reader
from dpcore.lexicon.progress import Progress, silent
from dpcore.lexicon.train.vocabulary import tokenise
from dpcore.mechanisms.registry import create
from dpcore.noise.streams import generator
from dpcore.optional import torch

_SHORTEST = 3  # known words of a sequence: fewer give no context
_EVERY = 250  # steps between two checkpoints
_WARM, _FALLING = 150, 1 / 3


@dataclass(frozen=True)
class ReaderPlan:
    """Settings of the network and its training.

    Attributes:
        rank: length of a word's row in the embedding table.
        width: width of the layers.
        layers: number of layers.
        heads: attention heads.
        longest: positions of a sequence, boundaries included.
        hidden: share of the words that are hidden.
        others: words that a hidden one is told from in one step, drawn by frequency to the ¾.
        steps: steps of the optimiser (AdamW, Loshchilov and Hutter 2019).
        tokens: positions of one step.
        rate: highest rate; it rises over the first 150 steps and falls to 0 over the last third.
        everyday: weight of a sentence outside the encyclopedia.
        seed: seed of the initial weights, the order and the hidden words.
    """

    rank: int = 128
    width: int = 192
    layers: int = 2
    heads: int = 4
    longest: int = 32
    hidden: float = 0.3
    others: int = 2_048
    steps: int = 7_000
    tokens: int = 1_024
    rate: float = 2e-3
    everyday: int = CountPlan().everyday
    seed: int = 0

    def __post_init__(self) -> None:
        """Check the settings that a command can change."""
        if not 1 <= self.steps <= 1_000_000:
            raise ParameterError(f"steps of training are 1 to 1,000,000, got {self.steps:,}")


def cut(tokens: IntArray, segments: IntArray, longest: int, boundary: int) -> list[IntArray]:
    """Cut sentences between boundaries into parts of at most `longest` positions.

    Args:
        tokens: numbers of words, −1 for an unknown one, shape (T,).
        segments: equal for tokens of one sentence, ascending, shape (T,).
        longest: length of a part, boundaries included.
        boundary: its number; the next number is that of an unknown word.
    """
    tokens = np.where(tokens < 0, boundary + 1, tokens)
    ends = np.flatnonzero(np.diff(segments)) + 1
    parts = []
    for sentence in np.split(tokens, ends):
        whole = np.concatenate(([boundary], sentence, [boundary]))
        parts += [whole[i : i + longest] for i in range(0, whole.size, longest)]
    return [part for part in parts if (part < boundary).sum() >= _SHORTEST]


def starting_weights(vectors: FloatArray, plan: ReaderPlan) -> dict[str, FloatArray]:
    """Return the weights before training; the table starts with principal directions of vectors.

    Args:
        vectors: of the n words, shape (n, d).
        plan: sizes and seed.
    """
    rng = generator(plan.seed, "reader start")
    n, width, rank = len(vectors), plan.width, plan.rank

    def drawn(*shape: int, scale: float) -> FloatArray:
        return rng.standard_normal(shape) * scale

    centred = vectors - vectors.mean(axis=0)
    _, directions = np.linalg.eigh(centred.T @ centred)
    table = centred @ directions[:, -rank:]
    if table.shape[1] < rank:
        table = np.hstack((table, np.zeros((n, rank - table.shape[1]))))
    table *= 0.1 / table.std()
    k, between = plan.layers, 4 * width
    narrow, joined = width**-0.5, (width * 2 * k) ** -0.5

    def norms(*shape: int) -> FloatArray:
        return np.stack((np.ones((*shape, width)), np.zeros((*shape, width))), axis=-2)

    return {
        "embedding": np.vstack((table, drawn(SPECIAL, rank, scale=0.1))),
        "bias": np.zeros(n),
        "lift": drawn(rank, width, scale=rank**-0.5 * 3),
        "lower": drawn(width, rank, scale=narrow),
        "positions": drawn(plan.longest, width, scale=0.1),
        "norm": norms(),
        "before_attention": norms(k),
        "attention": drawn(k, width, 3 * width, scale=narrow),
        "attention_bias": np.zeros((k, 3 * width)),
        "join": drawn(k, width, width, scale=joined),
        "join_bias": np.zeros((k, width)),
        "before_feed": norms(k),
        "up": drawn(k, width, between, scale=narrow),
        "up_bias": np.zeros((k, between)),
        "down": drawn(k, between, width, scale=joined / 2),
        "down_bias": np.zeros((k, width)),
    }


def forward(weights: dict[str, Any], heads: int, rows: Any) -> Any:
    """Apply the network of `Reader` in torch, at every position: rows (B, T, r) to (B, T, d)."""
    functional = torch().nn.functional
    batch, length, _ = rows.shape
    state = rows @ weights["lift"] + weights["positions"][:length]
    width = state.shape[-1]

    def normed(x: Any, norm: Any) -> Any:
        return functional.layer_norm(x, (width,), norm[0], norm[1])

    for k in range(len(weights["up"])):
        x = normed(state, weights["before_attention"][k])
        mixed = x @ weights["attention"][k] + weights["attention_bias"][k]
        query, key, value = (
            part.reshape(batch, length, heads, width // heads).transpose(1, 2)
            for part in mixed.split(width, dim=-1)
        )
        heard = functional.scaled_dot_product_attention(query, key, value)
        heard = heard.transpose(1, 2).reshape(batch, length, width)
        state = state + heard @ weights["join"][k] + weights["join_bias"][k]
        x = normed(state, weights["before_feed"][k])
        between = (x @ weights["up"][k] + weights["up_bias"][k]).relu()
        state = state + between @ weights["down"][k] + weights["down_bias"][k]
    return normed(state, weights["norm"])


def sampled_loss(
    weights: dict[str, Any], states: Any, words: Any, others: Any, log_drawn: Any
) -> Any:
    """Compute the mean of −ln P(word) by sampled softmax: some words estimate the sum over all.

    A word that is drawn with probability q represents 1/q words, so ln q is subtracted from its
    score (Jean et al. 2015, Section 3).

    Args:
        weights: of the network.
        states: at M hidden positions, shape (M, d).
        words: hidden words at these positions, shape (M,).
        others: words that were drawn, shape (S,).
        log_drawn: ln of the expected number of draws of each of the n words, shape (n,).
    """
    library = torch()
    rows, bias = states @ weights["lower"], weights["bias"] - log_drawn
    embedding = library.nn.functional.embedding
    own = (rows * embedding(words, weights["embedding"])).sum(dim=1) + bias[words]
    beside = rows @ embedding(others, weights["embedding"]).T + bias[others]
    # The hidden word itself may be drawn, but must count only once.
    beside = beside.masked_fill(words[:, None] == others[None], -math.inf)
    both = library.cat((own[:, None], beside), dim=1)
    return (both.logsumexp(dim=1) - own).mean()


class _Sequences:
    """Sequences grouped by length, drawn by weight."""

    def __init__(self, parts: Sequence[IntArray], times: Sequence[int]) -> None:
        lengths = np.array([part.size for part in parts])
        weights = np.asarray(times, dtype=np.float64)
        self.tables: list[IntArray] = []
        self.cumulated: list[FloatArray] = []
        shares = []
        for length in np.unique(lengths):
            own = np.flatnonzero(lengths == length)
            self.tables.append(np.stack([parts[i] for i in own.tolist()]).astype(np.int32))
            self.cumulated.append(np.cumsum(weights[own]) / weights[own].sum())
            shares.append(weights[own].sum() * length)
        self.shares = np.array(shares) / np.sum(shares)

    def batch(self, rng: np.random.Generator, tokens: int) -> IntArray:
        """Draw sequences of one length, with about `tokens` positions in all."""
        which = int(rng.choice(self.shares.size, p=self.shares))
        table = self.tables[which]
        count = max(1, tokens // table.shape[1])
        drawn = np.searchsorted(self.cumulated[which], rng.random(count))
        return np.asarray(table[np.minimum(drawn, len(table) - 1)], dtype=np.int64)


def train(
    vectors: FloatArray, parts: Sequence[IntArray], times: Sequence[int], plan: ReaderPlan,
    keep: Callable[[Reader], None] = lambda reader: None, progress: Progress = silent,
) -> Reader:  # fmt: skip
    """Train a network.

    Args:
        vectors: of the n words, for the start of the table, shape (n, d).
        parts: sequences from `cut`.
        times: weight of each.
        plan: sizes and steps.
        keep: called with the network every 250 steps.
        progress: called with ("steps", done, all).

    Raises:
        MissingPackageError: torch is not installed.
    """
    library = torch()
    n, rng = len(vectors), generator(plan.seed, "reader batches")
    weights = {
        name: library.nn.Parameter(library.tensor(values, dtype=library.float32))
        for name, values in starting_weights(vectors, plan).items()
    }
    matrices = [w for name, w in weights.items() if w.ndim > 1 and "bias" not in name]
    others = [w for name, w in weights.items() if w.ndim == 1 or "bias" in name]
    optimiser = library.optim.AdamW(
        [{"params": matrices, "weight_decay": 0.01}, {"params": others, "weight_decay": 0.0}],
        lr=plan.rate, betas=(0.9, 0.98), fused=True,
    )  # fmt: skip
    sequences = _Sequences(parts, times)
    everything, repeats = np.concatenate(parts), np.repeat(times, [part.size for part in parts])
    counts = np.bincount(everything, repeats, minlength=n + SPECIAL)[:n] + 0.5
    drawn = counts**0.75 / (counts**0.75).sum()
    cumulated = np.cumsum(drawn)
    log_drawn = library.tensor(np.log(plan.others * drawn), dtype=library.float32)

    def kept() -> Reader:
        arrays = {name: array(w).astype(np.float32) for name, w in weights.items()}
        return Reader(arrays, plan.heads)

    for step in range(plan.steps):
        rate = min(1.0, (step + 1) / _WARM, (plan.steps - step) / (plan.steps * _FALLING))
        for group in optimiser.param_groups:
            group["lr"] = plan.rate * rate
        batch = sequences.batch(rng, plan.tokens)
        hidden = (rng.random(batch.shape) < plan.hidden) & (batch < n)
        if not hidden.any():
            continue
        shown = library.from_numpy(np.where(hidden, n + SPECIAL - 1, batch))
        rows = library.nn.functional.embedding(shown, weights["embedding"])
        states = forward(weights, plan.heads, rows)[library.from_numpy(hidden)]
        negatives = np.searchsorted(cumulated, rng.random(plan.others))
        loss = sampled_loss(
            weights,
            states,
            library.from_numpy(batch[hidden]),
            library.from_numpy(np.minimum(negatives, n - 1)),
            log_drawn,
        )
        optimiser.zero_grad(set_to_none=True)
        loss.backward()
        library.nn.utils.clip_grad_norm_(list(weights.values()), 1.0)
        optimiser.step()
        progress("steps", step + 1, plan.steps)
        if (step + 1) % _EVERY == 0:
            keep(kept())
    return kept()


# The bundled network: training, fit of the exponent, trial, and manifest.
#
# It learns from the texts that the bigrams count, sentence by sentence, and is tried on the same
# held-out part (`dpcore.attack.language.build`). The exponent of the attacker is fitted on
# sentences of the training text, which a mechanism rewrites.


MANIFEST = "reader.json"
EXPONENTS = (0.0, 0.1, 0.2, 0.4, 0.6)
"""Candidate exponents of the network's answer, from which the fit chooses."""
_MECHANISM, _EPSILONS = "tem", (2.1, 2.4)  # a tenth and a quarter of the words can be guessed
_FITTED = 20  # sentences
_TRIED = 600  # held-out sequences: the bigram baseline takes milliseconds for each position


def sequences_of_folder(
    lexicon: Lexicon, folder: Path, plan: ReaderPlan
) -> tuple[list[IntArray], list[int]]:
    """Return the sequences of the shared texts, and the weight of each.

    Raises:
        LexiconError: a text is missing.
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
    """Compute the pseudo-perplexity of hidden words: e to the mean of −ln P(word | others).

    Args:
        reader: the network.
        model: bigram model, whose answer is P(w | left)·P(right | w), normalised.
        parts: sequences; words at either end of a part that was cut out of a sentence are skipped.

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
    """Fit the exponent of the network's answer under which input words have the best posterior.

    Args:
        reader: the network.
        channel: of the mechanism that rewrites, over the whole lexicon.
        sentences: known words of each, shape (L,).
        epsilons: ε of the rewriting.
        seed: seed of its noise.
        progress: called with ("exponent", done, all).

    Returns:
        One of `EXPONENTS`, and the mean of −ln of the input word's posterior under each.
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

    The file is written every 250 steps, so that an interrupted training leaves a network.

    Returns:
        The manifest.

    Raises:
        MissingPackageError: torch is not installed.
        LexiconError: a text is missing.
    """
    torch()  # fail before the texts are read, which takes a minute
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
    """Fit and try a trained network, and write it again with its manifest.

    Args:
        lexicon: its words.
        folder: folder of the texts.
        out: folder of its file.
        plan: settings of its training.
        parts: sequences that it was trained on.
        times: weight of each.
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
    """Read the manifest of the bundled network: its training data and its results.

    Raises:
        LexiconError: the file is missing or cannot be read.
    """
    path = language_folder() / MANIFEST
    try:
        return dict(json.loads(path.read_text(encoding="utf-8")))
    except (OSError, *FIELDS) as error:
        refuse_of_the_system(error)
        raise LexiconError(
            f"{path} cannot be read; make it with `python -m dpcore language train`"
        ) from None
