"""The bundled points of hyperbolic space: from WordNet and a vocabulary to a folder."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING

from dpcore.lexicon.cache import sha256_of_file
from dpcore.lexicon.lexicon import Lexicon
from dpcore.lexicon.progress import Progress, silent
from dpcore.lexicon.rows import freeze
from dpcore.lexicon.stored import Manifest, write_stored
from dpcore.lexicon.train.hypernyms import hypernyms
from dpcore.lexicon.train.poincare import HyperbolicPlan, embed, reconstruction
from dpcore.optional import installed

if TYPE_CHECKING:
    from pathlib import Path

NAME = "wordnet-hyperbolic"


def train_hyperbolic(
    wordnet: Path,
    vocabulary: Lexicon,
    out: Path,
    plan: HyperbolicPlan | None = None,
    progress: Progress = silent,
) -> Manifest:
    """Make the lexicon that the mechanism `hyperbolic` is for.

    One thread of one processor: the same packages give the same bytes.

    Args:
        wordnet: the table of Open English WordNet, a parquet file.
        vocabulary: whose words are taken, as far as WordNet has them in its hierarchy.
        out: folder to write; replaced if it exists.
        plan: what to make.
        progress: called with (stage, done, total).

    Raises:
        LexiconError: the folder cannot be written, or no word stands above another.
    """
    plan = plan or HyperbolicPlan()
    hierarchy = hypernyms(wordnet, vocabulary.words)
    vectors = freeze(embed(hierarchy, plan, progress))
    lexicon = Lexicon(NAME, hierarchy.words, vectors)
    kept = reconstruction(hierarchy, vectors, progress)
    facts = {
        "title": "WordNet's hierarchy in hyperbolic space",
        "space": "hyperbolic, curvature -1; rows are tangent vectors at the centre",
        "order": "that of the vocabulary",
        "plan": asdict(plan),
        "vocabulary": {
            "name": vocabulary.name,
            "words": len(vocabulary),
            "fingerprint": vocabulary.fingerprint,
        },
        "sources": [
            {
                "name": "oewn",
                "file": wordnet.name,
                "licence": "CC-BY-4.0",
                "credit": "Open English WordNet contributors, from Princeton WordNet",
                "used": "hypernyms of nouns and verbs",
                "sha256": sha256_of_file(wordnet),
            }
        ],
        "licence": "CC-BY-SA-4.0",
        "quality": asdict(kept),
        "versions": installed(("numpy", "pandas", "pyarrow")),
    }
    return write_stored(lexicon, out, facts)
