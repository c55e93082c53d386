"""Word counts of real corpora: counted like a plain count, written and read, and plausible."""

import json
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from dpcore.crowd import bundled as module
from dpcore.crowd.bundled import (
    CROWDS,
    FILE,
    Crowd,
    count_texts,
    crowd,
    read_crowds,
    write_crowds,
)
from dpcore.errors import CorpusError, LexiconError, ParameterError
from dpcore.lexicon.catalogue import load
from dpcore.lexicon.lexicon import Lexicon
from dpcore.study.vocabularies import count_words, text_rows
from tests.mechanisms import lexicons
from tests.needs import ROOT

WORDS = ("the", "dog", "barks", "well-known", "London", "a", "cat")
TEXTS = [
    "The dog barks.",
    "A dog; the dog!",
    "In London a well-known<br />cat 42",
    "",
    "cat cat, a unicorn",
]
LABELS = ["loud", "loud", "calm", "calm", "loud"]
PLAIN = {"loud": "the dog barks a dog the dog cat cat a", "calm": "London a well-known cat"}


@pytest.fixture(scope="module")
def few() -> Lexicon:
    return Lexicon("few", WORDS, lexicons.cloud(len(WORDS), 3).vectors)


@pytest.fixture(scope="module")
def counted(few: Lexicon) -> Crowd:
    return count_texts(TEXTS, LABELS, ("calm", "loud"), few, name="toy", title="A toy")


def test_words_are_counted_by_group(counted: Crowd) -> None:
    assert (counted.name, counted.title, counted.groups) == ("toy", "A toy", ("calm", "loud"))
    assert counted.texts.tolist() == [2, 3]  # a blank text is a text
    for group, counts in zip(counted.groups, counted.counts.tolist(), strict=True):
        plain = Counter(PLAIN[group].split())
        assert counts == [plain[word] for word in WORDS]
    assert counted.words.tolist() == [4, 10]
    assert counted.unknown.tolist() == [2, 1]  # "In" and "42"; "unicorn"


def test_counts_do_not_depend_on_batches(
    counted: Crowd, few: Lexicon, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "_BATCH", 2)
    told: list[tuple[int, int]] = []
    again = count_texts(
        TEXTS,
        LABELS,
        counted.groups,
        few,
        progress=lambda _, done, total: told.append((done, total)),
    )
    assert told == [(2, 5), (4, 5), (5, 5)]
    np.testing.assert_array_equal(again.counts, counted.counts)
    np.testing.assert_array_equal(again.unknown, counted.unknown)
    np.testing.assert_array_equal(again.texts, counted.texts)


def test_no_text_gives_zeros(few: Lexicon) -> None:
    none = count_texts([], [], ("one",), few)
    assert none.counts.tolist() == [[0] * len(WORDS)]
    assert (none.texts.tolist(), none.unknown.tolist(), none.words.tolist()) == ([0], [0], [0])


def test_a_crowd_cannot_be_changed(counted: Crowd) -> None:
    given = np.ones(2, dtype=np.int64)
    own = Crowd("x", "X", ("a", "b"), given, given, np.ones((2, 3), dtype=np.uint32))
    given[0] = 7
    assert own.texts.tolist() == [1, 1]
    for array in (own.texts, own.unknown, own.counts, counted.counts):
        assert array.dtype == np.int64
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 1


@pytest.mark.parametrize(
    ("groups", "texts", "counts", "message"),
    [
        ((), [], np.zeros((0, 3), dtype=int), "groups with different names"),
        (("a", "a"), [1, 1], np.ones((2, 3), dtype=int), "groups with different names"),
        (("a", "b"), [1], np.ones((2, 3), dtype=int), r"texts .* each of 2 groups, got int64 of"),
        (("a", "b"), [1, -1], np.ones((2, 3), dtype=int), "texts of a crowd must not be negative"),
        (("a", "b"), [1, 1], np.ones((2, 3)), r"counts .* whole numbers .*, got float64 of shape"),
        (("a", "b"), [1, 1], np.ones(2, dtype=int), r"counts .* of shape \(2,\)"),
        (("a", "b"), [1, 1], -np.ones((2, 3), dtype=int), "counts .* must not be negative"),
    ],
)
def test_a_crowd_is_checked(
    groups: tuple[str, ...], texts: list[int], counts: np.ndarray, message: str
) -> None:
    unknown = np.zeros(len(groups), dtype=np.int64)
    with pytest.raises(CorpusError, match=message):
        Crowd("x", "X", groups, np.array(texts, dtype=np.int64), unknown, counts)


def test_labels_are_checked(few: Lexicon) -> None:
    with pytest.raises(CorpusError, match="got 1 texts and 2 labels"):
        count_texts(["a"], ["x", "x"], ("x",), few)
    with pytest.raises(CorpusError, match="the groups are x, y; got the label 'z'"):
        count_texts(["a", "a"], ["x", "z"], ("x", "y"), few)
    with pytest.raises(CorpusError, match="groups with different names"):
        count_texts(["a"], ["x"], ("x", "x"), few)


def test_a_file_is_read_as_it_was_written(counted: Crowd, few: Lexicon, tmp_path: Path) -> None:
    other = count_texts(TEXTS[:1], ["ä"], ("ä",), few, name="other", title="“Other”")
    write_crowds(tmp_path / FILE, [counted, other], few)
    fingerprint, crowds = read_crowds(tmp_path / FILE)
    assert fingerprint == few.fingerprint
    for read, written in zip(crowds, (counted, other), strict=True):
        assert (read.name, read.title, read.groups) == (written.name, written.title, written.groups)
        for field in ("texts", "unknown", "counts"):
            np.testing.assert_array_equal(getattr(read, field), getattr(written, field))
    before = (tmp_path / FILE).read_bytes()
    write_crowds(tmp_path / FILE, crowds, few)
    assert (tmp_path / FILE).read_bytes() == before


def test_only_crowds_that_fit_are_written(counted: Crowd, few: Lexicon, tmp_path: Path) -> None:
    with pytest.raises(CorpusError, match="different names, got toy, toy"):
        write_crowds(tmp_path / FILE, [counted, counted], few)
    with pytest.raises(CorpusError, match="'toy' counts 7 words, and the lexicon has 9"):
        write_crowds(tmp_path / FILE, [counted], lexicons.cloud(9, 3))
    many = Crowd("x", "X", ("a",), np.array([2**32]), np.array([0]), np.zeros((1, 7), dtype=int))
    with pytest.raises(CorpusError, match="texts of the crowd 'x' do not fit into 32 bits"):
        write_crowds(tmp_path / FILE, [many], few)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("damage", ["absent", "nothing", "cut", "of another kind", "others"])
def test_a_damaged_file_says_what_to_do(
    damage: str,
    counted: Crowd,
    few: Lexicon,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    path = tmp_path / FILE
    if damage == "nothing":
        path.write_bytes(b"nothing")
    elif damage == "cut":
        path.write_bytes((ROOT / "data/crowd" / FILE).read_bytes()[:5_000])
    elif damage == "of another kind":
        np.savez(path, names=np.array(["imdb"]), fingerprint=np.array("x"))
    elif damage == "others":
        write_crowds(path, [counted], few)
    monkeypatch.setattr(module, "bundled_data", lambda name, holding: tmp_path)
    module._bundled.cache_clear()
    try:
        with pytest.raises(CorpusError, match="restore the folder data/crowd"):
            crowd("imdb", few)
    finally:
        module._bundled.cache_clear()


def test_another_name_and_another_lexicon_are_refused(few: Lexicon) -> None:
    with pytest.raises(ParameterError, match="no crowd 'sst2'; there are: imdb, yelp, agnews"):
        crowd("sst2", load())
    with pytest.raises(LexiconError, match="over the bundled lexicon alone, got 'few'"):
        crowd("imdb", few)


# The bundled file.


def test_the_bundled_crowds_are_those_of_their_manifest() -> None:
    manifest = json.loads((ROOT / "data/crowd/manifest.json").read_text(encoding="utf-8"))
    assert manifest["fingerprint"] == load().fingerprint
    assert [facts["name"] for facts in manifest["crowds"]] == list(CROWDS)
    page = (ROOT / "data/README.md").read_text(encoding="utf-8")
    for facts in manifest["crowds"]:
        each = crowd(facts["name"], load())
        assert each is crowd(facts["name"], load())
        assert (each.name, each.title) == (facts["name"], facts["title"])
        assert each.groups == tuple(group["name"] for group in facts["groups"])
        assert each.counts.shape == (len(each.groups), 25_000)
        for place, group in enumerate(facts["groups"]):
            assert each.texts[place] == group["texts"]
            assert each.words[place] == group["words"]
            assert each.unknown[place] == group["unknown"]
            assert np.count_nonzero(each.counts[place]) == group["distinct"]
            numbers = "{texts:,} | {words:,} | {unknown:,} |".format_map(group)
            assert f"| {group['name']} | {numbers}" in page


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("imdb", {"praise": "great excellent love best", "blame": "bad worst stupid waste"}),
        ("yelp", {"praise": "great delicious friendly", "blame": "rude worst terrible"}),
        (
            "agnews",
            {
                "world": "minister iraq",
                "sports": "game season",
                "business": "profit shares",
                "science and technology": "software space",
            },
        ),
        (
            "yahoo",
            {
                "society and culture": "god church",
                "science and mathematics": "equation energy",
            },
        ),
    ],
)
def test_words_of_a_class_are_commonest_there(name: str, words: dict[str, str]) -> None:
    each, lexicon = crowd(name, load()), load()
    share = each.counts / each.words[:, None]
    for group, typical in words.items():
        for word in typical.split():
            assert each.groups[share[:, lexicon.index(word)].argmax()] == group, word


def test_most_words_are_known_and_the_commonest_is_the() -> None:
    for name in CROWDS:
        each = crowd(name, load())
        assert (each.unknown < 0.125 * (each.words + each.unknown)).all()
        assert load().words[int(each.counts.sum(axis=0).argmax())] == "the"


@pytest.mark.slow
def test_a_part_of_the_reviews_counted_by_other_code(data_dir: Path) -> None:
    path, groups = data_dir / "imdb.parquet", ("praise", "blame")
    texts, labels = text_rows(path, ("train", "test"), 200, np.random.default_rng(5))
    names = [groups[label == "0"] for label in labels]
    part, whole = count_texts(texts, names, groups, load()), crowd("imdb", load())
    for place, group in enumerate(groups):
        own = [
            t.replace("<br />", " ") for t, name in zip(texts, names, strict=True) if name == group
        ]
        counts, unknown = count_words(own, load())
        np.testing.assert_array_equal(part.counts[place], counts)
        assert part.unknown[place] == unknown
        assert part.texts[place] == len(own)
    assert part.texts.sum() == 200
    assert (part.counts <= whole.counts).all()
    # Both hold whole reviews: a review of the part is about as long as any other.
    share = part.words.sum() / whole.words.sum()
    assert share == pytest.approx(200 / whole.texts.sum(), rel=0.3)
