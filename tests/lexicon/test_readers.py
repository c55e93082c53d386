"""Vector files as they are found in the world, and everything that can be wrong with them."""

import gzip
import io
import os
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from dpcore.errors import LexiconError
from dpcore.lexicon.catalogue import load
from dpcore.lexicon.fetch import add
from dpcore.lexicon.lexicon import Lexicon
from dpcore.lexicon.readers import read_lexicon, read_uploaded
from dpcore.lexicon.readers import text as text_module
from dpcore.lexicon.readers.text import ByteSource
from tests.fixtures import MakeRng

WORDS = ["the", "cat", "naïve", "a\u00a0b", "New_York"]
VECTORS = np.array(
    [[0.5, -1, 2], [1e-5, 3, 4.25], [7, 8, 9], [-0.125, 0, 1], [6, 5, 4]], dtype=np.float32
)


def gzipped(content: bytes) -> bytes:
    """Without the time of packing: two workers must collect the same parameters."""
    return gzip.compress(content, mtime=0)


def text(
    words: list[str] = WORDS,
    vectors: NDArray[np.float32] = VECTORS,
    header: bool = False,
    end: str = "\n",
) -> bytes:
    rows = zip(words, vectors, strict=True)
    lines = [f"{len(words)} {vectors.shape[1]}"] if header else []
    lines += [f"{w} " + " ".join(repr(float(v)) for v in row) for w, row in rows]
    return (end.join(lines) + end).encode()


def binary(
    words: list[str] = WORDS, vectors: NDArray[np.float32] = VECTORS, line_feed: bytes = b"\n"
) -> bytes:
    rows = zip(words, vectors, strict=True)
    body = b"".join(w.encode() + b" " + v.astype("<f4").tobytes() + line_feed for w, v in rows)
    return b"%d %d\n" % vectors.shape + body


def zipped(**members: bytes) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return buffer.getvalue()


def same(lexicon: Lexicon) -> bool:
    return lexicon.words == tuple(WORDS) and np.array_equal(lexicon.vectors, VECTORS)


@pytest.fixture
def write(tmp_path: Path) -> Callable[..., Path]:
    def writer(content: bytes, name: str = "file.txt") -> Path:
        path = tmp_path / name
        path.write_bytes(content)
        return path

    return writer


@pytest.mark.parametrize(
    ("content", "kind"),
    [
        (text(), "text without header (GloVe)"),
        (text(header=True), "text with header"),
        (text(end=" \n"), "text without header (GloVe)"),  # fastText ends its lines with a space
        (text(header=True, end="\r\n"), "text with header"),
        (text().removesuffix(b"\n"), "text without header (GloVe)"),
        (b"\xef\xbb\xbf" + text(), "text without header (GloVe)"),
        (text() + b"\n\n", "text without header (GloVe)"),
        (text().replace(b" 4.25", b"  4.25"), "text without header (GloVe)"),
        (binary(), "word2vec binary"),
        (binary(line_feed=b""), "word2vec binary"),
        (gzipped(text()), "text without header (GloVe)"),
        (gzipped(binary()), "word2vec binary"),
        (zipped(**{"one.vec": text(header=True)}), "text with header"),
        (zipped(**{"a/": b"", "a/one.bin": binary(), "__MACOSX/x": b"?"}), "word2vec binary"),
    ],
)
def test_formats_are_told_from_the_content(
    content: bytes, kind: str, write: Callable[..., Path]
) -> None:
    lexicon, report = read_lexicon(write(content, "any.name"))
    assert same(lexicon)
    assert (report.format, report.rows, report.dropped.total) == (kind, 5, 0)
    assert lexicon.name == "any.name"


@pytest.mark.parametrize("content", [text(), text(header=True), binary(), gzipped(text())])
@pytest.mark.parametrize("limit", [2, 4, 5, 99])
def test_a_limit_takes_the_first_rows(
    content: bytes, limit: int, write: Callable[..., Path]
) -> None:
    lexicon, _ = read_lexicon(write(content), limit=limit)
    assert lexicon.words == tuple(WORDS[:limit])
    assert np.array_equal(lexicon.vectors, VECTORS[:limit])


@pytest.mark.parametrize("size", [1, 7, 64, 200])
@pytest.mark.parametrize("content", [text(), text(header=True), binary(), binary(line_feed=b"")])
def test_the_size_of_the_blocks_does_not_matter(
    content: bytes, size: int, write: Callable[..., Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    # The format is told from the first block, so that one is never this small.
    first = text_module.ByteSource.peek

    def peek(self: ByteSource) -> bytes:
        monkeypatch.setattr(text_module, "BLOCK_BYTES", 100)
        block = first(self)
        monkeypatch.setattr(text_module, "BLOCK_BYTES", size)
        return block

    monkeypatch.setattr(text_module.ByteSource, "peek", peek)
    assert same(read_lexicon(write(content))[0])


def test_a_random_table_survives_every_format(rng: MakeRng, write: Callable[..., Path]) -> None:
    words = [f"w{i}" for i in range(300)]
    vectors = rng().standard_normal((300, 20)).astype(np.float32)
    for content in (text(words, vectors), binary(words, vectors)):
        assert np.array_equal(read_lexicon(write(content))[0].vectors, vectors)


def test_progress_ends_at_the_size_of_the_file(write: Callable[..., Path]) -> None:
    seen = []
    path = write(gzipped(text()))
    read_lexicon(path, progress=lambda *step: seen.append(step))
    assert seen[-1] == ("reading", path.stat().st_size, path.stat().st_size)


def test_tokens_with_spaces_and_a_word_that_is_a_number(write: Callable[..., Path]) -> None:
    lines = b"the 1 2 3\n. . . 4 5 6\nto name@x.org 7 8 9\n12 1 1 2\n5 3 2 1\n"
    lexicon, _ = read_lexicon(write(lines))
    assert lexicon.words == ("the", ". . .", "to name@x.org", "12", "5")
    assert lexicon.vectors[1].tolist() == [4, 5, 6]


def test_a_first_line_of_two_numbers_may_be_a_word(write: Callable[..., Path]) -> None:
    lexicon, report = read_lexicon(write(b"7 8\na 1\nb 2\n"))
    assert lexicon.words == ("7", "a", "b")
    assert "without header" in report.format
    with_header, report = read_lexicon(write(b"2 1\na 1\nb 2\n"))
    assert with_header.words == ("a", "b")
    assert report.format == "text with header"


def test_repeated_empty_and_undecodable_words_are_dropped_and_counted(
    write: Callable[..., Path],
) -> None:
    lines = b"a 1 2\nb 3 4\na 5 6\nc 1 2\n 7 8\n\xff\xfe 9 9\nd 0 1\n"
    lexicon, report = read_lexicon(write(lines))
    assert lexicon.words == ("a", "b", "d")
    dropped = report.dropped
    counts = (
        dropped.duplicate_words, dropped.duplicate_rows, dropped.empty_words, dropped.undecodable
    )  # fmt: skip
    assert counts == (1, 1, 1, 1)
    assert report.rows == 7
    raw = binary(["a", "b"], VECTORS[:2]).replace(b"b ", b"\xff ")
    with pytest.raises(LexiconError, match="2 to 3,000,000 words, got 1"):
        read_lexicon(write(raw))


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "is empty"),
        (b"\n\n", "is empty"),
        (gzipped(b""), "is empty"),
        (b"3 2\n", "promises 3 rows in its header but holds 0"),
        (b"the\ncat\n", "line 1 has 0 numbers"),
        (b"a 1 2 3\nb 1 2\n", "line 2 has 2 numbers where 3 are expected"),
        (b"a 1 2 3\nb 1 2 3 4\n", "line 2 has 4 numbers where 3 are expected"),
        (b"a 1 2 3\n\nb 1 2 3\nc\n", "line 4 has 0 numbers"),
        (b"2 4\na 1 2 3\nb 1 2 3\n", "line 2 has 3 numbers where 4"),
        (b"a 1 2 3\nb 1 x 3\nc 1 2 3\n", "line 2 holds 'x' where a number"),
        (b"a 1 2 3\nb 1 1_0 3\n", "line 2 holds '1_0'"),
        (b"a 1 2 3\nb 1 2,5 3\n", "line 2 holds '2,5'"),
        (b"a 1 2 3\nb 1 nan 3\n", "line 2 holds NaN"),
        (b"a 1 2 3\nb 1 -inf 3\n", "line 2 holds NaN, infinity"),
        (b"a 1 2 3\nb 1 1e39 3\n", "line 2 holds NaN, infinity or a number beyond float32"),
        (b"3 2\na 1 2\nb 3 4\n", "promises 3 rows in its header but holds 2"),
        (b"1 2\na 1 2\nb 3 4\n", "promises 1 rows in its header but holds 2"),
        (text(header=True)[:-20], "line 6 has"),
        (text()[:-6], "line 5 has 2 numbers where 3"),
        (binary()[:-5], "ends in row 5 of the 5"),
        (binary()[:30], "ends in row 2 of the 5"),
        (binary(vectors=np.where(VECTORS == 7, np.nan, VECTORS)), "'naïve' holds NaN"),
        (gzipped(text())[:-30], "cut or damaged"),
        (gzipped(text())[:40] + b"\0" * 40, "cut or damaged"),
        (zipped(**{"one.txt": text()})[:-40], "cut or damaged"),
        (zipped(**{"one.txt": text()}).replace(b"\x08\x00", b"\x63\x00"), "cut or damaged"),
        (zipped(**{"a.txt": text(), "b.txt": text()}), "holds 2 files.*a.txt, b.txt"),
        (zipped(), "holds 0 files"),
        (b"\xba\x16O/" + bytes(60), "fastText model"),
        (b"\x80\x04\x95" + bytes(range(256)), "is a pickle, as gensim"),
        (b"a " * 2_000_000, "line is longer"),
        (b"a " + b"1 " * 4097 + b"\n", "1 to 4096"),
        (b"9999999 3\n\x00" + bytes(60), "promises 9,999,999 rows"),
    ],
)
def test_a_bad_file_gives_one_clear_sentence(
    content: bytes, message: str, write: Callable[..., Path]
) -> None:
    with pytest.raises(LexiconError, match=message) as caught:
        read_lexicon(write(content))
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 300


@pytest.mark.filterwarnings("ignore:string or file could not be read:DeprecationWarning")
@pytest.mark.parametrize("last", [b"2,5", b"3x", b"1_0"])
def test_the_last_number_of_a_file_is_read_to_its_end(
    last: bytes, write: Callable[..., Path]
) -> None:
    """Releases of numpy before 2.3 take what comes before the first sign that fits no number."""
    with pytest.raises(LexiconError, match=f"line 2 holds '{last.decode()}'"):
        read_lexicon(write(b"a 1 2 3\nb 1 2 " + last + b"\n"))


def test_the_line_number_is_right_across_blocks(
    write: Callable[..., Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(text_module, "BLOCK_BYTES", 50)
    lines = [f"w{i} 1 2 {i}" for i in range(100)]
    lines[76] = "w76 1 2"
    with pytest.raises(LexiconError, match="line 77 has 2 numbers"):
        read_lexicon(write("\n".join(lines).encode()))


def test_a_short_and_a_long_line_do_not_make_up_for_each_other(write: Callable[..., Path]) -> None:
    with pytest.raises(LexiconError, match="line 2 has 2 numbers"):
        read_lexicon(write(b"a 1 2 3\nb 1 2\nc 1 2 3 4\n"))


def test_more_words_than_allowed_ask_for_a_limit(
    write: Callable[..., Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(text_module, "MAX_VOCABULARY", 3)
    with pytest.raises(LexiconError, match="more than 3 words: use a limit"):
        read_lexicon(write(text()))
    assert len(read_lexicon(write(text()), limit=3)[0]) == 3


def test_a_member_of_an_archive_can_be_named(write: Callable[..., Path]) -> None:
    path = write(zipped(**{"a.txt": text(), "b.txt": text(WORDS[::-1])}), "two.zip")
    assert read_lexicon(f"{path}::b.txt")[0].words == tuple(WORDS[::-1])
    with pytest.raises(LexiconError, match=r"no member 'c\.txt'"):
        read_lexicon(f"{path}::c.txt")
    with pytest.raises(LexiconError, match="only a zip archive"):
        read_lexicon(f"{write(text())}::c.txt")
    with pytest.raises(LexiconError, match="cannot be read"):
        read_lexicon(path.with_name("absent"))
    with pytest.raises(LexiconError, match="cannot be read: it is no regular file"):
        read_lexicon(path.parent)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="this system has no pipes among its files")
def test_a_pipe_or_a_device_is_refused_at_once(tmp_path: Path) -> None:
    """To open a pipe that no one fills is to wait for ever; /dev/zero never ends."""
    pipe = tmp_path / "pipe.vec"
    os.mkfifo(pipe)
    for path in (pipe, "/dev/zero"):
        for read in (read_lexicon, load, lambda path: add(str(path), name="pipe")):
            with pytest.raises(LexiconError, match="no regular file"):
                read(path)


def npy(array: NDArray[Any]) -> bytes:
    buffer = io.BytesIO()
    np.save(buffer, array, allow_pickle=False)
    return buffer.getvalue()


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
@pytest.mark.parametrize("name", ["v.vocab.txt", "v.words.txt", "v.txt", "words.txt"])
def test_npy_with_a_vocabulary_beside_it(
    dtype: type[Any], name: str, write: Callable[..., Path]
) -> None:
    path = write(npy(VECTORS.astype(dtype)), "v.npy")
    write("\n".join(WORDS).encode() + b"\n", name)
    lexicon, report = read_lexicon(path)
    assert lexicon.words == tuple(WORDS)
    assert np.array_equal(lexicon.vectors, VECTORS.astype(dtype).astype(np.float32))
    assert report.format == f"NumPy {np.dtype(dtype)}"
    assert read_lexicon(path, limit=2)[0].words == tuple(WORDS[:2])


@pytest.mark.parametrize("kind", ["U", "S"])
def test_npz_with_its_words(kind: str, tmp_path: Path) -> None:
    words = np.array([w.encode() for w in WORDS]) if kind == "S" else np.array(WORDS)
    np.savez(tmp_path / "v.npz", vectors=VECTORS, words=words)
    assert same(read_lexicon(tmp_path / "v.npz")[0])


def test_bad_arrays(write: Callable[..., Path], tmp_path: Path) -> None:
    path = write(npy(VECTORS), "v.npy")
    with pytest.raises(LexiconError, match="needs a vocabulary beside it"):
        read_lexicon(path)
    vocabulary = write(b"one\ntwo\n", "v.txt")
    with pytest.raises(LexiconError, match="5 rows but 2 words"):
        read_lexicon(path)
    vocabulary.write_bytes(b"\xff\n")
    with pytest.raises(LexiconError, match="not UTF-8"):
        read_lexicon(path)
    vocabulary.write_bytes("\n".join(WORDS).encode())
    for content, message in (
        (npy(VECTORS)[:-7], "cut, damaged or pickled"),
        (npy(VECTORS).replace(b"'<f4'", b"'|O' "), "cut, damaged or pickled"),
        (npy(VECTORS).replace(b"}", b"\x9b"), "cut, damaged or pickled"),
        (npy(VECTORS)[:70] + npy(VECTORS), "cut, damaged or pickled"),
        (npy(VECTORS).replace(b"(5, 3)", b"(5, 3000000000)"), "cut, damaged or pickled"),
        (npy(VECTORS.astype(int)), "floating-point"),
        (npy(VECTORS.ravel()), r"\(n, d\)"),
        (npy(np.where(VECTORS == 7, np.inf, VECTORS)), "row 3 holds NaN or infinity"),
    ):
        path.write_bytes(content)
        with pytest.raises(LexiconError, match=message):
            read_lexicon(path)
    np.savez(tmp_path / "w.npz", other=VECTORS)
    with pytest.raises(LexiconError, match="holds the arrays other; expected one named vectors"):
        read_lexicon(tmp_path / "w.npz")
    np.savez(tmp_path / "w.npz", vectors=VECTORS, words=np.array(WORDS, dtype=object))
    with pytest.raises(LexiconError, match="pickled"):
        read_lexicon(tmp_path / "w.npz")
    np.savez(tmp_path / "w.npz", vectors=VECTORS, words=np.arange(5))
    with pytest.raises(LexiconError, match="list of strings"):
        read_lexicon(tmp_path / "w.npz")


def test_rows_dropped_from_a_large_file_are_the_right_ones(
    rng: MakeRng, write: Callable[..., Path]
) -> None:
    # More rows than the block in which kept rows are moved to the front.
    words = [f"w{i}" for i in rng().integers(0, 9000, 12_000)]
    vectors = rng(1).integers(0, 40, (12_000, 3)).astype(np.float32)
    first_word = {w: i for i, w in reversed(list(enumerate(words)))}
    kept, seen = [], set()
    for i in sorted(first_word.values()):
        if tuple(vectors[i]) not in seen:
            seen.add(tuple(vectors[i]))
            kept.append(i)
    lexicon, report = read_lexicon(write(binary(words, vectors)))
    assert lexicon.words == tuple(words[i] for i in kept)
    assert np.array_equal(lexicon.vectors, vectors[kept])
    assert not lexicon.vectors.flags.writeable
    assert report.dropped.total == 12_000 - len(kept)
    assert len(kept) > 4096


def test_the_real_glove_files(data_dir: Path) -> None:
    lexicon, report = read_lexicon(data_dir / "glove840b_33860x300.npy")
    assert (len(lexicon), lexicon.dimension) == (33_860, 300)
    assert report.dropped.total == 0
    assert any("\u00a0" in word for word in lexicon.words)
    small, _ = read_lexicon(data_dir / "glove6b_50d_partial.npy", limit=50)
    assert small.words[:3] == ("the", ",", ".")


ROWS = (b"my 0.5 -1 2", b"doctor 1 3 4", b"said 7 8 9", b"so -0.1 0 1")


def lines(*rows: bytes, end: bytes = b"\n") -> bytes:
    return end.join(rows or ROWS) + end


@pytest.mark.parametrize("read", ["file", "upload"])
@pytest.mark.parametrize(
    ("content", "words"),
    [
        (lines().replace(b" ", b"\t"), "my doctor said so"),
        (lines(*(row.replace(b" ", b"\t", 1) for row in ROWS)), "my doctor said so"),
        (lines().replace(b" ", b"  "), "my doctor said so"),
        (lines().replace(b" ", b" \t"), "my doctor said so"),
        (lines(end=b"\t\r\n"), "my doctor said so"),
        (b"4\t3\n" + lines().replace(b" ", b"\t"), "my doctor said so"),
        (b"word d0 d1 d2\n" + lines(), "my doctor said so"),
        (b"\tx\ty\tz\n" + lines().replace(b" ", b"\t"), "my doctor said so"),
        (lines(b"new york 1 1 1", *ROWS), "new york|my|doctor|said|so"),
        (lines(b"new york\t1\t1\t1", b"so\t1\t2\t3"), "new york|so"),
        (lines(b"12 1 1 1", *ROWS), "12 my doctor said so"),
        (lines(b"so,so 1 1 1", *ROWS), "so,so my doctor said so"),
    ],
)
def test_files_as_programs_write_them(
    content: bytes, words: str, read: str, write: Callable[..., Path]
) -> None:
    if read == "file":
        lexicon, report = read_lexicon(write(content))
    else:
        lexicon, report = read_uploaded(content, "file.txt", "yours")
    assert lexicon.words == tuple(words.split("|") if "|" in words else words.split())
    assert lexicon.vectors[lexicon.index("so")].size == 3
    assert report.dropped.total == 0


@pytest.mark.parametrize("read", ["file", "upload"])
@pytest.mark.parametrize(
    ("content", "message"),
    [
        (lines().replace(b".", b",").replace(b" 1", b" 1,5"), "decimal comma: write a point"),
        (lines().replace(b" ", b","), "separated by commas"),
        (b"my 1:0.2 4:0.3\ndoctor 2:0.1\n", "sparse rows"),
        (b"version https://git-lfs.github.com/spec/v1\noid sha256:abc\nsize 5\n", "git lfs pull"),
        (b"\x80\x05\x95" + b"a" * 900, "is a pickle.*save_word2vec_format"),
        (lines().decode().encode("utf-16"), "is UTF-16 text"),
        ((lines() * 20).decode().encode("utf-16-le"), "is UTF-16 text"),
        ((lines() * 20).decode().encode("utf-16-be"), "is UTF-16 text"),
        (b"9 3\n" + lines(), "the file was cut, or the header is wrong.*remove the first line"),
        (b"3 3\n" + lines(), "4: the header is wrong.*remove the first line"),
        (b"".join(b"w%d 1 2\n" % i for i in range(6)), "got 1 .*5 with a repeated vector"),
        (b"<unk> 1 2\n[PAD] 3 4\nso 1 1\n", "got 1 .*2 with a mark such as <unk>"),
    ],
)
def test_a_refusal_tells_the_true_reason(
    content: bytes, message: str, read: str, write: Callable[..., Path]
) -> None:
    path = write(content)
    with pytest.raises(LexiconError, match=message) as refusal:
        read_lexicon(path) if read == "file" else read_uploaded(content, path.name, "yours")
    assert len(str(refusal.value)) < 300


def test_words_as_python_objects_are_not_opened(tmp_path: Path) -> None:
    path = tmp_path / "objects.npz"
    np.savez(path, words=np.array(WORDS, dtype=object), vectors=VECTORS)
    with pytest.raises(LexiconError, match="array of Python objects, which is pickled"):
        read_lexicon(path)


def test_marks_of_a_model_never_become_words(write: Callable[..., Path]) -> None:
    marks = [
        "<unk>",
        "</s>",
        "<s>",
        "UNK",
        "*UNK*",
        "[PAD]",
        "[CLS]",
        "[unused7]",
        "<user>",
        "<|x|>",
    ]
    words = ["unk", "<3", "pad", "PAD", "[", "<", "s", "http://x", "a<b>c"]
    vectors = np.arange(2 * len(marks + words), dtype=np.float32).reshape(-1, 2) ** 2
    for content in (text(marks + words, vectors), binary(marks + words, vectors)):
        lexicon, report = read_lexicon(write(content))
        assert lexicon.words == tuple(words)
        assert report.dropped.special == len(marks)
        assert "10 with a mark such as <unk>" in str(report.dropped)


@pytest.mark.parametrize("bad", [b"1 2", b"1 2 3 4", b"w 1 x", b"w 1 nan", b"w 1 1e39", b"w 1"])
def test_one_bad_row_does_not_refuse_a_large_file(bad: bytes, write: Callable[..., Path]) -> None:
    rows = [b"w%d %d 1" % (i, i) for i in range(1_200)]
    rows[700] = bad if len(bad.split()) != 2 or bad[:1] == b"w" else b"1"
    lexicon, report = read_lexicon(write(lines(*rows)))
    assert len(lexicon) == 1_199
    assert report.dropped.malformed == 1
    assert report.rows == 1_200
    assert "1 with numbers that are missing or wrong" in str(report.dropped)
    assert len(read_lexicon(write(b"1200 2\n" + lines(*rows)))[0]) == 1_199
    rows[900] = bad
    with pytest.raises(LexiconError, match="line 701 "):
        read_lexicon(write(lines(*rows)))
