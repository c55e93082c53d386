"""The language model in numpy against a plain twin that reads everything at each step."""

import math

import numpy as np
import pytest

from dpcore.rewrite.write import smollm as network_module
from dpcore.rewrite.write.smollm import Network
from tests.rewrite.write import tiny


def normed(network: Network, row: np.ndarray, weights: np.ndarray) -> np.ndarray:
    return row / math.sqrt(float(row @ row) / row.size + network.tiny) * weights


def turned(network: Network, row: np.ndarray, place: int) -> np.ndarray:
    """Numbers 2i and 2i + 1 as one complex number, turned by place·base^(−2i/c)."""
    points = row[::2] + 1j * row[1::2]
    speeds = np.array([network.base ** (-2 * i / row.size) for i in range(row.size // 2)])
    points = points * np.exp(1j * place * speeds)
    return np.stack((points.real, points.imag), axis=1).ravel()


def plain(network: Network, tokens: list[int]) -> np.ndarray:
    """Scores behind a whole text, word by word and head by head, in float64."""
    heads, shared, c = network.heads, network.shared, network.width
    rows = [network.embedding[token].astype(float) for token in tokens]
    for block in network.blocks:
        inputs = [block.inputs @ normed(network, row, block.attention_norm) for row in rows]
        parts = [whole.reshape(heads + 2 * shared, c) for whole in inputs]
        after = []
        for place, row in enumerate(rows):
            mixed = []
            for head in range(heads):
                key = heads + head // (heads // shared)
                query = turned(network, parts[place][head], place)
                weights = np.exp(
                    [
                        query @ turned(network, parts[other][key], other) / math.sqrt(c)
                        for other in range(place + 1)
                    ]
                )
                values = np.array([parts[other][key + shared] for other in range(place + 1)])
                mixed.append(weights @ values / weights.sum())
            row = row + block.output @ np.concatenate(mixed)
            gates = block.gates @ normed(network, row, block.gate_norm)
            gate, through = gates[: gates.size // 2], gates[gates.size // 2 :]
            after.append(row + block.down @ (gate / (1 + np.exp(-gate)) * through))
        rows = after
    return network.embedding @ normed(network, rows[-1], network.norm)


@pytest.mark.parametrize("parts", [[7], [1] * 7, [3, 1, 1, 2]])
def test_scores_are_those_of_the_plain_twin_however_a_text_is_read(parts: list[int]) -> None:
    network, tokens = tiny.network(), [3, 9, 4, 4, 0, 10, 7]
    reading, done = network.reading(7), 0
    for part in parts:
        scores = reading.scores(tokens[done : done + part])
        done += part
        np.testing.assert_allclose(scores, plain(network, tokens[:done]), rtol=2e-4, atol=2e-5)


def test_texts_that_are_read_together_are_as_likely_as_alone(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(network_module, "_PASS", 9)
    network = tiny.network()
    texts = [[3, 9, 4, 4], [1], [3, 9, 2], [7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7], [0, 10]]
    expected = []
    for text in texts:
        total = 0.0
        for i in range(1, len(text)):
            scores = plain(network, text[:i])
            total += scores[text[i]] - np.logaddexp.reduce(scores)
        expected.append(total)
    np.testing.assert_allclose(network.log_probabilities(texts), expected, rtol=1e-4, atol=1e-5)


def test_two_readings_do_not_disturb_each_other() -> None:
    network = tiny.network()
    first, second = network.reading(4), network.reading(4)
    first.scores([3, 4])
    second.scores([5])
    np.testing.assert_array_equal(first.scores([6]), _after(network, [[3, 4], [6]]))


def _after(network: Network, parts: list[list[int]]) -> np.ndarray:
    reading = network.reading(8)
    return [reading.scores(part) for part in parts][-1]


def test_more_than_a_reading_holds_is_an_error() -> None:
    reading = tiny.network().reading(2)
    with pytest.raises(ValueError, match="broadcast"):
        reading.scores([3, 4, 5])
