"""The teaching corpus: its content, no pattern in it, and refusals of its reader."""

import json
import random
import re
from collections import Counter, defaultdict
from dataclasses import FrozenInstanceError, fields
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import stats

from dpcore.errors import CorpusError, ParameterError
from dpcore.learn.corpus import (
    FILES,
    LABELLINGS,
    SENTIMENTS,
    SPAN_TYPES,
    SPLITS,
    TOPICS,
    Corpus,
    parse_markup,
    read_corpus,
    teaching_corpus,
)
from dpcore.lexicon.catalogue import load
from dpcore.measure.words import corpus as words_of
from tests.chance import FALSE_ALARM


@pytest.fixture(scope="module")
def corpus() -> Corpus:
    return teaching_corpus()


def plain_words(text: str) -> list[str]:
    return re.findall(r"[a-z0-9£$€']+", text.lower().replace("’", "'"))


# What it holds


def test_it_is_as_large_as_guaranteed_and_read_once(corpus: Corpus) -> None:
    assert len(corpus) >= 1_200
    assert Counter(corpus.kind).keys() == FILES.keys()
    assert min(Counter(corpus.kind).values()) >= 0.4 * len(corpus)
    assert teaching_corpus() is corpus


def test_labels_are_balanced_within_each_other_and_within_each_file(corpus: Corpus) -> None:
    for kind in FILES:
        cells = Counter(
            cell[1:]
            for cell in zip(corpus.kind, corpus.topic, corpus.sentiment, strict=True)
            if cell[0] == kind
        )
        assert cells.keys() == {(topic, mood) for topic in TOPICS for mood in SENTIMENTS}
        assert max(cells.values()) <= 1.1 * min(cells.values())


def test_three_tenths_of_each_cell_are_kept_for_the_test(corpus: Corpus) -> None:
    sizes: Counter[Any] = Counter()
    kept: Counter[Any] = Counter()
    rows = zip(corpus.kind, corpus.topic, corpus.sentiment, corpus.split, strict=True)
    for *cell, split in rows:
        sizes[tuple(cell)] += 1
        kept[tuple(cell)] += split == "test"
    assert all(abs(kept[cell] - 0.3 * size) < 1 for cell, size in sizes.items())
    assert len(corpus.part("test")) == sum(kept.values())


def test_the_split_is_the_one_that_the_provenance_describes(corpus: Corpus) -> None:
    for kind in FILES:
        rows = [row for row, name in enumerate(corpus.kind) if name == kind]
        cells = defaultdict(list)
        for row in rows:
            cells[corpus.topic[row], corpus.sentiment[row]].append(row)
        draw = random.Random(5)
        kept = set()
        for cell in sorted(cells):
            draw.shuffle(cells[cell])
            kept.update(cells[cell][: round(0.3 * len(cells[cell]))])
        assert kept == {row for row in rows if corpus.split[row] == "test"}


def test_spans_lie_inside_the_texts_in_order(corpus: Corpus) -> None:
    for text, spans in zip(corpus.texts, corpus.spans, strict=True):
        end = 0
        for span in spans:
            assert end <= span.start < span.end <= len(text)
            inside = text[span.start : span.end]
            assert inside == inside.strip()
            assert span.type in SPAN_TYPES
            end = span.end


def test_most_texts_hold_something_to_protect_of_every_type(corpus: Corpus) -> None:
    assert 0.6 <= np.mean([bool(spans) for spans in corpus.spans]) <= 0.85
    types = Counter(span.type for spans in corpus.spans for span in spans)
    assert types.keys() == set(SPAN_TYPES)
    assert min(types.values()) >= 10


def test_money_and_addresses_are_marked_and_the_addresses_are_nobodys(corpus: Corpus) -> None:
    for name, text, spans in zip(corpus.ids, corpus.texts, corpus.spans, strict=True):
        left = text
        for span in reversed(spans):
            inside = text[span.start : span.end]
            if span.type == "contact":
                assert re.search(r"\b555\b|example\.(org|com|net)\b", inside), name
            left = left[: span.start] + left[span.end :]
        assert not re.search(r"@|\b555-|[£$€] ?\d", left), name


# No pattern


def test_no_text_is_another_with_other_signs(corpus: Corpus) -> None:
    keys = Counter(" ".join(plain_words(text)) for text in corpus.texts)
    assert max(keys.values()) == 1


def test_phrases_hardly_repeat(corpus: Corpus) -> None:
    where: defaultdict[Any, set[Any]] = defaultdict(set)
    openings: Counter[Any] = Counter()
    for name, text in zip(corpus.ids, corpus.texts, strict=True):
        words = plain_words(text)
        openings[tuple(words[:3])] += 1
        for start in range(len(words) - 5):
            where[tuple(words[start : start + 6])].add(name)
    repeated = [" ".join(gram) for gram, names in where.items() if len(names) > 1]
    assert len(repeated) <= 10, repeated
    shared = {" ".join(words): count for words, count in openings.items() if count > 1}
    assert sum(shared.values()) <= 0.03 * len(corpus), shared
    assert max(openings.values()) <= 3


def test_lengths_vary(corpus: Corpus) -> None:
    lengths = [len(text.split()) for text in corpus.texts]
    low, median, high = np.quantile(lengths, [0.1, 0.5, 0.9])
    assert min(lengths) >= 3
    assert max(lengths) <= 100
    assert low <= 18
    assert 20 <= median <= 32
    assert high >= 32


@pytest.mark.slow
def test_the_bundled_lexicon_knows_the_words(corpus: Corpus) -> None:
    words = words_of(load(), "\n".join(corpus.texts))
    assert 1 - words.unknown / words.tokens >= 0.9


@pytest.mark.parametrize("labelling", LABELLINGS)
def test_a_plain_classifier_learns_from_it_and_still_errs(corpus: Corpus, labelling: str) -> None:
    """A guess would pass the lower bound, and a classifier right 19 times in 20 the upper one,
    with probability 1e-6; neither the data nor the fit is random."""
    from sklearn.feature_extraction.text import TfidfVectorizer
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline

    train, test = corpus.part("train"), corpus.part("test")
    plain = make_pipeline(TfidfVectorizer(), LogisticRegression(C=10, max_iter=300))
    plain.fit(train.texts, train.labels(labelling))
    right = int((plain.predict(test.texts) == np.array(test.labels(labelling))).sum())
    majority = max(Counter(test.labels(labelling)).values()) / len(test)
    assert right > stats.binom.isf(FALSE_ALARM, len(test), majority)
    assert right < stats.binom.ppf(FALSE_ALARM, len(test), 0.95)


# The corpus as a value


def test_a_part_keeps_rows_together(corpus: Corpus) -> None:
    parts = [corpus.part(split) for split in SPLITS]
    assert sum(map(len, parts)) == len(corpus)
    rows = {
        row[0]: row for row in zip(*(getattr(corpus, f.name) for f in fields(corpus)), strict=True)
    }
    for split, part in zip(SPLITS, parts, strict=True):
        assert set(part.split) == {split}
        for row in zip(*(getattr(part, f.name) for f in fields(part)), strict=True):
            assert rows[row[0]] == row


def test_labels_and_parts_of_other_names_are_refused(corpus: Corpus) -> None:
    assert corpus.labels("topic") == corpus.topic
    assert corpus.labels("sentiment") == corpus.sentiment
    with pytest.raises(ParameterError, match="one of sentiment, topic, got 'mood'"):
        corpus.labels("mood")
    with pytest.raises(ParameterError, match="one of test, train, got 'dev'"):
        corpus.part("dev")
    with pytest.raises(FrozenInstanceError):
        corpus.texts = ()  # type: ignore[misc]


# Markup


def test_markup_is_cut_out_and_its_places_kept() -> None:
    text, spans = parse_markup("[[Rosa|name]] paid [[£240|amount]] in [[Leeds|place]]!")
    assert text == "Rosa paid £240 in Leeds!"
    assert [(text[s.start : s.end], s.type) for s in spans] == [
        ("Rosa", "name"),
        ("£240", "amount"),
        ("Leeds", "place"),
    ]
    assert parse_markup("Nothing [here].") == ("Nothing [here].", ())


@pytest.mark.parametrize(
    ("marked", "message"),
    [
        ("Ask [[Rosa|person]]", "one of amount, condition, .*, got 'person'"),
        ("Ask [[Rosa |name]]", "without space around"),
        ("Ask [[|name]]", "without space around"),
        ("Ask [[Rosa|name]", r"'\[\[' stands alone"),
        ("Ask [[Rosa]]", r"'\[\[' stands alone"),
        ("Ask Rosa|name]]", r"'\]\]' stands alone"),
        ("Ask Rosa|name", r"'\|' stands alone"),
        ("Ask [[[[Rosa|name]]|name]]", r"'\[\[' stands alone"),
    ],
)
def test_damaged_markup_is_refused(marked: str, message: str) -> None:
    with pytest.raises(CorpusError, match=message):
        parse_markup(marked)


# Refusals of a file

MESSAGE = {
    "id": "m0001",
    "text": "Call [[Ada|name]].",
    "sentiment": "positive",
    "topic": "work",
    "split": "train",
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    review = MESSAGE | {"id": "r0001", "text": "Fine soup.", "topic": "food"}
    (tmp_path / FILES["message"]).write_text(json.dumps(MESSAGE) + "\n", encoding="utf-8")
    (tmp_path / FILES["review"]).write_text(json.dumps(review), encoding="utf-8")
    return tmp_path


def test_a_folder_is_read_in_order(folder: Path) -> None:
    result = read_corpus(folder)
    assert result.ids == ("m0001", "r0001")
    assert result.kind == ("message", "review")
    assert result.texts == ("Call Ada.", "Fine soup.")
    assert result.spans == (((5, 8, "name"),), ())


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"id": "r0002"}, "line 2: id must be m and four digits, got 'r0002'"),
        ({"id": "m1"}, "id must be m and four digits"),
        ({"id": "m0001"}, "line 2: its id stands at messages.jsonl line 1 already"),
        ({"text": "call ada."}, "line 2: its text stands at messages.jsonl line 1 already"),
        ({"text": "[[Ada|who]]"}, "line 2: the type of a span"),
        ({"text": "Two  spaces"}, "single spaces"),
        ({"text": ""}, "single spaces"),
        ({"text": 3}, "text must be text, got 3"),
        ({"sentiment": "mixed"}, "sentiment must be one of negative, positive, got 'mixed'"),
        ({"topic": "pets"}, "topic must be one of food, .*, got 'pets'"),
        ({"split": "dev"}, "split must be one of test, train, got 'dev'"),
        ({"author": "me"}, "has the fields id, text, sentiment, topic, split, got author, id"),
    ],
)
def test_a_line_that_is_no_labelled_text_is_refused(
    folder: Path, change: dict[str, int | str], message: str
) -> None:
    line = json.dumps(MESSAGE | {"id": "m0002", "text": "Other words."} | change)
    with (folder / FILES["message"]).open("a", encoding="utf-8") as file:
        file.write(line + "\n")
    with pytest.raises(CorpusError, match=message):
        read_corpus(folder)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "messages.jsonl is empty"),
        (b"\n", "line 1: not JSON"),
        (b"[1]", "got list"),
        (b'{"id": ', "line 1: not JSON"),
        (b'{"id": "m0001\xff"}', "is not UTF-8"),
    ],
)
def test_a_damaged_file_is_refused(folder: Path, content: bytes, message: str) -> None:
    (folder / FILES["message"]).write_bytes(content)
    with pytest.raises(CorpusError, match=message):
        read_corpus(folder)


def test_a_missing_file_is_named_with_what_to_do(folder: Path) -> None:
    (folder / FILES["review"]).unlink()
    with pytest.raises(CorpusError, match=r"reviews\.jsonl: No such file.*restore the folder"):
        read_corpus(folder)
