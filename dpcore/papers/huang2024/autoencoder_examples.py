"""Recorded examples: sentences of the teaching corpus rewritten by a private auto-encoder.

The network learns from the training split of the teaching corpus; sentences of the test split are
the private ones. All were written for this project. They are recorded because a network needs
torch.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from dpcore import __version__
from dpcore.attack.output.nearest import likeliest_words
from dpcore.errors import StudyError
from dpcore.learn.autoencoder import Architecture, frequent_words, train
from dpcore.learn.corpus import teaching_corpus
from dpcore.learn.training import Training
from dpcore.lexicon.cache import bundled_data, write_text
from dpcore.lexicon.catalogue import load
from dpcore.lexicon.nearest_word import NearestSearch
from dpcore.lexicon.progress import Progress, silent
from dpcore.mechanisms.registry import create
from dpcore.noise.streams import generator
from dpcore.papers.huang2024.plans import NETWORK_ARMS
from dpcore.rewrite.documents import encode_all
from dpcore.rewrite.vocabulary import stand_in
from dpcore.study.autoencoder_trial import sentences_of

FOLDER, FILE = "examples", "words.json"
"""Location below `data/results`."""
LABELS = ("gaussian-classical", "gaussian", "laplace", "trlaplace", "gaussian, δ")
"""Arms of the recorded experiment whose noise is shown: prefixes of their labels."""
_SENTENCES, _LEAST, _MOST = 12, 6, 12
_WORDS = 10_000  # more than the corpus has
_NETWORK = Architecture(hidden=64, norm=1.0)
_TRAINING = Training(epochs=8, batch=64, rate=0.003, patience=2, threads=1)


@dataclass(frozen=True)
class Example:
    """One sentence under one noise at one ε, with a separate draw for each.

    Attributes:
        text: original sentence.
        label: label of the noise, as in the recorded experiments; "" without noise.
        mechanism: short name; "" without noise.
        epsilon: nominal ε; None without noise.
        network: output of the auto-encoder.
        nearest: words nearest to the noisy vectors.
        likeliest: words inferred by an attacker who knows the law of the noise.
    """

    text: str
    label: str
    mechanism: str
    epsilon: float | None
    network: str
    nearest: str
    likeliest: str


@dataclass(frozen=True)
class RewriteExamples:
    """All examples, the outputs when only the length is known, and facts about their creation."""

    rows: tuple[Example, ...]
    length_alone: dict[str, str]
    facts: dict[str, Any]


def make_examples(out: Path, progress: Progress = silent) -> RewriteExamples:
    """Train the network, rewrite sentences, and write the file.

    Args:
        out: file to write; its folder is created.
        progress: as for `dpcore.learn.training.fit`.

    Raises:
        MissingPackageError: torch is not installed.
        StudyError: the file cannot be written.
    """
    corpus = teaching_corpus()
    public = sentences_of(corpus.part("train").texts, 2, 60)
    lexicon = frequent_words(public, load(), _WORDS)
    model, fitted = train(public, lexicon, _NETWORK, _TRAINING, progress=progress)
    tested = sentences_of(corpus.part("test").texts, _LEAST, _MOST)
    # Whole in the vocabulary, or random stand-ins would look like the work of the noise.
    known = [text for text in tested if (encode_all([text], lexicon).words >= 0).all()]
    # Spread over the corpus, in which texts of one kind follow each other.
    texts = known[:: max(1, len(known) // _SENTENCES)][:_SENTENCES]
    read = encode_all(texts, lexicon)
    words = stand_in(read.words, len(lexicon), generator(0, "stand-ins"))
    clean = model.origins[words].astype(np.float64)
    nearest = NearestSearch(model.origins)
    rows = [
        Example(text, "", "", None, network, text, text)
        for text, network in zip(texts, read.texts(model.decode(clean, read.offsets)), strict=True)
    ]
    for arm in NETWORK_ARMS:
        if not arm.name.startswith(LABELS):
            continue
        mechanism = create(arm.mechanism, lexicon, dict(arm.settings))
        for epsilon in arm.epsilons:
            # A separate draw for each: the noise of TrLaplace changes with ε in more than its
            # scale.
            rng = generator(0, "examples", arm.name, str(epsilon))
            noisy = mechanism.noisy_vectors(rng, words, epsilon)
            written = (
                model.decode(noisy, read.offsets),
                nearest(noisy),
                likeliest_words(mechanism, noisy, epsilon),
            )
            columns = zip(texts, *(read.texts(indices) for indices in written), strict=True)
            rows += [
                Example(text, arm.name, arm.mechanism, epsilon, *outputs)
                for text, *outputs in columns
            ]
    # Vectors of zeros: the decoder knows the length and nothing else.
    zero = read.texts(model.decode(np.zeros_like(clean), read.offsets))
    facts = {
        "command": "python -m dpcore autoencoder examples",
        "version": __version__,
        "lexicon": lexicon.name,
        "fingerprint": lexicon.fingerprint,
        "words": len(lexicon),
        "sentences": len(public),
        "network": asdict(_NETWORK),
        "training": asdict(_TRAINING),
        "held_out_loss": fitted.epochs[fitted.best].held_out,
    }
    examples = RewriteExamples(tuple(rows), dict(zip(texts, zero, strict=True)), facts)
    try:
        out.parent.mkdir(parents=True, exist_ok=True)
        write_text(out, json.dumps(asdict(examples), ensure_ascii=False, indent=0) + "\n")
    except OSError as error:
        raise StudyError(f"cannot write {out} ({error.strerror})") from None
    return examples


def examples_path() -> Path:
    """Return the path of the bundled examples."""
    return bundled_data("results", "manifest.json") / FOLDER / FILE


def read_examples(path: Path | None = None) -> RewriteExamples:
    """Read and check a file of examples.

    Args:
        path: file of examples; the bundled one if None.

    Raises:
        StudyError: it is missing or damaged.
    """
    path = path or examples_path()
    try:
        record = json.loads(path.read_text(encoding="utf-8"))
        rows = tuple(Example(**fields) for fields in record["rows"])
        alone = {str(text): str(output) for text, output in record["length_alone"].items()}
        facts = dict(record["facts"])
    except OSError as error:
        raise StudyError(f"there are no examples in {path} ({error.strerror})") from None
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
        raise StudyError(f"{path} is damaged; make it again with autoencoder examples") from None
    words = (value for row in rows for name, value in asdict(row).items() if name != "epsilon")
    # JSON may hold other types in the right places.
    if not (rows and all(isinstance(value, str) for value in words)):
        raise StudyError(f"{path} is damaged; make it again with autoencoder examples")
    return RewriteExamples(rows, alone, facts)
