#!/usr/bin/env python3
"""Build the reference pages from the docstrings: python docs/reference.py [FOLDER].

The folder is `build/reference` unless another is given. A warning is an error: a name that is not
there, or a docstring that cannot be read, leaves no page behind.
"""

import sys
import warnings
from pathlib import Path

import pdoc
from pdoc import render

ROOT = Path(__file__).parents[1]
# What a notebook meets: the front door, and the values that it returns.
MODULES = (
    "dpcore",
    r"!dpcore\..+",  # pdoc takes a package with all that is below it; of that only what follows
    "dpcore.front",
    "dpcore.sklearn",
    "dpcore.rewrite.documents",
    "dpcore.rewrite.sentence",
    "dpcore.rewrite.rewritten",
    "dpcore.rewrite.policy",
    "dpcore.rewrite.tokens",
    "dpcore.rewrite.languages",
    "dpcore.lexicon.catalogue",
    "dpcore.lexicon.lexicon",
    "dpcore.lexicon.metric",
    "dpcore.mechanisms.mechanism",
    "dpcore.mechanisms.registry",
    "dpcore.mechanisms.law",
    "dpcore.mechanisms.path",
    "dpcore.guarantee",
    "dpcore.measure.deniability",
    "dpcore.measure.words",
    "dpcore.audit.report",
    "dpcore.audit.blackbox.audit",
    "dpcore.audit.blackbox.replay",
    "dpcore.audit.blackbox.report",
    "dpcore.audit.verdict",
    "dpcore.testing",
    "dpcore.testing.contract",
    "dpcore.errors",
)


def build(folder: Path) -> list[Path]:
    """Write the pages into a folder, and return them.

    Raises:
        Warning: pdoc warns of something.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        render.configure(docformat="google", show_source=False, search=True)
        pdoc.pdoc(*MODULES, output_directory=folder)
    return sorted(folder.rglob("*.html"))


if __name__ == "__main__":
    sys.path.insert(0, str(ROOT))
    target = Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT / "build" / "reference"
    print(f"{len(build(target)):,} pages in {target}")
