"""Recorded draws: what is noted, that numbers keep their laws, and that all is put back.

False-alarm probability of each randomised assertion: 1e-6.
"""

import copy
import os
import secrets
import uuid
from concurrent.futures import ThreadPoolExecutor
from importlib import import_module
from typing import Any

import numpy as np
import pytest

from dpcore.audit.blackbox.recording import Tape, TooManyDrawsError, _replacements, recording
from dpcore.errors import ParameterError
from dpcore.testing.chance import assert_law, assert_same_law

PYTHON: Any = import_module("random")
NUMPY: Any = import_module("numpy.random")
LAW = np.array([0.5, 0.25, 0.2, 0.05, 0.0])


def noted(tape: Tape, draw: Any) -> tuple[Any, list[str]]:
    with recording(tape):
        result = draw()
    return result, [each.kind for each in tape.draws]


@pytest.mark.parametrize(
    ("draw", "kind"),
    [
        (lambda: np.random.default_rng(1).laplace(0, 2), "Generator.laplace"),
        (lambda: np.random.Generator(np.random.PCG64(1)).choice(5, p=LAW), "Generator.choice"),
        (lambda: np.random.Generator(np.random.Philox(1)).spawn(2)[0].random(), "Generator.random"),
        (lambda: copy.deepcopy(np.random.default_rng(1)).normal(), "Generator.normal"),
        (lambda: NUMPY.RandomState(1).randint(5), "RandomState.randint"),
        (lambda: NUMPY.laplace(0, 1), "RandomState.laplace"),
        (lambda: NUMPY.choice(5), "RandomState.choice"),
        (lambda: PYTHON.random(), "random.random"),
        (lambda: PYTHON.sample(range(9), 2), "random.sample"),
        (lambda: PYTHON.Random(1).gauss(0, 1), "random.gauss"),
        (lambda: PYTHON.SystemRandom().random(), "os.urandom"),
        (lambda: secrets.choice("abc"), "secrets.choice"),
        (lambda: secrets.randbelow(9), "secrets.randbelow"),
        (lambda: os.urandom(3), "os.urandom"),
        (lambda: uuid.uuid4().hex, "os.urandom"),
    ],
)
def test_a_call_is_one_draw_and_equal_tapes_repeat_it(draw: Any, kind: str) -> None:
    first, kinds = noted(Tape(1, 2), draw)
    assert kinds == [kind]
    assert noted(Tape(1, 2), draw)[0] == first


@pytest.mark.parametrize(
    "draw",
    [
        lambda: np.random.default_rng().random(),
        lambda: np.random.Generator(np.random.SFC64()).random(),
        lambda: NUMPY.rand(),
        lambda: NUMPY.RandomState().rand(),
        lambda: PYTHON.random(),
        lambda: PYTHON.Random().random(),
        lambda: PYTHON.SystemRandom().random(),
        lambda: secrets.token_hex(),
        lambda: os.urandom(9),
        lambda: uuid.uuid4(),
    ],
)
def test_noise_without_a_seed_is_that_of_the_tape(draw: Any) -> None:
    assert noted(Tape(1), draw)[0] == noted(Tape(1), draw)[0] != noted(Tape(2), draw)[0]


def test_arguments_are_noted_by_name_with_their_defaults() -> None:
    tape = Tape(1, watched=frozenset({"zorb"}))
    with recording(tape):
        rng = np.random.default_rng(1)
        rng.laplace(scale=2.0)
        rng.choice(["zorb", "a"], p=[0.5, 0.5])
        PYTHON.choices(["a", "b"], [1, 2], k=3)
    laplace, choice, choices = tape.draws
    assert {name: value.text for name, value in laplace.arguments.items()} == {
        "loc": "0.0", "scale": "2.0", "size": "None",
    }  # fmt: skip
    assert choice.arguments["a"].held == {"zorb"}
    assert choice.arguments["a"].size == 2
    assert choices.numbers == 3
    assert laplace.where.startswith("test_recording.py:")


def test_everything_is_put_back_also_after_an_error() -> None:
    places = [(module, name, getattr(module, name)) for module, name, _ in _replacements()]
    state = PYTHON.getstate()
    legacy = NUMPY.get_state()[1].copy()

    def fails() -> None:
        PYTHON.seed(0)
        NUMPY.rand()
        assert NUMPY.default_rng is not places[0][2]
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt), recording(Tape(1)):
        fails()
    assert all(getattr(module, name) is original for module, name, original in places)
    assert PYTHON.getstate() == state
    assert (NUMPY.get_state()[1] == legacy).all()
    with recording(Tape(1)):
        kept = np.random.default_rng(1)
        with pytest.raises(ParameterError, match="cannot be nested"), recording(Tape(2)):
            pass
        assert isinstance(kept, np.random.Generator)
    # A generator that somebody keeps goes on as any other.
    assert isinstance(kept, np.random.Generator)
    assert kept.random() == np.random.default_rng(1).random()


def test_another_thread_keeps_the_entropy_of_the_operating_system() -> None:
    """A server that audits a function in one thread may release private texts in another."""

    def drawn() -> list[Any]:
        return [
            os.urandom(8), secrets.token_bytes(8), PYTHON.random(), PYTHON.Random().random(),
            np.random.default_rng().random(), NUMPY.rand(), uuid.uuid4(),
        ]  # fmt: skip

    def elsewhere() -> list[Any]:
        with ThreadPoolExecutor(1) as pool:
            return pool.submit(drawn).result()

    tapes = [Tape(1), Tape(1)]
    here, there = [], []
    for tape in tapes:
        with recording(tape):
            there.append(elsewhere())
            here.append(drawn())
    assert here[0] == here[1]
    assert all(a != b for a, b in zip(*there, strict=True))
    assert len(tapes[0].draws) == len(here[0])  # of this thread alone


def test_old_generators_pass_checks_of_their_class() -> None:
    old = (np.random.default_rng(1), NUMPY.RandomState(1), PYTHON.Random(1))
    with recording(Tape(1)):
        assert isinstance(old[0], np.random.Generator)
        assert isinstance(old[1], NUMPY.RandomState)
        assert isinstance(old[2], PYTHON.Random)
        assert not isinstance(old[0], NUMPY.RandomState)
        assert np.random.default_rng(old[0]) is old[0]


@pytest.mark.slow
def test_numbers_of_a_tape_have_their_law() -> None:
    """One number of each of many tapes: what is compared across noises is a fair sample."""
    numbers = []
    for seed in range(2000):
        with recording(Tape(seed)):
            numbers.append(int(np.random.default_rng().choice(5, p=LAW)))
    assert_law(numbers, LAW)
    other = []
    for seed in range(2000):
        with recording(Tape(seed)):
            other.append(PYTHON.choices(range(5), LAW.tolist())[0])
    assert_same_law(numbers, other)


@pytest.mark.parametrize(
    ("draw", "low", "high", "edge"),
    [
        (lambda rng: rng.random(200), 0, np.nextafter(1, 0), (1e-6, 1 - 1e-6)),
        (lambda rng: rng.uniform(-2, 3, 200), -2, 3, (-2 + 1e-4, 3 - 1e-4)),
        (lambda rng: rng.integers(3, 90, 400), 3, 89, (3, 89)),
        (lambda rng: rng.integers(0, 2**64, 200, np.uint64), 0, 2**64 - 1, (2**50, 2**64 - 2**50)),
        (lambda rng: rng.laplace(5, 1, 200), -1e12, 1e12, (-1000, 1000)),
        (lambda rng: rng.gumbel(0, 1, 200), -1e12, 1e12, (-1000, 1000)),
        (lambda rng: rng.gamma(3, 1, 200), 0, 1e12, (1e-3, 1000)),
        (lambda rng: rng.binomial(9, 1e-9, 200), 0, 9, (0, 9)),
    ],
)
def test_far_numbers_reach_the_ends_of_their_law_and_stay_within(
    draw: Any, low: float, high: float, edge: tuple[float, float]
) -> None:
    with recording(Tape(3, far=True)):
        numbers = draw(np.random.default_rng())
    assert (low <= numbers).all()
    assert (numbers <= high).all()
    assert numbers.min() <= edge[0]
    assert numbers.max() >= edge[1]


def test_a_far_choice_takes_all_that_is_possible_and_nothing_else() -> None:
    with recording(Tape(3, far=True)):
        rng = np.random.default_rng()
        law = np.array([1 - 3e-9, 1e-9, 0.0, 2e-9])
        assert set(rng.choice(4, 400, p=law).tolist()) == {0, 1, 3}
        assert {rng.choice(list("abcd"), p=law) for _ in range(200)} == set("abd")
        assert set(PYTHON.choices("abcd", law.tolist(), k=400)) == set("abd")
        assert isinstance(rng.choice(4, p=law), int | np.integer)
        assert type(PYTHON.random()) is float
        assert len(rng.bytes(8)) == len(secrets.token_bytes(8)) == 8
        assert 0 <= PYTHON.getrandbits(10) < 1024
        assert {PYTHON.randint(1, 3) for _ in range(90)} == {1, 2, 3}


def test_a_generator_with_a_seed_of_the_program_keeps_its_numbers() -> None:
    first, again = Tape(1), Tape(2)
    numbers = []
    for tape in (first, again):
        with recording(tape):
            numbers.append(np.random.default_rng(8).normal(size=9).tolist())
            np.random.default_rng().normal()
    fixed = frozenset(first.starts) & frozenset(again.starts)
    assert len(fixed) == 1
    with recording(Tape(3, far=True, fixed=fixed)):
        numbers.append(np.random.default_rng(8).normal(size=9).tolist())
        assert abs(np.random.default_rng().normal(size=90)).max() > 100
    assert numbers[0] == numbers[1] == numbers[2]


def test_a_loop_without_end_is_stopped(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dpcore.audit.blackbox.recording._MOST_DRAWS", 100)

    def forever() -> None:
        while True:
            PYTHON.random()

    with recording(Tape(1)), pytest.raises(TooManyDrawsError):
        forever()
