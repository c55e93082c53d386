"""The network that reads: by hand, against torch, in its file, and the one that is bundled."""

import json
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from dpcore.attack.language.language import language_folder
from dpcore.attack.language.reader_training import MANIFEST, reader_manifest
from dpcore.errors import LexiconError
from dpcore.lexicon.cache import sha256_of_file
from dpcore.lexicon.catalogue import load
from dpcore.lexicon.lexicon import Lexicon
from dpcore.lexicon.masked_model import FILE, Reader, read_reader, reader_of, write_reader
from tests.lexicon.masked_models import neighbour_reader, random_reader


def test_a_network_of_two_words_says_what_comes_out_by_hand() -> None:
    """boundary 0 hidden boundary: three states are (0, 0), that of word 0 is (1, −1).

    Normed, (1, −1) stays (up to the small number under the root) and (0, 0) stays: all values have
    the mean (1/4, −1/4), the asked place becomes that, is normed to (1, −1), and `lower` reads 1:
    the scores are 1·(1, −1) + bias.
    """
    reader = neighbour_reader()
    tokens = np.array([[reader.boundary, 0, reader.hidden, reader.boundary]])
    scores = reader.logits(reader.embedded(tokens), np.array([2]))
    shrunk = 0.25 / np.sqrt(0.25**2 / (1 + 1e-5) + 1e-5) / np.sqrt(1 + 1e-5)
    assert scores == pytest.approx(np.array([[shrunk + 0.5, -shrunk]]), rel=1e-5)
    assert shrunk == pytest.approx(1, abs=1e-3)
    other = reader.logits(reader.embedded(np.array([[2, 1, 4, 2]])), np.array([2]))
    assert other == pytest.approx(np.array([[-shrunk + 0.5, shrunk]]), rel=1e-5)


def test_an_expected_row_of_one_word_is_the_row_of_that_word() -> None:
    reader = random_reader(0)
    laws = np.eye(10)[[3, 7]]
    assert np.array_equal(reader.expected(laws), reader.embedded(np.array([3, 7])))
    mixed = reader.expected(np.array([[0.5] * 2 + [0.0] * 8]))
    assert mixed == pytest.approx(reader.embedded(np.array([0, 1])).mean(axis=0)[None])


def test_sequences_are_read_one_by_one_as_together() -> None:
    reader = random_reader(1)
    tokens = np.random.default_rng(2).integers(0, 13, (5, 7))
    places = np.array([1, 2, 3, 4, 5])
    together = reader.logits(reader.embedded(tokens), places)
    for i in range(5):
        alone = reader.logits(reader.embedded(tokens[i : i + 1]), places[i : i + 1])
        assert alone[0] == pytest.approx(together[i], rel=1e-4, abs=1e-4)


def test_the_file_holds_the_network(tmp_path: Path) -> None:
    reader = replace(random_reader(3), exponent=0.8)
    write_reader(tmp_path / FILE, reader)
    again = read_reader(tmp_path / FILE)
    assert (again.heads, again.exponent) == (2, 0.8)
    for name, array in reader.weights.items():
        # Eight bits of the largest of a row, and float16: half of a last place each.
        largest = np.abs(array).max(axis=-1, keepdims=True)
        allowed = largest / 254 * 1.001 if name == "embedding" else np.abs(array) * 2.0**-11 + 1e-7
        assert (np.abs(again.weights[name] - array) <= allowed).all(), name
        assert not again.weights[name].flags.writeable
    write_reader(tmp_path / "again.npz", again)
    assert np.array_equal(
        read_reader(tmp_path / "again.npz").weights["embedding"], again.weights["embedding"]
    )


def test_a_file_without_its_arrays_is_refused(tmp_path: Path) -> None:
    np.savez(tmp_path / FILE, embedding=np.zeros((4, 2), np.int8))
    with pytest.raises(LexiconError, match="heads is missing"):
        read_reader(tmp_path / FILE)


def test_the_bundled_file_is_the_one_of_its_manifest() -> None:
    manifest = json.loads((language_folder() / MANIFEST).read_text(encoding="utf-8"))
    assert manifest == reader_manifest()
    written = manifest["files"][FILE]
    assert sha256_of_file(language_folder() / FILE) == written["sha256"]
    assert (language_folder() / FILE).stat().st_size == written["bytes"] <= 15_000_000
    assert manifest["fingerprint"] == load().fingerprint
    reader = reader_of(load())
    assert (reader.size, reader.exponent) == (len(load()), manifest["exponent"])
    losses = manifest["exponent_loss"]
    assert losses[f"{reader.exponent:g}"] == min(losses.values())


def test_another_lexicon_is_refused_with_what_to_do() -> None:
    other = Lexicon("other", ("a", "b"), np.eye(2, dtype=np.float32))
    with pytest.raises(LexiconError, match="take the reader bigram"):
        reader_of(other)


def test_the_bundled_network_fills_a_gap_of_english() -> None:
    lexicon = load()
    reader = reader_of(lexicon)
    words = "he was born in new _ in the united states".split()
    tokens = [reader.hidden if word == "_" else lexicon.index(word) for word in words]
    row = np.array([[reader.boundary, *tokens, reader.boundary]])
    scores = reader.logits(reader.embedded(row), np.array([words.index("_") + 1]))[0]
    assert (scores > scores[lexicon.index("york")]).sum() < 10


@pytest.mark.slow
def test_a_sentence_is_read_within_a_tenth_of_a_second() -> None:
    """Thirty milliseconds on an idle core: the bound leaves room for a busy one."""
    reader: Reader = reader_of(load())
    tokens = np.repeat(np.arange(17)[None], 15, axis=0)
    times = []
    for _ in range(5):
        start = time.process_time()
        reader.logits(reader.embedded(tokens), np.arange(1, 16))
        times.append(time.process_time() - start)
    assert min(times) < 0.1
