"""Lexicons: inputs accepted, refused and dropped, and answers."""

import dataclasses
import hashlib
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from dpcore.errors import LexiconError, ParameterError, UnknownWordError
from dpcore.lexicon.lexicon import Lexicon, row_hashes
from dpcore.lexicon.metric import Metric
from tests.fixtures import MakeRng

WORDS = ("the", "cat", "sat", "mat")


def rows(n: int = 4, d: int = 3) -> NDArray[np.float32]:
    return np.arange(n * d, dtype=np.float32).reshape(n, d) + 1


def test_a_lexicon_answers_and_cannot_be_changed() -> None:
    mine = rows()
    lexicon = Lexicon("tiny", list(WORDS), mine)  # type: ignore[arg-type]
    mine[0, 0] = 99
    assert lexicon.vectors[0, 0] == 1
    assert (len(lexicon), lexicon.dimension, lexicon.words) == (4, 3, WORDS)
    assert "cat" in lexicon
    assert "Cat" not in lexicon
    assert lexicon.index("sat") == 2
    indices = lexicon.indices(["mat", "the"])
    assert indices.tolist() == [3, 0]
    assert indices.dtype == np.int64
    with pytest.raises(ValueError, match="read-only"):
        lexicon.vectors[0, 0] = 5
    with pytest.raises(dataclasses.FrozenInstanceError):
        lexicon.name = "other"  # type: ignore[misc]


def test_a_read_only_array_is_not_copied() -> None:
    mine = rows()
    mine.setflags(write=False)
    assert np.shares_memory(Lexicon("tiny", WORDS, mine).vectors, mine)


@pytest.mark.parametrize(
    ("words", "vectors", "message"),
    [
        (WORDS[:3], rows(), "3 words but 4 vectors"),
        (WORDS[:1], rows(1), "2 to 3,000,000 words, got 1"),
        (WORDS, rows().ravel(), r"shape \(n, d\)"),
        (WORDS, np.empty((4, 0)), "shape"),
        (("a", "b", "a", "c"), rows(), "stands twice"),
        (("a", "b", "", "c"), rows(), "non-empty"),
        (("a", "b", "x\ny", "c"), rows(), "line feed"),
        (("a", "b", 7, "c"), rows(), "non-empty string"),
        (WORDS, np.where(rows() == 5, np.nan, rows()), "word 2 holds NaN"),
        (WORDS, np.where(rows() == 12, np.inf, rows()), "word 4 holds NaN or infinity"),
        (WORDS, np.where(rows() == 12, 1e300, rows().astype(float)), "word 4"),
        (WORDS, rows()[[0, 1, 2, 0]], "same vector"),
        (WORDS, np.array([[0.0, 1], [2, 3], [-0.0, 1], [5, 6]]), "same vector"),
    ],
)
def test_what_a_lexicon_cannot_hold_is_refused_with_the_reason(
    words: tuple[str | int, ...], vectors: NDArray[Any], message: str
) -> None:
    with pytest.raises(LexiconError, match=message):
        Lexicon("bad", words, vectors)  # type: ignore[arg-type]


def test_a_zero_vector_is_refused_by_the_angular_metric_only() -> None:
    vectors = rows()
    vectors[1] = 0
    assert len(Lexicon("zero", WORDS, vectors)) == 4
    with pytest.raises(LexiconError, match="no angle"):
        Lexicon("zero", WORDS, vectors, Metric.ANGULAR)
    with pytest.raises(ParameterError, match="triangle"):
        Lexicon("tiny", WORDS, rows()).with_metric("cosine")


def test_build_drops_and_counts() -> None:
    words = ["a", "b", "a", "", "c", "d", "e"]
    vectors = np.array([[1, 1], [2, 2], [3, 3], [4, 4], [2, 2], [0, 5], [-0.0, 5]])
    lexicon, dropped = Lexicon.build("some", words, vectors)
    assert lexicon.words == ("a", "b", "d")
    assert lexicon.vectors.tolist() == [[1, 1], [2, 2], [0, 5]]
    assert (dropped.duplicate_words, dropped.duplicate_rows, dropped.empty_words) == (1, 2, 1)
    assert dropped.total == 4
    assert "1 with a repeated word, 2 with a repeated vector" in str(dropped)
    with pytest.raises(LexiconError, match="shape"):
        Lexicon.build("some", words, vectors[:3])


def test_a_row_of_a_dropped_word_does_not_claim_its_vector() -> None:
    lexicon, dropped = Lexicon.build(
        "some", ["a", "a", "b"], np.array([[1, 1], [2, 2], [2, 2]], np.float32)
    )
    assert lexicon.words == ("a", "b")
    assert dropped.duplicate_rows == 0


def test_repeated_rows_are_found_among_rows_of_one_hash() -> None:
    # The hash is linear in the bits, so different rows can be made to collide.
    vectors = np.zeros((3, 2), dtype=np.uint32)
    hashes = row_hashes(np.array([[1.0, 2.0], [1.0, 2.0], [2.0, 1.0]], dtype=np.float32))
    assert hashes[0] == hashes[1] != hashes[2]
    assert row_hashes(vectors.view(np.float32))[0] == 0
    assert row_hashes(np.array([[-0.0, 0.0]], dtype=np.float32))[0] == 0


def test_unknown_words_get_close_ones_offered() -> None:
    lexicon = Lexicon("tiny", ("house", "horse", "hose", "zebra"), rows())
    with pytest.raises(UnknownWordError, match=r"'hause' is not in .* did you mean 'house'"):
        lexicon.index("hause")
    with pytest.raises(UnknownWordError, match="did you mean 'zebra'"):
        lexicon.index("ZEBRA")
    with pytest.raises(UnknownWordError) as caught:
        lexicon.indices(["house", "q" * 500])
    assert len(str(caught.value)) < 120
    assert "did you mean" not in str(caught.value)


def test_fingerprint_is_of_words_vectors_and_metric_but_not_of_the_name() -> None:
    lexicon = Lexicon("tiny", WORDS, rows())
    text = b"dpcore lexicon 1\neuclidean\n4 3\nthe\ncat\nsat\nmat\n\n"
    assert lexicon.fingerprint == hashlib.sha256(text + rows().tobytes()).hexdigest()
    assert Lexicon("other", WORDS, rows()).fingerprint == lexicon.fingerprint
    changed = rows()
    changed[3, 2] = np.nextafter(changed[3, 2], np.float32(0))
    others = {
        Lexicon("tiny", WORDS, changed).fingerprint,
        Lexicon("tiny", WORDS[::-1], rows()).fingerprint,
        *(lexicon.with_metric(metric).fingerprint for metric in Metric),
    }
    assert len(others) == 6
    assert lexicon.with_metric("euclidean") is lexicon


def test_clipping_at_the_largest_norm_changes_nothing(rng: MakeRng) -> None:
    vectors = (rng().standard_normal((500, 33)) * 7).astype(np.float32)
    lexicon = Lexicon("norms", tuple(f"w{i}" for i in range(500)), vectors)
    wide = vectors.astype(np.float64)
    norms = np.linalg.norm(wide, axis=1)
    shuffled = np.sqrt((wide[:, ::-1] ** 2).cumsum(axis=1)[:, -1])
    assert (norms <= lexicon.largest_norm).all()
    assert (shuffled <= lexicon.largest_norm).all()
    assert lexicon.largest_norm <= norms.max() * (1 + 1e-12)
