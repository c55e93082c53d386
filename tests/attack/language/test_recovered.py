"""Words that attackers recover: counted by hand, and at the two ends of a channel."""

import numpy as np
import pytest

from dpcore.attack.language.context import BIGRAM, WORDS
from dpcore.attack.language.language import word_frequencies
from dpcore.attack.language.recovered import BLIND, CONTEXT, FREQUENCY, Recovery, recover
from dpcore.attack.output.channel import open_channel
from dpcore.errors import ParameterError
from dpcore.lexicon.catalogue import load
from dpcore.lexicon.lexicon import Lexicon
from dpcore.mechanisms.registry import create
from dpcore.rewrite.sentence import prepare

TEXT = "The doctor was born in York. Zzqq!"


def test_only_changed_content_words_count() -> None:
    names = ("the", "doctor", "york", "born")
    lexicon = Lexicon("four", names, np.eye(4, dtype=np.float32))
    words = np.array([0, 1, 2, 3])
    ranks = {CONTEXT: np.array([0, 0, 9, 10])}
    guesses = {CONTEXT: np.array([0, 1, 0, 0])}
    chances = {CONTEXT: np.array([0.9, 0.5, 0.1, 0.0])}
    released = np.array([1, 0, 0, 3])
    recovered = Recovery(lexicon, "bigram", words, released, guesses, ranks, chances, 0)
    # The function word and the word that stayed are out: doctor is first, york is tenth.
    assert recovered.counted.tolist() == [False, True, True, False]
    assert [recovered.right(CONTEXT, first) for first in (1, 9, 10)] == [1, 1, 2]
    assert recovered.rows()[2] == {
        "written": "york", "released": "the", "counted": True, "context": "the",
        "rank_context": 10, "chance_context": 0.1,
    }  # fmt: skip


@pytest.mark.parametrize("reader", [BIGRAM, WORDS])
def test_everything_is_got_back_where_the_channel_reveals_everything(reader: str) -> None:
    sentence = prepare(TEXT, load())
    channel = open_channel(create("k-ary", load()))
    outputs = np.where(sentence.words < 0, 5, sentence.words)
    recovered = recover(channel, sentence, outputs, 60.0, reader=reader)
    assert recovered.unknown == 1
    for attacker in (FREQUENCY, CONTEXT):
        assert np.array_equal(recovered.guesses[attacker], recovered.written)
        assert recovered.chances[attacker] == pytest.approx(1)
    assert not recovered.counted.any()


@pytest.mark.parametrize("reader", [BIGRAM, WORDS])
def test_who_sees_a_channel_that_reveals_nothing_is_who_sees_nothing(reader: str) -> None:
    sentence = prepare(TEXT, load())
    channel = open_channel(create("k-ary", load()))
    outputs = np.arange(sentence.protected)
    recovered = recover(channel, sentence, outputs, 1e-9, reader=reader)
    assert np.array_equal(recovered.guesses[FREQUENCY], recovered.guesses[BLIND])
    frequency = word_frequencies(load())[recovered.written]
    assert recovered.chances[FREQUENCY] == pytest.approx(frequency, rel=1e-6)
    other = recover(channel, sentence, outputs + 100, 1e-9, reader=reader)
    assert recovered.chances[CONTEXT] == pytest.approx(other.chances[CONTEXT], rel=1e-3)


def test_a_reader_is_one_that_there_is() -> None:
    sentence = prepare(TEXT, load())
    channel = open_channel(create("k-ary", load()))
    with pytest.raises(ParameterError, match="bigram or words or smollm2, got 'trigram'"):
        recover(channel, sentence, np.zeros(sentence.protected, int), 5.0, reader="trigram")
