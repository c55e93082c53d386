"""ADePT on ATIS and SNIPS: utility of its rewriting, and leakage of its noise.

The utterances of the train split are divided at random. The public part trains the network and
its vocabulary; the private part is rewritten; a classifier of intents is trained on rewritten
utterances and tested on the original test split. So the private part affects the results only
through the noise. The attack of Habernal 2021 (Appendix C) ranks all utterances by the likelihood
of a noisy vector; the target utterances are drawn from the same list, so that the guarantee of ε
bounds its success.
"""

from __future__ import annotations

import functools
import json
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np

from dpcore import __version__
from dpcore.arrays import FloatArray, IntArray
from dpcore.attack.latent import Rewrite, rank_candidates, success_bound
from dpcore.audit.montecarlo import clopper_pearson
from dpcore.errors import StudyError
from dpcore.learn.adept import CLIP, AdeptSettings, AutoEncoder, Shape, train_adept, words_of
from dpcore.learn.classifiers import learner_of, train
from dpcore.learn.corpus import bags_of
from dpcore.learn.training import Training
from dpcore.lexicon.cache import sha256_of_file, write_text
from dpcore.lexicon.lexicon import Lexicon
from dpcore.lexicon.metric import Metric, paired_distances
from dpcore.limits import MIN_CLASS_TEXTS
from dpcore.measure.similarity import bleu, rouge1
from dpcore.mechanisms.clipped.adept import FORMS, LatentForm, clip_rows, latent_path
from dpcore.noise.streams import generator
from dpcore.study.plan import CLEAN, Arm, Cell, Plan, Row, Study, canonical, row
from dpcore.study.runner import Sources
from dpcore.study.vocabularies import text_rows

NO_NOISE = "no noise"
"""Variant of the baseline: decoded from the clipped vector itself."""
_ALL = 1_000_000  # utterances: more than a corpus has
_ONE_SIDED = 0.025

_EPSILONS = (1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0, 128.0, 256.0, 512.0)
"""The same for all: all claim the same, ε between any two utterances."""

_PLAN = Plan(
    "adept2021-atis-snips",
    "dpcore.papers.habernal2021.plans:measure_adept",
    (Arm(""), *(Arm(name, _EPSILONS) for name in FORMS)),
    ("bundled",),
    ("atis.parquet", "snips.parquet"),
    (0, 1, 2),
    (
        ("public", 4_000),
        ("private", 800),
        ("longest", 15),
        ("epochs", 24),
        ("hidden", 128),
        ("latent", 32),
        ("learners", ("averaged", "tf-idf")),
        ("compared", 300),
        ("attacked", 1_000),
        ("pairs", 10_000),
    ),
    together=True,
)
STUDY = Study(
    "ADePT: utterances rewritten through a private latent vector, and the attack on it",
    "Krishna, Gupta, Dupuy 2021; Habernal 2021, Figure 1 and Appendix C",
    _PLAN,
    f"For each of {len(_PLAN.seeds)} seeds the distinct utterances of at most 15 words are divided "
    "again: up to 4,000 of the train split are public and train the network (1,500 words, 32 "
    "latent coordinates, GRUs "
    "of 128 units, at most 24 epochs), 800 are private and rewritten (300 of them compared), and "
    "the test split is what classifiers of intents are tested on; 1,000 utterances are looked for "
    "among all.",
    rewrites=False,
)


def measure_adept(cell: Cell, sources: Sources) -> list[Row]:
    """Measure one seed of one noise at all its ε, or of the baselines.

    Options: `public`, `private`, `longest`, `epochs`, `latent`, `hidden`, `learners`, `compared`
    (private utterances whose rewriting is compared), `attacked` (target utterances), `pairs` (of
    latent vectors).
    """
    options = {name: value for name, value in cell.options if name != "learners"}
    corpus, model = trained(sources.file(cell.data), cell.seed, canonical(options))
    learned = _Learned(corpus, sources.lexicon(cell.lexicon), tuple(cell.option("learners")))
    some = int(cell.option("compared"))
    # Only a part is compared; accuracy and attack use all utterances.
    originals = corpus.private.texts[:some]
    if not cell.mechanism:
        return list(_baseline(cell, corpus, model, learned))
    form = FORMS[cell.mechanism]
    norm = model.clip_norm(form)
    # One draw serves every ε, so that curves are smooth in ε.
    private = latent_path(cell.generator("noise"), model.latents(corpus.private.texts), norm, form)
    rows = []
    for epsilon in cell.epsilons:
        noisy = private.at(epsilon)
        texts = model.decode(noisy.vectors)
        rows += [
            measured | {"epsilon": epsilon} for measured in learned.accuracies(texts, cell.seed)
        ]
        rows += [
            measured | {"epsilon": epsilon} for measured in overlap_rows(originals, texts[:some])
        ]
        rows.append(row("true_epsilon", noisy.epsilon, epsilon=epsilon, variant="computed"))
    return rows + list(_attacked(cell, corpus, model, norm, form))


def _baseline(
    cell: Cell, corpus: DividedCorpus, model: AutoEncoder, learned: _Learned
) -> Iterator[Row]:
    """Yield rows of original utterances, utterances without noise, and the latent vectors."""
    yield learned.majority()
    yield from learned.accuracies(corpus.private.texts, cell.seed)
    latents = model.latents(corpus.private.texts)
    texts = model.decode(latents)
    some = int(cell.option("compared"))
    for measured in (
        *learned.accuracies(texts, cell.seed),
        *overlap_rows(corpus.private.texts[:some], texts[:some]),
    ):
        yield measured | {"variant": NO_NOISE}
    yield from unprotected(
        cell.generator("pairs"), model.latents(corpus.all_texts), int(cell.option("pairs"))
    )
    yield row("held_out_loss", float(model.facts["held_out"]), count=int(model.facts["epochs"]))
    yield row("vocabulary", len(model.vocabulary.words), count=len(corpus.public.texts))


def _attacked(
    cell: Cell, corpus: DividedCorpus, model: AutoEncoder, norm: float, form: LatentForm
) -> Iterator[Row]:
    """Yield the rank of the true utterance at each ε, and its bounds."""
    rng = cell.generator("attack")
    latents = model.latents(corpus.all_texts)
    # Without repetition, from all candidates: the guarantee is about an average over them.
    true = rng.permutation(len(latents))[: int(cell.option("attacked"))]
    path = latent_path(rng, latents[true], norm, form)
    candidates = clip_rows(latents, norm, form)
    for at_epsilon in cell.epsilons:
        ranking = rank_candidates(path.at(at_epsilon), candidates, true, form)
        point: dict[str, Any] = {"epsilon": ranking.claimed_epsilon, "count": ranking.ranks.size}
        low, high = ranking.interval
        # The normal interval of a mean over many utterances.
        error = 1.96 * float(ranking.best.std(ddof=1)) / np.sqrt(ranking.best.size)
        yield row("rank", ranking.mean_rank, **point)
        yield row("first", ranking.success, low=low, high=high, **point)
        yield row(
            "bayes", ranking.bayes, low=ranking.bayes - error, high=ranking.bayes + error, **point
        )
        for variant, epsilon in (("claimed", ranking.claimed_epsilon), ("true", ranking.epsilon)):
            bound = success_bound(epsilon, ranking.candidates)
            yield row(
                "first_bound", bound, variant=variant, **point | {"count": ranking.candidates}
            )


class _Learned:
    """Classifiers of intents, trained on given texts and tested on the test split."""

    def __init__(self, corpus: DividedCorpus, lexicon: Lexicon, learners: tuple[str, ...]) -> None:
        _, private, testing = corpus.intents()
        # Intents that are in one part alone can be neither learned nor tested.
        self.used = np.flatnonzero(private >= 0)
        tested = np.flatnonzero(testing >= 0)
        self.labels, self.true = private[self.used], testing[tested]
        self.lexicon, self.learners = lexicon, learners
        self.tests = bags_of([corpus.testing.texts[i] for i in tested.tolist()], lexicon)

    def majority(self) -> Row:
        share = (self.true == np.bincount(self.labels).argmax()).mean()
        return row("majority", share, tested_on=CLEAN, count=self.true.size)

    def accuracies(self, texts: Sequence[str], seed: int) -> Iterator[Row]:
        bags = bags_of([texts[i] for i in self.used.tolist()], self.lexicon)
        for name in self.learners:
            rng = generator(seed, "learner", name)
            model = train(learner_of(name), bags, self.labels, self.lexicon.vectors, rng)
            accuracy = model.accuracy(self.tests, self.true)
            tested: dict[str, Any] = {"learner": name, "tested_on": CLEAN, "count": self.true.size}
            yield row("accuracy", accuracy, **tested)


@functools.lru_cache(maxsize=1)
def trained(path: Path, seed: int, options: str) -> tuple[DividedCorpus, AutoEncoder]:
    """Return the divided corpus and its network, kept for the other noises of the seed.

    Args:
        path: of the corpus.
        seed: of the division and of the training.
        options: of the plan without `learners`, as canonical JSON.
    """
    sizes = dict(json.loads(options))
    corpus = read_corpus(path, sizes, seed)
    training = Training(
        epochs=int(sizes["epochs"]), batch=64, rate=4e-3, clip=5.0, patience=4, seed=seed, threads=1
    )
    settings = AdeptSettings(
        shape=Shape(hidden=int(sizes["hidden"]), latent=int(sizes["latent"])),
        longest=int(sizes["longest"]),
        training=training,
    )
    return corpus, train_adept(corpus.public.texts, settings)[0]


@dataclass(frozen=True)
class Utterances:
    """Distinct utterances with their intents."""

    texts: tuple[str, ...]
    labels: tuple[str, ...]


@dataclass(frozen=True)
class DividedCorpus:
    """Divided corpus: the network's training texts, texts to rewrite, classifiers' test texts."""

    public: Utterances
    private: Utterances
    testing: Utterances

    @property
    def all_texts(self) -> tuple[str, ...]:
        """Every utterance once."""
        return self.public.texts + self.private.texts + self.testing.texts

    def intents(self) -> tuple[tuple[str, ...], IntArray, IntArray]:
        """Return intents with enough texts in both parts, and their indices there (−1: another)."""
        kept = sorted(
            name
            for name in set(self.private.labels)
            if min(part.labels.count(name) for part in (self.private, self.testing))
            >= MIN_CLASS_TEXTS
        )
        if len(kept) < 2:
            raise StudyError("the utterances need two intents or more that stand in both parts")
        place = {name: i for i, name in enumerate(kept)}
        private, testing = (
            np.array([place.get(label, -1) for label in part.labels])
            for part in (self.private, self.testing)
        )
        return tuple(kept), private, testing


def read_corpus(path: Path, options: dict[str, Any], seed: int) -> DividedCorpus:
    """Divide the utterances of a file.

    Args:
        path: parquet with text, label and split.
        options: `public` and `private` (utterances), `longest` (words of an utterance; longer ones
            are left out).
        seed: of the division.

    Raises:
        StudyError: the file is not such a file, or too small.
    """
    seen: set[str] = set()
    splits = []
    for split in ("train", "test"):
        rng = generator(seed, "adept2021", split)
        pairs = []
        for text, label in zip(*text_rows(path, split, _ALL, rng), strict=True):
            words = words_of(text)
            key = " ".join(words)
            # Each utterance once, over both splits: a private one that was also public would hide
            # nothing.
            if 1 <= len(words) <= int(options["longest"]) and key not in seen:
                seen.add(key)
                pairs.append((key, label))
        splits.append(pairs)
    public, private = int(options["public"]), int(options["private"])
    if not len(splits[0]) > private + 1:
        # Something has to be left for the network to learn from.
        raise StudyError(f"{path} has {len(splits[0]):,} utterances to divide, too few")
    parts = splits[0][private : private + public], splits[0][:private], splits[1]
    return DividedCorpus(*(Utterances(*map(tuple, zip(*part, strict=True))) for part in parts))


def overlap_rows(originals: Sequence[str], texts: Sequence[str]) -> Iterator[Row]:
    """Yield ROUGE-1, BLEU and the share of utterances that come out word for word."""
    whole: dict[str, Any] = {"count": len(originals)}
    overlap = rouge1(originals, texts)
    yield row("rouge1_recall", overlap.recall.mean(), **whole)
    yield row("rouge1", overlap.f1.mean(), **whole)
    yield row("bleu", bleu(originals, texts), **whole)
    same = np.mean([a == b for a, b in zip(originals, texts, strict=True)])
    yield row("exact", float(same), **whole)


def unprotected(rng: np.random.Generator, latents: FloatArray, pairs: int) -> Iterator[Row]:
    """Yield the share of pairs of utterances further apart than the published noise covers.

    Habernal 2021, Figure 1, draws the vectors; these are those of a trained network.

    Args:
        rng: draws pairs of different utterances.
        latents: clipped to Euclidean norm C, shape (m, n).
        pairs: number of pairs.
    """
    size, dimension = latents.shape
    left = rng.integers(size, size=pairs)
    right = (left + rng.integers(1, size, size=pairs)) % size  # never the same utterance
    lengths = paired_distances(latents[left], latents[right], Metric.MANHATTAN) / (2.0 * CLIP)
    count = int((lengths > 1.0).sum())
    low, high = clopper_pearson(count, pairs, _ONE_SIDED)
    yield row("unprotected", count / pairs, low=low, high=high, count=pairs, at=dimension)
    yield row("widest_pair", float(lengths.max()), count=pairs, at=dimension)


# Examples of `dpcore.attack.latent`: our utterances rewritten by the network.


EPSILONS = (2.0, 4.0, 8.0, 16.0, 32.0, 64.0, 128.0, 256.0)
TEMPLATES = (
    "show me the morning flights from {0} to {1}",
    "what is the cheapest fare from {0} to {1} on sunday",
    "i would like to fly from {0} to {1} next friday evening",
    "list nonstop flights between {0} and {1} before noon",
    "which airlines go from {0} to {1} on a tuesday",
    "i need a round trip ticket from {0} to {1} in december",
    "how much does a limousine cost at the airport in {1}",
    "what aircraft is used on the flight from {0} to {1}",
    "give me flights from {0} to {1} that serve dinner",
    "does the last flight from {0} to {1} arrive after 10 pm",
)
PLACES = (
    ("boston", "denver"),
    ("atlanta", "oakland"),
    ("dallas", "pittsburgh"),
    ("philadelphia", "baltimore"),
    ("seattle", "milwaukee"),
    ("miami", "charlotte"),
)
"""Combined with every template: our own utterances in the words of air travel."""
_DATA = "atis.parquet"


def own_utterances() -> tuple[str, ...]:
    """Return the utterances, one template after the other."""
    return tuple(template.format(*pair) for template, pair in product(TEMPLATES, PLACES))


def make_examples(data: Path, out: Path) -> dict[str, Any]:
    """Train the network of the first seed of the experiment, and write the examples.

    Args:
        data: folder of corpora.
        out: file to write; its folder is made.

    Raises:
        StudyError: the corpus is missing or damaged.
        MissingPackageError: torch is not installed.
    """
    path = data / _DATA
    plan = STUDY.plan
    options = {name: value for name, value in plan.options if name != "learners"}
    corpus, model = trained(path, plan.seeds[0], canonical(options))
    known = set(corpus.all_texts)
    texts = tuple(text for text in own_utterances() if text not in known)
    latents = model.latents(texts)
    # One utterance of each template, with another pair of places each time.
    chosen = [i for i in range(len(texts)) if i % len(PLACES) == (i // len(PLACES)) % len(PLACES)]
    rewrites = _rewritten(model, [texts[i] for i in chosen], known)
    record = {
        "facts": {
            "command": "python -m dpcore autoencoder examples --model adept --data ../shared/data",
            "version": __version__,
            "data": {_DATA: sha256_of_file(path)},
            "network": dict(model.facts) | asdict(model.shape),
            "options": options,
        },
        "manhattan": model.manhattan,
        "texts": list(texts),
        # Four digits are enough to rank utterances, and keep the file small.
        "latents": latents.round(4).tolist(),
        "rewrites": [asdict(rewrite) for rewrite in rewrites],
    }
    out.parent.mkdir(parents=True, exist_ok=True)
    write_text(out, json.dumps(record, ensure_ascii=False) + "\n")
    return record


def _rewritten(model: AutoEncoder, texts: list[str], known: set[str]) -> list[Rewrite]:
    """Return rewrites without noise, then those of every noise at every ε, one draw for all ε."""
    latents = model.latents(texts)

    def rows(name: str, epsilon: float | None, true: float | None, vectors: Any) -> list[Rewrite]:
        outputs = model.decode(vectors)
        return [
            # The corpus may not be passed on: an output that is one of its utterances is left out,
            # and said to be one.
            Rewrite(text, name, epsilon, true, "" if output in known else output, output in known)
            for text, output in zip(texts, outputs, strict=True)
        ]

    rewrites = rows("", None, None, latents)
    for name, form in FORMS.items():
        rng = generator(0, "adept2021 examples", name)
        path = latent_path(rng, latents, model.clip_norm(form), form)
        for epsilon in EPSILONS:
            noisy = path.at(epsilon)
            rewrites += rows(name, epsilon, noisy.epsilon, noisy.vectors)
    return rewrites
