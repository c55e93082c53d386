"""Public word vectors that `fetch` can get: one table.

Sizes and SHA-256 are those of the original archives, as published by several independent projects
that pin them; every mirror must serve the same bytes.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from dpcore.errors import LexiconError

if TYPE_CHECKING:
    from collections.abc import Mapping


@dataclass(frozen=True)
class Source:
    """One archive of word vectors.

    Attributes:
        key: what `fetch` takes.
        title: for people.
        file: name of the archive.
        urls: where it is; tried in this order.
        size: in bytes.
        sha256: of the archive, hexadecimal.
        members: the file inside for each dimension; an empty name where the archive is the file.
        dimension: the one that is taken when none is named.
        words: number of rows.
        licence: its terms.
        page: where it is described.
    """

    key: str
    title: str
    file: str
    urls: tuple[str, ...]
    size: int
    sha256: str
    members: Mapping[int, str]
    dimension: int
    words: int
    licence: str
    page: str

    def member(self, dimension: int | None) -> tuple[int, str]:
        """The dimension, and the file inside the archive that has it.

        Raises:
            LexiconError: there is none of this dimension.
        """
        wanted = self.dimension if dimension is None else dimension
        if wanted not in self.members:
            offered = ", ".join(str(d) for d in sorted(self.members))
            raise LexiconError(f"{self.key} has no {wanted}-dimensional vectors: use {offered}")
        return wanted, self.members[wanted]


_GLOVE_PAGE = "https://nlp.stanford.edu/projects/glove/"
_STANFORD = (
    "https://nlp.stanford.edu/data/",
    "https://downloads.cs.stanford.edu/nlp/data/",
    "https://huggingface.co/stanfordnlp/glove/resolve/main/",
)

SOURCES: dict[str, Source] = {
    source.key: source
    for source in (
        Source(
            key="glove-6b",
            title="GloVe, Wikipedia 2014 + Gigaword 5, lower case",
            file="glove.6B.zip",
            urls=tuple(base + "glove.6B.zip" for base in _STANFORD),
            size=862_182_613,
            sha256="617afb2fe6cbd085c235baf7a465b96f4112bd7f7ccb2b2cbd649fed9cbcf2fb",
            members={d: f"glove.6B.{d}d.txt" for d in (50, 100, 200, 300)},
            dimension=300,
            words=400_000,
            licence="PDDL-1.0",
            page=_GLOVE_PAGE,
        ),
        Source(
            key="glove-840b",
            title="GloVe, Common Crawl, cased",
            file="glove.840B.300d.zip",
            urls=tuple(base + "glove.840B.300d.zip" for base in _STANFORD),
            size=2_176_768_927,
            sha256="c06db255e65095393609f19a4cfca20bf3a71e20cc53e892aafa490347e3849f",
            members={300: "glove.840B.300d.txt"},
            dimension=300,
            words=2_196_017,
            licence="PDDL-1.0",
            page=_GLOVE_PAGE,
        ),
        Source(
            key="fasttext-wiki-news",
            title="fastText, Wikipedia 2017 + UMBC + statmt news, cased",
            file="wiki-news-300d-1M.vec.zip",
            urls=(
                "https://dl.fbaipublicfiles.com/fasttext/vectors-english/wiki-news-300d-1M.vec.zip",
            ),
            size=681_808_098,
            sha256="bdeb85f44892c505953e3654183e9cb0d792ee51be0992460593e27198d746f8",
            members={300: "wiki-news-300d-1M.vec"},
            dimension=300,
            words=999_994,
            licence="CC-BY-SA-3.0",
            page="https://fasttext.cc/docs/en/english-vectors.html",
        ),
        Source(
            key="word2vec-googlenews",
            title="word2vec, Google News, cased, with phrases",
            file="GoogleNews-vectors-negative300.bin.gz",
            urls=(
                "https://s3.amazonaws.com/dl4j-distribution/GoogleNews-vectors-negative300.bin.gz",
                "https://huggingface.co/LoganKilpatrick/GoogleNews-vectors-negative300/resolve/"
                "main/GoogleNews-vectors-negative300.bin.gz",
            ),
            size=1_647_046_227,
            sha256="21c05ae916a67a4da59b1d006903355cced7de7da1e42bff9f0504198c748da8",
            members={300: ""},
            dimension=300,
            words=3_000_000,
            licence="Apache-2.0",
            page="https://code.google.com/archive/p/word2vec/",
        ),
    )
}


def source_named(key: str, sources: Mapping[str, Source] = SOURCES) -> Source:
    """The source of this name in the table.

    Raises:
        LexiconError: there is none.
    """
    try:
        return sources[key]
    except KeyError:
        raise LexiconError(
            f"no source is called {key[:40]!r}: there are {', '.join(sources)}"
        ) from None
