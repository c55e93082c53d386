"""Training of the reader: its examples, the same network in torch, and learning."""

import json
from pathlib import Path

import numpy as np
import pytest

from dpcore.attack.language import reader_training
from dpcore.attack.language.reader_training import (
    ReaderPlan,
    build_reader,
    cut,
    forward,
    pseudo_perplexity,
    sampled_loss,
    train,
)
from dpcore.errors import MissingPackageError, ParameterError
from dpcore.lexicon.catalogue import load
from dpcore.lexicon.masked_model import SPECIAL, Reader
from tests import needs
from tests.fixtures import Uninstall
from tests.lexicon.masked_models import random_reader


def test_sentences_are_cut_between_boundaries() -> None:
    tokens = np.array([0, 1, -1, 2, 3, 4, 0, 1, 2, 5])
    parts = cut(tokens, np.array([0, 0, 0, 0, 0, 0, 1, 1, 1, 2]), 5, 6)
    # The rest of the first sentence and the third have too few words.
    assert [part.tolist() for part in parts] == [[6, 0, 1, 7, 2], [6, 0, 1, 2, 6]]


def test_torch_reads_as_numpy_does() -> None:
    torch = needs.torch()
    reader = random_reader(0)
    weights = {name: torch.tensor(array) for name, array in reader.weights.items()}
    tokens = np.random.default_rng(1).integers(0, 10 + SPECIAL, (4, 6))
    states = forward(weights, reader.heads, torch.tensor(reader.embedded(tokens)))
    table = weights["embedding"][: reader.size]
    scores = states @ weights["lower"] @ table.T + weights["bias"]
    for place in range(6):
        ours = reader.logits(reader.embedded(tokens), np.full(4, place))
        assert ours == pytest.approx(scores[:, place].numpy(), rel=1e-4, abs=1e-4)


def test_the_sampled_loss_of_every_word_once_is_the_whole_one() -> None:
    torch = needs.torch()
    weights = {name: torch.tensor(array) for name, array in random_reader(2).weights.items()}
    states, words = torch.randn(5, 8, generator=torch.manual_seed(0)), torch.arange(5)
    scores = states @ weights["lower"] @ weights["embedding"][:10].T + weights["bias"]
    whole = torch.nn.functional.cross_entropy(scores, words)
    loss = sampled_loss(weights, states, words, torch.arange(10), torch.zeros(10))
    assert float(loss) == pytest.approx(float(whole), rel=1e-5)


@pytest.mark.slow
def test_a_network_learns_what_stands_beside_what() -> None:
    """Word i is next to word i + 4 alone: a reader names the other, whose chance was 1/8."""
    needs.torch()
    rng = np.random.default_rng(3)
    first = rng.integers(0, 4, 400)
    parts = [np.array([8, a, a + 4, a, 8]) for a in first]
    plan = ReaderPlan(rank=6, width=16, heads=2, longest=6, steps=150, tokens=200, others=64)
    kept: list[Reader] = []
    reader = train(rng.standard_normal((8, 5)), parts, [1] * 400, plan, kept.append)
    assert not kept  # a copy comes every 250 steps
    tokens = np.array([[8, a, 10, a, 8] for a in range(4)])
    assert reader.logits(reader.embedded(tokens), np.full(4, 2)).argmax(axis=1).tolist() == [
        4, 5, 6, 7,
    ]  # fmt: skip


def test_a_network_that_says_nothing_is_as_perplexed_as_there_are_words() -> None:
    class Uniform:
        def after(self, word: int) -> np.ndarray:
            return np.full(11, 1 / 11)

        def before(self, word: int) -> np.ndarray:
            return np.ones(11)

    reader = random_reader(4)
    nothing = {"lower": np.zeros((8, 3), np.float32), "bias": np.zeros(10, np.float32)}
    silent = Reader({**reader.weights, **nothing}, 2)
    said = pseudo_perplexity(silent, Uniform(), [np.array([10, 1, 11, 2, 10])])  # type: ignore[arg-type]
    assert said["tokens"] == 2
    assert said["pseudo_perplexity"] == pytest.approx(10, rel=1e-5)
    assert said["pseudo_perplexity_bigram"] == pytest.approx(10)


@pytest.mark.parametrize("steps", [0, 1_000_001])
def test_a_plan_has_steps(steps: int) -> None:
    with pytest.raises(ParameterError, match="1 to 1,000,000"):
        ReaderPlan(steps=steps)


def test_without_torch_training_says_what_to_install(
    uninstalled: Uninstall, tmp_path: Path
) -> None:
    uninstalled("torch")
    with pytest.raises(MissingPackageError, match="requirements-learn"):
        build_reader(load(), tmp_path, tmp_path, ReaderPlan())


@pytest.mark.slow
def test_a_build_writes_network_and_manifest(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    needs.torch()
    words = load().words[:60]
    lines = [" ".join(words[(i + j) % 60] for j in range(6)) for i in range(60)]
    monkeypatch.setattr(reader_training, "sources_of", lambda *_: [([lines], 2)])
    monkeypatch.setattr(reader_training, "held_out_sentences", lambda _: lines[:3])
    monkeypatch.setattr(reader_training, "used_sources", lambda *_: [])
    monkeypatch.setattr(reader_training, "_FITTED", 1)
    plan = ReaderPlan(rank=4, width=8, heads=2, longest=12, steps=2, tokens=60, others=32)
    manifest = build_reader(load(), tmp_path, tmp_path, plan)
    assert manifest == json.loads((tmp_path / "reader.json").read_text(encoding="utf-8"))
    assert manifest["exponent"] in reader_training.EXPONENTS
    assert manifest["held_out"]["tokens"] > 0
    assert manifest["files"]["reader.npz"]["bytes"] == (tmp_path / "reader.npz").stat().st_size
