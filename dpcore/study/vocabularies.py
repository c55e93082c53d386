"""Vocabularies of the papers: the words of a corpus for which there are public vectors.

Tokens are cut, looked up and split as in `dpcore.rewrite`, so that the counted words are those that
a mechanism would rewrite. The vocabulary of a study is computed from a public corpus; a guarantee
for private texts needs a vocabulary that does not depend on them.
"""

from __future__ import annotations

import functools
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from dpcore.arrays import FloatArray, IntArray
from dpcore.errors import StudyError
from dpcore.learn.corpus import LabelledTexts
from dpcore.lexicon.cache import CacheEntry, keep, recall, sha256_of_file
from dpcore.lexicon.catalogue import load
from dpcore.lexicon.lexicon import Lexicon, freeze
from dpcore.lexicon.metric import distances
from dpcore.lexicon.progress import Progress, silent
from dpcore.optional import need_pandas
from dpcore.rewrite.tokens import Kind, Token, tokenize
from dpcore.rewrite.vocabulary import encode

# Labelled corpora in parquet files: some texts of a split, drawn by a seed.


def labelled_rows(
    path: Path, split: str | tuple[str, ...], most: int, rng: np.random.Generator
) -> LabelledTexts:
    """Read some distinct texts of a split with their labels, in random order.

    Args:
        path: parquet with the columns text, label and split.
        split: the split to read, or several that are put together.
        most: largest number of texts.
        rng: generator for choice and order.

    Raises:
        StudyError: the file is not such a file, or has no such rows.
        CorpusError: the labels cannot be learned.
        MissingPackageError: pandas or pyarrow is not installed.
    """
    return LabelledTexts.of(*text_rows(path, split, most, rng))


def text_rows(
    path: Path, split: str | tuple[str, ...], most: int, rng: np.random.Generator
) -> tuple[list[str], list[str]]:
    """Read texts and their labels as `labelled_rows` does, without checking the labels."""
    part = _rows(path, ["text", "label"], split, most, rng)
    return [str(text) for text in part["text"]], [str(label) for label in part["label"]]


def plain_rows(path: Path, split: str, most: int, rng: np.random.Generator) -> list[str]:
    """Read some texts of a split as `labelled_rows` does, without labels."""
    return [str(text) for text in _rows(path, ["text"], split, most, rng)["text"]]


def pair_rows(
    path: Path, split: str, most: int, rng: np.random.Generator
) -> tuple[list[str], list[str], list[str]]:
    """Read premises, hypotheses and labels as `text_rows` does, distinct as pairs."""
    pair = ["premise", "hypothesis"]
    part = _rows(path, [*pair, "label"], split, most, rng, pair)
    premises, hypotheses, labels = (part[name].astype(str).tolist() for name in (*pair, "label"))
    return premises, hypotheses, labels


def _rows(
    path: Path,
    columns: list[str],
    split: str | tuple[str, ...],
    most: int,
    rng: np.random.Generator,
    distinct: str | list[str] = "text",
) -> Any:
    frame = _kept_columns(path, (*columns, "split"))
    wanted = (split,) if isinstance(split, str) else split
    frame = frame[frame["split"].isin(wanted)].dropna(subset=columns).drop_duplicates(distinct)
    if not len(frame):
        raise StudyError(f"{path} has no rows of the split {split!r}")
    # All rows are permuted, so that a larger sample of a seed begins with the smaller one.
    return frame.iloc[rng.permutation(len(frame))[:most]]


def read_columns(path: Path, columns: tuple[str, ...]) -> Any:
    """Read the columns of a parquet file into a pandas table.

    Raises:
        StudyError: the file is not such a file.
        MissingPackageError: pandas or pyarrow is not installed.
    """
    pd = need_pandas("reading a corpus needs")
    try:
        return pd.read_parquet(path, columns=list(columns))
    except (OSError, ValueError):
        raise StudyError(
            f"{path} is not a parquet file with the columns {', '.join(columns)}"
        ) from None


_kept_columns = functools.lru_cache(maxsize=2)(read_columns)  # for the next cell of a worker


GLOVE = "glove840b_33860x300.npy"
_REPORT = 2_000  # texts between two reports of progress


@dataclass(frozen=True)
class CorpusVocabulary:
    """A vocabulary: the words of some texts that are in a file of vectors.

    Attributes:
        title: title for readers.
        file: parquet file of the texts.
        most: keep only this many words, the most frequent in the texts; None keeps all.
        paper_words: n in the paper, or None.
        paper_separation: Δ₀ in the paper, or None.
        columns: columns of the texts.
        splits: splits to read.
        vectors: file of the vectors.
    """

    title: str
    file: str
    most: int | None = None
    paper_words: int | None = None
    paper_separation: float | None = None
    columns: tuple[str, ...] = ("text",)
    splits: tuple[str, ...] = ("train",)
    vectors: str = GLOVE


BUNDLED = "bundled"
"""The vocabulary that needs no corpus: the bundled lexicon."""
GLOVE_HEAD = "glove5k"
"""The most frequent words of `GLOVE`, independent of any corpus."""
_HEAD = 5_000  # words; the file is in the order of their frequency
RANDOM = "random"
_SEED = 2024  # of the random vectors: public, and the same for everyone
_GAP = 4.787  # median distance of a word to its nearest, as in GloVe 840B and the bundled lexicon
_SAMPLE = 1_000  # words whose nearest distance sets the scale

_TEN_THOUSAND: dict[str, Any] = {"most": 10_000, "paper_words": 10_000}  # as in Huang et al. 2024
CORPORA = {
    "imdb": CorpusVocabulary(
        "IMDb reviews (Maas et al. 2011), train split",
        "imdb.parquet",
        paper_words=48_210,
        paper_separation=0.2208,
    ),
    "imdb10k": CorpusVocabulary(
        "IMDb reviews (Maas et al. 2011), train split, the 10,000 most frequent words",
        "imdb.parquet",
        most=10_000,
    ),
    "snli": CorpusVocabulary(
        "SNLI (Bowman et al. 2015), dev and test splits, premises and hypotheses",
        "snli_dev_test.parquet",
        columns=("premise", "hypothesis"),
        splits=("dev", "test"),
        paper_words=11_673,
        paper_separation=0.2263,
    ),
    "yelp": CorpusVocabulary(
        "Yelp sentences with polarity, dev split",
        "yelp_sentences.parquet",
        splits=("dev",),
        **_TEN_THOUSAND,
    ),
    "sst2": CorpusVocabulary(
        "SST-2 phrases (Socher et al. 2013), train split", "sst2.parquet", **_TEN_THOUSAND
    ),
    "agnews": CorpusVocabulary(
        "AG News (Zhang et al. 2015), the part of the train split at hand",
        "agnews.parquet",
        **_TEN_THOUSAND,
    ),
    "yahoo": CorpusVocabulary(
        "Yahoo answers of two topics, train split", "yahoo_2class.parquet", **_TEN_THOUSAND
    ),
}


@dataclass(frozen=True, eq=False)
class CountedLexicon:
    """A lexicon with the word counts of a corpus.

    Attributes:
        lexicon: the words, in the order of the vector file.
        counts: occurrences of each word, read-only, shape (n,).
        tokens: number of tokens of the corpus that a mechanism would rewrite.
        unknown: number of these that the vectors do not hold, or that `Corpus.most` cut off.
        data: name of each file that was read, and its SHA-256.
    """

    lexicon: Lexicon
    counts: FloatArray
    tokens: int
    unknown: int
    data: dict[str, str]

    def __post_init__(self) -> None:
        """Make the counts read-only."""
        self.counts.setflags(write=False)


def count_words(
    texts: Iterable[str], lexicon: Lexicon, progress: Progress = silent, total: int = 0
) -> tuple[FloatArray, int]:
    """Count each word of a lexicon in texts, shape (n,), and all other words together.

    A token is looked up as written and then in lower case, and a compound is split where its parts
    are words (`dpcore.rewrite.vocabulary.encode`); punctuation marks are not counted.
    """
    tokens: Counter[tuple[str, Kind]] = Counter()
    for done, text in enumerate(texts, start=1):
        tokens.update((t.text, t.kind) for t in tokenize(text) if t.kind is not Kind.PUNCTUATION)
        if done % _REPORT == 0:
            progress("counting words", done, total)
    counts, unknown = np.zeros(len(lexicon)), 0
    for (text, kind), times in tokens.items():
        for slot in encode((Token(text, kind, ""),), lexicon).open_slots:
            if slot.index >= 0:
                counts[slot.index] += times
            else:
                unknown += times
    return counts, unknown


def load_vocabulary(key: str, folder: Path | None, progress: Progress = silent) -> CountedLexicon:
    """Load the vocabulary of a study.

    Counts are cached by the SHA-256 of both files.

    Args:
        key: `BUNDLED` or `GLOVE_HEAD` (every word counted once), a key of `CORPORA` for its words
            with the vectors of its file, or a key followed by "-bundled" (its words in the bundled
            lexicon) or "-random" (`random_vectors`).
        folder: folder with the files of the corpus and of the vectors.
        progress: called while words are counted.

    Raises:
        StudyError: there is no such vocabulary, or a file is missing or not of the right kind.
        LexiconError: the vectors are damaged.
    """
    base, _, kind = key.partition("-")
    if kind not in {"", BUNDLED, RANDOM}:
        raise StudyError(
            f"no lexicon {key[:40]!r}: a vocabulary, or one with -{BUNDLED} or -{RANDOM} behind"
        )
    counted = _counted(base, folder, progress, load() if kind == BUNDLED else None)
    if kind == RANDOM:
        return replace(counted, lexicon=random_vectors(counted.lexicon))
    return counted


def _counted(
    key: str, folder: Path | None, progress: Progress, within: Lexicon | None
) -> CountedLexicon:
    """Load a vocabulary with the words of a lexicon, or with those of its file of vectors."""
    if key == BUNDLED:
        return _counted_once(load(), {})
    if key == GLOVE_HEAD:
        if folder is None or not (folder / GLOVE).is_file():
            raise StudyError(f"this study reads {GLOVE}: give its folder")
        words = load(folder / GLOVE, limit=_HEAD)
        return _counted_once(words, {GLOVE: sha256_of_file(folder / GLOVE)})
    if key not in CORPORA:
        known = ", ".join((BUNDLED, GLOVE_HEAD, *CORPORA))
        raise StudyError(f"no vocabulary {key[:40]!r}; there are: {known}")
    corpus = CORPORA[key]
    if folder is None:
        raise StudyError(f"this study reads {corpus.file} and {corpus.vectors}: give their folder")
    files = (corpus.file, corpus.vectors) if within is None else (corpus.file,)
    missing = [name for name in files if not (folder / name).is_file()]
    if missing:
        raise StudyError(f"{folder} does not hold {' and '.join(missing)}, which this study reads")
    data = {name: sha256_of_file(folder / name) for name in files}
    # Counted over all words of the vectors, so that one count serves every selection of words.
    whole = load(folder / corpus.vectors) if within is None else within
    kind = f"words-{key}-{data[corpus.file][:16]}"
    kept = recall(whole.fingerprint, kind)
    if kept is None:
        counts, unknown = count_words(*_texts(corpus, folder, whole, progress))
        kept = CacheEntry({"counts": counts}, {"unknown": unknown})
        keep(whole.fingerprint, kind, kept)
    counts, unknown = np.asarray(kept.arrays["counts"]), int(kept.facts["unknown"])
    return _part(corpus, key, whole, counts, unknown, data)


def _counted_once(lexicon: Lexicon, data: dict[str, str]) -> CountedLexicon:
    return CountedLexicon(lexicon, np.ones(len(lexicon)), len(lexicon), 0, data)


def _part(
    corpus: CorpusVocabulary,
    key: str,
    whole: Lexicon,
    counts: FloatArray,
    unknown: int,
    data: dict[str, str],
) -> CountedLexicon:
    """Keep the words that occur, or the most frequent of them, in the order of the vector file."""
    places: IntArray = np.flatnonzero(counts)
    total = int(counts.sum()) + unknown
    if corpus.most is not None and places.size > corpus.most:
        places = np.sort(places[np.argsort(-counts[places], kind="stable")[: corpus.most]])
    if places.size < 2:
        raise StudyError(f"{corpus.file} holds fewer than two words of {whole.name}")
    words = tuple(whole.words[i] for i in places.tolist())
    lexicon = Lexicon(
        f"{key} × {whole.name}", words, freeze(whole.vectors[places]), language=whole.language
    )
    kept = counts[places]
    return CountedLexicon(lexicon, kept, total, total - int(kept.sum()), data)


def _texts(
    corpus: CorpusVocabulary, folder: Path, lexicon: Lexicon, progress: Progress
) -> tuple[Iterable[str], Lexicon, Progress, int]:
    """Read each text once; HTML line breaks become white space."""
    frame = read_columns(folder / corpus.file, ("split", *corpus.columns))
    frame = frame[frame["split"].isin(corpus.splits)]
    # Once each: reviews are posted twice, and a premise occurs with three hypotheses.
    columns = [frame[name].dropna().drop_duplicates() for name in corpus.columns]
    texts = [str(text).replace("<br />", " ") for column in columns for text in column]
    return texts, lexicon, progress, len(texts)


def random_vectors(lexicon: Lexicon) -> Lexicon:
    """Return the same words with random vectors, which carry no information about meaning.

    Entries are uniform on (−1, 1) (Wieting and Kiela 2019) times a public constant. The scale is
    our addition: without one, ε per unit of distance has no meaning. It sets the median distance to
    the nearest word to that of GloVe 840B, so that the same ε can be compared.
    """
    n, d = lexicon.vectors.shape
    rng = np.random.default_rng([_SEED, n, d])
    vectors = rng.uniform(-1.0, 1.0, (n, d)).astype(np.float32)
    some = np.sort(rng.permutation(n)[:_SAMPLE])
    gaps = distances(vectors, vectors[some])
    gaps[np.arange(some.size), some] = np.inf
    vectors *= np.float32(_GAP / np.median(gaps.min(axis=1)))
    vectors.setflags(write=False)
    return Lexicon(f"random × {lexicon.name}", lexicon.words, vectors)
