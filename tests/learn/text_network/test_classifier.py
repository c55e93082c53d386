"""Text networks: inputs, certificates, and certificates that no attack may break."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from dpcore.attack.genetic import Genetic, attack, from_substitutions
from dpcore.errors import ParameterError
from dpcore.learn.text_network.classifier import keep, recall
from dpcore.learn.text_network.network import Kind, Shape, padded, places
from tests import needs
from tests.learn.networks import (
    WORDS,
    bag,
    random_texts,
    small_lexicon,
    small_network,
    small_substitutions,
)

torch = needs.torch()


def plain_scores(model: Any, text: Any, premise: Any = None) -> NDArray[np.float64]:
    """One text, layer by layer, with numpy and loops."""
    tensors = {name: x.numpy() for name, x in model.tensors.items()}

    def words(some: Any) -> NDArray[np.float64]:
        known = model.vectors[[w for w in some if w >= 0]].astype(np.float64)
        return np.maximum(known @ tensors["words.weight"].T + tensors["words.bias"], 0)

    x = words(text)
    if premise is None:
        weight, bias = tensors["convolution.weight"], tensors["convolution.bias"]
        wide = np.vstack((np.zeros(x.shape[1]), x, np.zeros(x.shape[1])))
        units = [
            np.maximum(sum(weight[:, :, j] @ wide[i + j] for j in range(3)) + bias, 0)
            for i in range(len(x))
        ]
        x = np.mean(units, axis=0) if units else np.zeros(len(bias))
    else:
        x = np.concatenate((words(premise).sum(axis=0), x.sum(axis=0)))
    for i in range(model.shape.layers):
        x = np.maximum(tensors[f"hidden{i}.weight"] @ x + tensors[f"hidden{i}.bias"], 0)
    return tensors["scores.weight"] @ x + tensors["scores.bias"]


@pytest.mark.parametrize("kind", list(Kind))
def test_a_batch_gives_what_one_text_gives_layer_by_layer(kind: Kind) -> None:
    rng = np.random.default_rng(0)
    texts, premises = random_texts(rng, 9), random_texts(rng, 9)
    model = small_network(kind)
    pair = kind is Kind.ENTAILMENT
    network = model.given(bag(*premises)) if pair else model
    result = network.probabilities(bag(*texts))
    for text, premise, probabilities in zip(texts, premises, result, strict=True):
        scores = plain_scores(model, text, premise if pair else None)
        expected = np.exp(scores - scores.max())
        assert probabilities == pytest.approx(expected / expected.sum(), abs=1e-9)


def test_unknown_words_and_padding_change_nothing() -> None:
    model = small_network(Kind.CNN)
    alone = model.probabilities(bag([3, 4]))
    assert model.probabilities(bag([-1, 3, -1, 4], [5] * 9))[0] == pytest.approx(
        alone[0], abs=1e-12
    )
    empty = model.probabilities(bag([], [-1]))
    assert empty[0] == pytest.approx(empty[1], abs=1e-12)
    assert padded(bag([-1, 3], [], [1, 2, -1])).tolist() == [[3, -1], [-1, -1], [1, 2]]


def test_the_box_of_a_word_is_the_smallest_one_around_its_substitutes() -> None:
    model, substitutions = small_network(Kind.CNN), small_substitutions()
    words = np.array([[0, 5, 11, -1], [8, 8, 3, 9]])
    result = places(words, model.tensors, model.vectors, substitutions)
    weight, bias = (model.tensors[f"words.{part}"].numpy() for part in ("weight", "bias"))
    for i, j in np.argwhere(words >= 0):
        allowed = [words[i, j], *substitutions.of(words[i, j])]
        points = model.vectors[allowed].astype(np.float64) @ weight.T + bias
        assert np.allclose(result.words.low[i, j], points.min(axis=0))
        assert np.allclose(result.words.high[i, j], points.max(axis=0))
        assert np.allclose(result.words.value[i, j], points[0])


@pytest.mark.slow
@pytest.mark.parametrize("kind", list(Kind))
def test_a_certified_text_is_never_broken_by_the_attack(kind: Kind) -> None:
    """A float32 network, texts of up to eight words, and an attack without a budget."""
    substitutions, rng = small_substitutions(), np.random.default_rng(0)
    settings = Genetic(population=12, generations=8, share=1.0, tries=3)
    certified = broken = 0
    for seed in range(6):
        model = small_network(kind, seed, double=False)
        for text in random_texts(rng, 12, most=8):
            network = model.given(bag([2, 10])) if kind is Kind.ENTAILMENT else model
            document = bag(text)
            label = int(network.predict(document)[0])
            told = network.certify(document, [label], substitutions)
            result = attack(
                network, from_substitutions(document, substitutions), label, settings, rng
            )
            certified += bool(told.certified[0])
            broken += result.success
            assert not (told.certified[0] and result.success)
    assert certified >= 5  # so that the test can fail,
    assert broken >= 5  # and the attack is one


def test_a_checkpoint_gives_the_same_network(tmp_path: Path) -> None:
    path, lexicon = tmp_path / "net.safetensors", small_lexicon()
    for kind in Kind:
        model = small_network(kind, double=False)
        keep(path, model, lexicon, {"classes": ["a", "b", "c"]}, {"accuracy": 0.5})
        result, checkpoint = recall(path, lexicon)
        assert checkpoint.architecture == str(kind)
        assert checkpoint.settings["classes"] == ["a", "b", "c"]
        premises = bag([1, 2]) if kind is Kind.ENTAILMENT else None
        texts = bag([3, 4], [5])
        same = result.given(premises).probabilities(texts)
        assert np.array_equal(same, model.given(premises).probabilities(texts))
    with pytest.raises(ParameterError, match="another vocabulary"):
        recall(path, small_lexicon(1))


def test_a_checkpoint_of_another_network_is_refused(tmp_path: Path) -> None:
    from dpcore.learn.checkpoint import Checkpoint, save

    path, lexicon = tmp_path / "net.safetensors", small_lexicon()
    other = {"weight": np.zeros(3, np.float32)}
    for settings in ({}, {"shape": {"kind": "cnn"}}, {"shape": 3}):
        save(path, Checkpoint("auto-encoder", settings, other, lexicon.fingerprint, {}))
        with pytest.raises(ParameterError, match="no text network, but 'auto-encoder'"):
            recall(path, lexicon)
    shape = Shape(Kind.CNN, 5, 3).to_json()
    save(path, Checkpoint("cnn", {"shape": shape}, other, lexicon.fingerprint, {}))
    with pytest.raises(ParameterError, match="and the network needs"):
        recall(path, lexicon)


def test_what_does_not_fit_is_refused() -> None:
    model = small_network(Kind.ENTAILMENT)
    texts = bag([1], [2])
    with pytest.raises(ParameterError, match="one premise for all documents or one for each"):
        model.probabilities(texts)
    with pytest.raises(ParameterError, match="got 3 for 2"):
        model.given(bag([1], [2], [3])).probabilities(texts)
    cnn = small_network(Kind.CNN)
    with pytest.raises(ParameterError, match=r"a label in 0\.\.2"):
        cnn.certify(texts, [0, 3], small_substitutions())
    with pytest.raises(ParameterError, match="vectors of 5 coordinates"):
        type(cnn)(cnn.shape, cnn.tensors, np.zeros((WORDS, 4), np.float32))
    other = bag([1])
    with pytest.raises(ParameterError, match="a vocabulary of 13 words"):
        cnn.probabilities(type(other)(np.array([1]), np.array([0, 1]), WORDS + 1))


@pytest.mark.parametrize(
    "wrong",
    [
        {"kind": "lstm"},
        {"dimension": 0},
        {"classes": 1},
        {"hidden": 0},
        {"layers": 0},
        {"dropout": 1.0},
        {"dropout": float("nan")},
    ],
)
def test_shapes_are_checked(wrong: dict[str, Any]) -> None:
    usual: dict[str, Any] = {"kind": Kind.CNN, "dimension": 5, "classes": 3}
    with pytest.raises(ParameterError):
        Shape(**(usual | wrong))
