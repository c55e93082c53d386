"""Bounds hold every outcome, exhaustively; their gradients are those of finite differences."""

import itertools
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

from dpcore.learn.text_network.network import (
    Bounded,
    Kind,
    affine,
    convolved,
    joined,
    least_margins,
    relu,
    scaled,
    summed,
)
from tests import needs
from tests.learn.networks import bag, random_texts, small_network, small_substitutions

torch = needs.torch()

SLACK = 1e-9  # float64 rounding of sums of a few dozen terms of size up to about 100


def box(rng: np.random.Generator, *shape: Any) -> Any:
    low = torch.from_numpy(rng.normal(size=shape))
    high = low + torch.from_numpy(rng.exponential(size=shape))
    return Bounded(low + 0.3 * (high - low), low, high)


def corners(x: Any) -> Iterator[Any]:
    """Random points of the box, half of them corners."""
    rng = np.random.default_rng(1)
    for i in range(200):
        share = rng.random(x.value.shape)
        share = torch.from_numpy(share.round() if i % 2 else share)
        yield x.low + share * (x.high - x.low)


OPERATIONS: dict[str, Callable[..., Callable[..., Any]]] = {
    "affine": lambda x, rng: (lambda w, b: lambda y: affine(y, w, b))(
        torch.from_numpy(rng.normal(size=(6, 4))), torch.from_numpy(rng.normal(size=6))
    ),
    "convolved": lambda x, rng: (lambda w, b: lambda y: convolved(y, w, b))(
        torch.from_numpy(rng.normal(size=(6, 4, 3))), torch.from_numpy(rng.normal(size=6))
    ),
    "relu": lambda x, rng: relu,
    "scaled": lambda x, rng: lambda y: scaled(y, torch.tensor([0.0, 1.0, 2.0, 0.5])),
    "summed": lambda x, rng: lambda y: summed(y, 1),
    "joined": lambda x, rng: lambda y: joined(y, Bounded(torch.ones(2, 5, 3).double())),
}


@pytest.mark.parametrize("name", OPERATIONS)
def test_each_layer_holds_every_outcome(name: str) -> None:
    rng = np.random.default_rng(0)
    x = box(rng, 2, 5, 4)
    change = OPERATIONS[name](x, rng)
    result = change(x)
    assert torch.equal(result.value, change(Bounded(x.value)).value)
    for point in corners(x):
        value = change(Bounded(point)).value
        assert (value >= result.low - SLACK).all()
        assert (value <= result.high + SLACK).all()


def test_the_bounds_of_an_affine_map_are_reached() -> None:
    rng = np.random.default_rng(0)
    x = box(rng, 1, 4)
    weight, bias = torch.from_numpy(rng.normal(size=(3, 4))), torch.zeros(3).double()
    result = affine(x, weight, bias)
    for i in range(3):
        worst = torch.where(weight[i] > 0, x.low, x.high)
        assert float(affine(Bounded(worst), weight, bias).value[0, i]) == pytest.approx(
            float(result.low[0, i]), abs=1e-12
        )


def test_the_margin_is_exact_for_a_box_and_never_below_the_difference_of_bounds() -> None:
    rng = np.random.default_rng(0)
    x = box(rng, 3, 4)
    weight, bias = torch.from_numpy(rng.normal(size=(5, 4))), torch.from_numpy(rng.normal(size=5))
    labels = torch.tensor([0, 3, 4])
    result = least_margins(x, weight, bias, labels)
    scores = affine(x, weight, bias)
    for i, label in enumerate(labels.tolist()):
        assert result[i, label] == 0
        for other in set(range(5)) - {label}:
            apart = weight[label] - weight[other]
            worst = torch.where(apart > 0, x.low[i], x.high[i])
            exact = float(worst @ apart + bias[label] - bias[other])
            assert float(result[i, other]) == pytest.approx(exact, abs=1e-12)
            assert exact >= float(scores.low[i, label] - scores.high[i, other]) - SLACK


def test_a_narrowed_box_lies_between_the_value_and_the_box() -> None:
    x = box(np.random.default_rng(0), 2, 3)
    for share in (0.0, 0.4, 1.0):
        result = x.narrowed(share)
        assert torch.equal(result.value, x.value)
        assert torch.allclose(result.value - result.low, share * (x.value - x.low))
        assert torch.allclose(result.high - result.value, share * (x.high - x.value))


@pytest.mark.parametrize("kind", list(Kind))
def test_every_allowed_text_of_short_texts_is_inside(kind: Kind) -> None:
    """All of them: 9 words with up to 3 choices in up to 4 places."""
    substitutions = small_substitutions()
    rng = np.random.default_rng(3)
    checked = 0
    for seed in range(4):
        model = small_network(kind, seed)
        premises = bag([1, 2, 11]) if kind is Kind.ENTAILMENT else None
        model = model.given(premises)
        for text in random_texts(rng, 8):
            box = model.last(bag(text), substitutions)
            options = [[word, *substitutions.of(word)] if word >= 0 else [word] for word in text]
            texts = bag(*map(list, itertools.product(*options)))
            last = model.last(texts).value
            assert (last >= box.low - SLACK).all()
            assert (last <= box.high + SLACK).all()
            scores = model.scored(last)
            for label in range(3):
                told = model.certify(bag(text), [label], substitutions)
                others = [c for c in range(3) if c != label]
                margins = scores[:, [label]] - scores[:, others]
                assert float(margins.min()) >= told.margins[0] - SLACK
                if told.certified[0]:
                    assert (model.predict(texts) == label).all()
                checked += bool(told.certified[0])
    assert checked >= 5


@pytest.mark.parametrize("kind", list(Kind))
def test_gradients_of_the_bounds_are_those_of_finite_differences(kind: Kind) -> None:
    substitutions = small_substitutions()
    model = small_network(kind, 5)
    if kind is Kind.ENTAILMENT:
        model = model.given(bag([3], [4, 5]))
    texts, labels = bag([0, 3, 7], [8, 2]), torch.tensor([0, 2])
    tensors = {name: x.clone().requires_grad_() for name, x in model.tensors.items()}

    def objective(values: dict[str, Any]) -> Any:
        network = type(model)(model.shape, values, model.vectors, model.premises)
        box = network.last(texts, substitutions, 0.7)
        margins = least_margins(box, values["scores.weight"], values["scores.bias"], labels)
        loss = torch.nn.functional.cross_entropy(-margins, labels)
        return loss + (box.high - box.low).sum() / 50 + box.value.sum() / 50

    objective(tensors).backward()
    rng = np.random.default_rng(0)
    step = 1e-6
    for name, tensor in tensors.items():
        for _ in range(6):
            direction = torch.from_numpy(rng.normal(size=tuple(tensor.shape)))
            ends = []
            for sign in (1, -1):
                moved = {**tensors, name: tensor.detach() + sign * step * direction}
                with torch.no_grad():
                    ends.append(float(objective(moved)))
            slope = (ends[0] - ends[1]) / (2 * step)
            assert float((tensor.grad * direction).sum()) == pytest.approx(
                slope, rel=1e-5, abs=1e-6
            )
