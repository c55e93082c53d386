import math
from typing import Any

import numpy as np
import pytest

from dpcore.errors import ParameterError
from dpcore.learn.pixeldp import cost as module
from dpcore.learn.pixeldp.cost import step_cost
from dpcore.learn.pixeldp.digits import Place
from dpcore.learn.pixeldp.noise_layer import Accounting
from tests.fixtures import MakeRng


@pytest.mark.parametrize("place", Place)
def test_both_kinds_of_steps_are_timed_side_by_side(rng: MakeRng, place: Place) -> None:
    result = step_cost(place, Accounting.ANALYTIC, 2, 12, rng())
    assert result.without.count == result.with_layer.count == result.ratio.count == 12
    assert 0 < result.without.low <= result.without.median <= result.without.high < 10
    assert result.ratio.low <= result.ratio.median <= result.ratio.high


def test_a_step_that_takes_longer_is_seen(rng: MakeRng, monkeypatch: pytest.MonkeyPatch) -> None:
    """Noise that is drawn 40 times makes the step with the layer, and no other, longer."""
    once: Any = vars(module)["added_noise"]

    def often(layer: Any, clean: Any, generator: np.random.Generator) -> Any:
        for _ in range(40):
            once(layer, clean, generator)
        return once(layer, clean, generator)

    settings = (Place.FIRST_LAYER, Accounting.LAPLACE, 8, 15)
    before = step_cost(*settings, rng())
    monkeypatch.setattr(module, "added_noise", often)
    after = step_cost(*settings, rng())
    assert after.ratio.median > 3 * before.ratio.median
    assert after.without.median < 3 * before.without.median


def test_networks_that_are_timed_learn_alike(rng: MakeRng, monkeypatch: pytest.MonkeyPatch) -> None:
    """The timed function is a training step: the weights move, with and without the layer."""
    import torch

    kept = []
    adam = torch.optim.Adam

    def watched(parameters: Any, **settings: Any) -> Any:
        parameters = list(parameters)
        kept.append((parameters, [p.detach().clone() for p in parameters]))
        return adam(parameters, **settings)

    monkeypatch.setattr(torch.optim, "Adam", watched)
    step_cost(Place.AUTO_ENCODER, Accounting.ANALYTIC, 2, 2, rng())
    plain, layered = (
        [not torch.equal(a, b) for a, b in zip(now, before, strict=True)] for now, before in kept
    )
    assert all(plain)
    assert all(layered)
    assert len(layered) > len(plain)  # the auto-encoder is trained along


@pytest.mark.parametrize("steps", [0, -1, 100_001, math.nan])
def test_steps_outside_the_limits_are_refused(steps: Any) -> None:
    with pytest.raises(ParameterError, match="steps that are timed"):
        step_cost(Place.PICTURE, Accounting.ANALYTIC, 2, steps, np.random.default_rng(0))
