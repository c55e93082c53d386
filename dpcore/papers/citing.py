"""What is to be cited, as BibTeX: papers, and this laboratory."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

import dpcore

LABORATORY = "wordprivacylab"
"""Key of the entry of this laboratory, whose version is the present one."""

_FILE = Path(__file__).parent / "sources.bib"
_KEY = re.compile(r"@\w+\{([^,\s]+),")


@cache
def entries() -> dict[str, str]:
    """All entries of `sources.bib` by key, in its order, and that of the laboratory."""
    written = (part.strip() for part in _FILE.read_text("utf-8").split("\n\n"))
    papers = {match[1]: part for part in written if (match := _KEY.match(part))}
    laboratory = (
        f"@software{{{LABORATORY},\n"
        "  author = {{The Word Privacy Lab authors}},\n"
        "  title = {{Word Privacy Lab}},\n"
        f"  version = {{{dpcore.__version__}}},\n"
        "  license = {Apache-2.0}\n}"
    )
    return papers | {LABORATORY: laboratory}


def bibtex(*keys: str) -> str:
    """The entries of these keys, each once, and that of the laboratory at the end.

    Args:
        keys: such as "xu2021gumbel".

    Raises:
        KeyError: there is no such entry.
    """
    return "\n\n".join(entries()[key] for key in dict.fromkeys((*keys, LABORATORY)))
