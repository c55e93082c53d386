"""Making the examples of `dpcore.attack.latent.examples`: our utterances through the network."""

from __future__ import annotations

import json
from dataclasses import asdict
from itertools import product
from typing import TYPE_CHECKING, Any

from dpcore import __version__
from dpcore.attack.latent.examples import Rewrite
from dpcore.lexicon.cache import sha256_of_file, write_text
from dpcore.mechanisms.clipped.adept_latent import FORMS, latent_path
from dpcore.noise.streams import generator
from dpcore.papers.habernal2021.plans import STUDY, trained
from dpcore.study.plan import canonical

if TYPE_CHECKING:
    from pathlib import Path

    from dpcore.learn.adept.adept import AutoEncoder

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
"""Every template with every pair: utterances of our own in the words of air travel."""
_DATA = "atis.parquet"


def own_utterances() -> tuple[str, ...]:
    """The utterances, a template after the other."""
    return tuple(template.format(*pair) for template, pair in product(TEMPLATES, PLACES))


def make_examples(data: Path, out: Path) -> dict[str, Any]:
    """Train the network of the first seed of the experiment, and write the file.

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
        "latents": latents.round(4).tolist(),
        "rewrites": [asdict(rewrite) for rewrite in rewrites],
    }
    out.parent.mkdir(parents=True, exist_ok=True)
    write_text(out, json.dumps(record, ensure_ascii=False) + "\n")
    return record


def _rewritten(model: AutoEncoder, texts: list[str], known: set[str]) -> list[Rewrite]:
    """Rewrites without noise, then of every noise at every ε, one draw for all ε."""
    latents = model.latents(texts)

    def rows(name: str, epsilon: float | None, true: float | None, vectors: Any) -> list[Rewrite]:
        outputs = model.decode(vectors)
        return [
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
