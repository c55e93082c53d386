"""The training loop: deterministic, stopped and resumed to the bit, stopped early."""

import dataclasses
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dpcore.errors import ParameterError
from dpcore.learn.tensors import array, device_of, seed_torch, threads, torch_generator
from dpcore.learn.training import Step, Training, fit
from tests import needs

torch = needs.torch()

SETTINGS = Training(epochs=6, batch=8, rate=0.05, clip=1.0, seed=3, threads=1)


class Curve:
    """A small network with dropout on a noisy curve."""

    def __init__(self, seed: int = 0, size: int = 50, fails_at: float | None = None) -> None:
        rng = np.random.default_rng(7)
        draw = torch_generator(np.random.default_rng(seed))
        self.x = torch.from_numpy(rng.normal(size=(size, 3)))
        self.y = torch.sin(self.x.sum(dim=1))
        self.parameters = {
            name: torch.randn(shape, generator=draw, dtype=torch.float64).requires_grad_()
            for name, shape in (("first", (3, 8)), ("second", (8,)))
        }
        self.fails_at = fails_at
        self.rows: list[Any] = []

    @property
    def size(self) -> int:
        return len(self.x)

    def scores(self, x: Any) -> Any:
        return torch.relu(x @ self.parameters["first"]) @ self.parameters["second"]

    def loss(self, rows: Any, step: Step) -> Any:
        if self.fails_at is not None and step.epoch >= self.fails_at:
            raise KeyboardInterrupt
        self.rows.append(rows)
        kept = torch.rand(3, generator=torch_generator(step.rng), dtype=torch.float64) < 0.8
        x, y = self.x[rows], self.y[rows]
        return ((self.scores(x * kept) - y) ** 2).mean()

    def held_out(self, step: Step) -> float:
        with torch.no_grad():
            return float(((self.scores(self.x) - self.y) ** 2).mean())


def bits(task: Curve) -> bytes:
    return b"".join(array(task.parameters[name]).tobytes() for name in sorted(task.parameters))


def test_one_seed_has_one_result_and_leaves_the_global_state_alone() -> None:
    before = torch.random.get_rng_state()
    first, second, other = Curve(), Curve(), Curve()
    told = fit(first, SETTINGS)
    again = fit(second, SETTINGS)
    fit(other, dataclasses.replace(SETTINGS, seed=4))
    assert bits(first) == bits(second) != bits(other)
    assert [epoch.loss for epoch in told.epochs] == [epoch.loss for epoch in again.epochs]
    assert torch.equal(before, torch.random.get_rng_state())
    assert told.seconds > 0


def test_every_example_stands_in_one_batch_of_an_epoch() -> None:
    task = Curve()
    fit(task, SETTINGS)
    per = -(-task.size // SETTINGS.batch)
    for epoch in range(SETTINGS.epochs):
        rows = np.concatenate(task.rows[epoch * per : (epoch + 1) * per])
        assert sorted(rows) == list(range(task.size))
    assert not np.array_equal(np.concatenate(task.rows[:per]), rows)


@pytest.mark.parametrize("stop", [0.5, 1.0, 3.4, 5.8])
def test_a_stopped_run_goes_on_to_the_same_bits(tmp_path: Path, stop: float) -> None:
    whole = Curve()
    told = fit(whole, SETTINGS)
    path = tmp_path / "state.safetensors"
    with pytest.raises(KeyboardInterrupt):
        fit(Curve(fails_at=stop), SETTINGS, state=path, vocabulary="v")
    done = []
    resumed = Curve()
    again = fit(resumed, SETTINGS, state=path, vocabulary="v", progress=lambda *a: done.append(a))
    assert bits(resumed) == bits(whole)
    assert [epoch.held_out for epoch in again.epochs] == [epoch.held_out for epoch in told.epochs]
    assert (again.best, again.stopped) == (told.best, told.stopped)
    batches = -(-whole.size // SETTINGS.batch)
    assert done[0] == ("training", int(stop) * batches + 1, SETTINGS.epochs * batches)


def test_the_best_epoch_is_kept_and_patience_ends_the_run() -> None:
    class Worse(Curve):
        losses = (3.0, 1.0, 2.0, 1.5, 0.1, 0.0)

        def held_out(self, step: Step) -> float:
            self.seen: tuple[bytes, ...] = (*getattr(self, "seen", ()), bits(self))
            return self.losses[len(self.seen) - 1]

    task = Worse()
    told = fit(task, dataclasses.replace(SETTINGS, patience=2))
    assert (told.best, told.stopped, len(told.epochs)) == (1, True, 4)
    assert bits(task) == task.seen[1]
    late = Worse()
    told = fit(late, dataclasses.replace(SETTINGS, patience=2, first=2))
    assert (told.best, told.stopped) == (5, False)
    assert bits(late) == late.seen[5]


def test_a_state_of_another_run_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "state.safetensors"
    fit(Curve(), SETTINGS, state=path)
    for task, settings, vocabulary in (
        (Curve(), dataclasses.replace(SETTINGS, rate=0.1), ""),
        (Curve(size=40), SETTINGS, ""),
        (Curve(), SETTINGS, "another"),
    ):
        with pytest.raises(ParameterError, match="begun with other settings"):
            fit(task, settings, state=path, vocabulary=vocabulary)
    longer = dataclasses.replace(SETTINGS, epochs=8)
    straight, resumed = Curve(), Curve()
    fit(straight, longer)
    assert len(fit(resumed, longer, state=path).epochs) == 8
    assert bits(straight) == bits(resumed)


def test_a_loss_that_is_no_number_is_said() -> None:
    task = Curve()
    task.y[0] = float("nan")
    with pytest.raises(ParameterError, match="the loss of epoch 1 is no number"):
        fit(task, SETTINGS)


@pytest.mark.parametrize(
    "wrong",
    [
        {"epochs": 0},
        {"batch": 0},
        {"rate": float("nan")},
        {"rate": 0.0},
        {"decay": -1.0},
        {"clip": 0.0},
        {"patience": 0},
        {"first": 6},
        {"seed": -1},
        {"threads": 0},
    ],
)
def test_settings_are_checked(wrong: dict[str, Any]) -> None:
    with pytest.raises(ParameterError):
        dataclasses.replace(SETTINGS, **wrong)


def test_no_example_is_refused() -> None:
    with pytest.raises(ParameterError, match="no example"):
        fit(Curve(size=0), SETTINGS)


def test_threads_and_random_state_are_put_back() -> None:
    count = torch.get_num_threads()
    with threads(1):
        assert torch.get_num_threads() == 1
    assert torch.get_num_threads() == count
    before = torch.random.get_rng_state()
    with seed_torch(np.random.default_rng(1)):
        first = torch.rand(3)
    with seed_torch(np.random.default_rng(1)):
        assert torch.equal(first, torch.rand(3))
    assert torch.equal(before, torch.random.get_rng_state())


def test_devices_are_named() -> None:
    assert device_of("cpu").type == "cpu"
    assert device_of("auto").type in ("cpu", "cuda")
    with pytest.raises(ParameterError, match="cpu, cuda or auto, got 'tpu'"):
        device_of("tpu")
    if not torch.cuda.is_available():
        with pytest.raises(ParameterError, match="no CUDA device"):
            device_of("cuda")
