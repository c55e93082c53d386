import numpy as np
import pytest

from dpcore.errors import ParameterError
from dpcore.learn import adept as adept_network
from dpcore.learn.adept import Shape, build, clip, decode, encode, teacher_forced
from dpcore.optional import torch
from tests.fixtures import MakeRng
from tests.learn.adept_cases import TEXTS, shared


def test_an_utterance_has_one_vector_in_every_batch() -> None:
    """The empty places of a short utterance come before it, whatever else is there."""
    model = shared()[0]
    together = model.latents(TEXTS)
    for place in (0, 7, 35):
        np.testing.assert_allclose(model.latents([TEXTS[place]])[0], together[place], atol=1e-6)
    wider = torch().from_numpy(np.pad(model.vocabulary.rows(TEXTS), ((0, 0), (0, 1))))
    assert wider.shape[1] == model.vocabulary.longest + 2


def test_the_order_of_the_words_counts() -> None:
    model = shared()[0]
    first, second = model.latents(["flights to lima today", "today lima to flights"])
    assert np.abs(first - second).max() > 0.05


def test_clipping_keeps_what_is_short_and_shortens_the_rest() -> None:
    rows = torch().tensor([[3.0, 4.0], [0.3, 0.4], [0.0, 0.0]])
    np.testing.assert_allclose(clip(rows).numpy(), [[0.6, 0.8], [0.3, 0.4], [0.0, 0.0]], rtol=1e-6)


def test_the_decoder_writes_what_teaching_it_its_own_words_would_choose() -> None:
    """Decoding step by step equals one pass over the words that it wrote itself."""
    model = shared()[0]
    latents = torch().from_numpy(np.random.default_rng(5).standard_normal((20, 6)).astype("f4"))
    with torch().no_grad():
        written = decode(model.network, latents, 9)
        shown = torch().zeros_like(written, dtype=torch().bool)
        again = teacher_forced(model.network, latents, written, shown).argmax(dim=2)
    assert torch().equal(written, again)


def test_hidden_words_are_not_seen() -> None:
    model = shared()[0]
    rows = torch().from_numpy(model.vocabulary.rows([TEXTS[0], TEXTS[20]]))
    other = rows.clone()
    other[:, 0] = other[:, 0].flip(0)
    latents = torch().zeros(2, 6)
    with torch().no_grad():
        for hidden in (False, True):
            mask = torch().full_like(rows, hidden, dtype=torch().bool)
            both = [teacher_forced(model.network, latents, words, mask) for words in (rows, other)]
            assert torch().equal(*both) == hidden


def test_a_start_is_drawn_from_the_generator_alone(rng: MakeRng) -> None:
    torch().manual_seed(1)
    before = torch().random.get_rng_state()
    first, second, third = (build(Shape(4, 5, 3), 9, rng(key)) for key in (1, 1, 2))
    assert torch().equal(before, torch().random.get_rng_state())
    pairs = [dict(network.named_parameters()) for network in (first, second, third)]
    assert all(torch().equal(pairs[0][name], pairs[1][name]) for name in pairs[0])
    assert not torch().equal(pairs[0]["choice.weight"], pairs[2]["choice.weight"])
    rows = torch().tensor([[4, 5, 1, 0]])
    assert encode(first, rows).shape == (1, 3)


@pytest.mark.parametrize("name", ["embedding", "hidden", "latent"])
def test_sizes_are_checked(name: str) -> None:
    for value in (0, 5_000):
        with pytest.raises(ParameterError, match=f"{name} must be a whole number"):
            Shape(**{name: value})
    assert adept_network.CLIP == 1.0
