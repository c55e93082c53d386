"""The bigram model against a plain twin, its file, and the bundled model."""

import itertools
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dpcore.attack.language import language as room
from dpcore.attack.language.build import (
    count,
    held_out_sentences,
    is_held_out,
    sentences,
    sequences,
)
from dpcore.attack.language.language import (
    FILE,
    UNKNOWN,
    Bigram,
    CountPlan,
    language,
    perplexity,
    read_counts,
    word_frequencies,
    write_counts,
)
from dpcore.attack.output.prior import frequency
from dpcore.errors import LexiconError
from dpcore.lexicon.catalogue import load
from dpcore.lexicon.lexicon import Lexicon
from dpcore.lexicon.train.vocabulary import tokenise
from tests.fixtures import MakeRng

WORDS = ("the", "cat", "sat", "on", "mat", "e-mail", "never")
LEXICON = Lexicon("small", WORDS, np.eye(7, dtype=np.float32))
TEXT = ["The cat sat on the mat. The zebra sat!", "e-mail the cat", "zebra", "cat cat cat"]


def counted(least: int = 1, weight: int = 1) -> Any:
    return count(LEXICON, [([sentences(TEXT)], weight)], CountPlan(1, least))


def plain_pairs() -> list[tuple[int, int]]:
    """Neighbouring words of TEXT by eye; 7 is the boundary, zebra cuts."""
    lines = [
        "the cat sat on the mat",
        "the zebra sat",
        "e-mail the cat",
        "zebra",
        "cat cat cat",
    ]
    pairs = []
    for line in lines:
        row = [7, *(WORDS.index(w) if w in WORDS else -1 for w in line.split()), 7]
        pairs += [(a, b) for a, b in itertools.pairwise(row) if a >= 0 and b >= 0]
    return pairs


def plain_probability(
    pairs: list[tuple[int, int]], discount: float, least: int, first: int, second: int
) -> float:
    """Interpolated Kneser–Ney as its definition reads, rare pairs left out."""
    seen = {p: pairs.count(p) for p in set(pairs)}
    before = [len({a for a, b in seen if b == w}) + 0.5 for w in range(8)]
    fallback = before[second] / sum(before)
    if first == UNKNOWN:
        return fallback
    total = sum(c for (a, _), c in seen.items() if a == first)
    if not total:
        return fallback
    kept = {
        b: max(c - discount, 0) / total for (a, b), c in seen.items() if a == first and c >= least
    }
    return kept.get(second, 0.0) + (1 - sum(kept.values())) * fallback


@pytest.mark.parametrize("least", [1, 2])
def test_it_is_the_plain_twin(least: int) -> None:
    model = Bigram.of(counted(least), 0.75)
    pairs = plain_pairs()
    for first in range(UNKNOWN, 8):
        row = model.after(first)
        assert row.sum() == pytest.approx(1.0, abs=1e-12)
        twin = [plain_probability(pairs, 0.75, least, first, w) for w in range(8)]
        assert np.allclose(row, twin, atol=1e-14)
    for second in range(8):
        twin = [plain_probability(pairs, 0.75, least, v, second) for v in range(8)]
        assert np.allclose(model.before(second), twin, atol=1e-14)
    assert np.array_equal(model.before(UNKNOWN), np.ones(8))


def test_words_are_counted_as_often_as_they_stand() -> None:
    counts = counted()
    assert counts.words.tolist() == [4, 5, 2, 1, 1, 1, 0]
    assert counted(weight=3).words.tolist() == [12, 15, 6, 3, 3, 3, 0]
    model = Bigram.of(counts, 0.75)
    assert model.frequency.sum() == pytest.approx(1.0)
    assert model.frequency[6] > 0


def test_perplexity_is_that_of_the_rows() -> None:
    model = Bigram.of(counted(), 0.75)
    corpus = tokenise([[["the cat sat"]]])
    measured = perplexity(model, sequences(corpus, LEXICON)[1])
    steps = [(7, 0), (0, 1), (1, 2)]
    logs = [-np.log(model.after(a)[b]) for a, b in steps]
    assert measured["tokens"] == 3
    assert measured["perplexity"] == pytest.approx(np.exp(np.mean(logs)))
    single = [-np.log(model.frequency[b]) for _, b in steps]
    assert measured["perplexity_unigram"] == pytest.approx(np.exp(np.mean(single)))


def test_the_file_gives_back_what_was_written(tmp_path: Path, rng: MakeRng) -> None:
    counts = counted()
    write_counts(tmp_path / FILE, counts)
    again = read_counts(tmp_path / FILE)
    for name in ("words", "contexts", "continuations", "first", "second", "pairs"):
        assert np.array_equal(getattr(counts, name), getattr(again, name)), name


def test_sentences_end_where_marks_say() -> None:
    assert sentences(["One. Two! Three? Four", "e.g.this"]) == [
        "One.", "Two!", "Three?", "Four", "e.g.this"
    ]  # fmt: skip


def test_about_a_fifth_is_held_out() -> None:
    share = np.mean([is_held_out(f"document {i}") for i in range(4000)])
    assert abs(share - 0.2) < 0.04  # six standard errors


def test_what_ships_is_a_law_that_predicts() -> None:
    lexicon = load()
    model = language(lexicon)
    manifest = json.loads((room.language_folder() / "manifest.json").read_text(encoding="utf-8"))
    held_out = manifest["held_out"]
    assert held_out["perplexity"] < 0.5 * held_out["perplexity_unigram"]
    assert manifest["fingerprint"] == lexicon.fingerprint
    assert (room.language_folder() / FILE).stat().st_size <= 3_000_000
    for word in (model.boundary, lexicon.index("the"), lexicon.index("monday"), UNKNOWN):
        row = model.after(word)
        assert row.sum() == pytest.approx(1.0, abs=1e-9)
        assert row.min() > 0
    assert np.all((model.share > 0) & (model.share <= 1))
    prior = frequency(lexicon)
    assert prior.probability.argmax() == lexicon.index("the")
    york = model.after(lexicon.index("new"))
    assert lexicon.words[int(york[:-1].argmax())] == "york"


def test_the_recorded_perplexity_is_true(data_dir: Path) -> None:
    lexicon = load()
    compounds = frozenset(word for word in lexicon.words if "-" in word)
    corpus = tokenise([[[text] for text in held_out_sentences(data_dir)]], compounds)
    measured = perplexity(language(lexicon), sequences(corpus, lexicon)[1])
    manifest = json.loads((room.language_folder() / "manifest.json").read_text(encoding="utf-8"))
    assert measured == pytest.approx(manifest["held_out"])


def test_another_lexicon_has_the_same_counts_for_its_words() -> None:
    bundled = load()
    names = ("york", "nobodysaysthis", "new", "the")
    other = Lexicon("other", names, np.eye(4, dtype=np.float32))
    large, small = language(bundled), language(other)
    ratio = large.frequency[bundled.indices(["york", "new", "the"])]
    assert np.allclose(small.frequency[[0, 2, 3]] / small.frequency[3], ratio / ratio[2], rtol=1e-4)
    assert small.after(2).sum() == pytest.approx(1.0)
    assert small.excess[small.starts[2] : small.starts[3]].size
    pair = small.excess[small.starts[2] : small.starts[3]][small.second[small.starts[2] :][0] == 0]
    assert pair.size
    assert word_frequencies(other)[1] == small.frequency.min()
    with pytest.raises(LexiconError, match="take a uniform prior"):
        language(Lexicon("none", ("nobodysaysthis", "xyzzyq"), np.eye(2, dtype=np.float32)))
