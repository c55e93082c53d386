from typing import Any

import numpy as np
import pytest

from dpcore.errors import CorpusError, MissingPackageError, ParameterError
from dpcore.learn.pixeldp.certified import (
    ABSTAINED,
    Bound,
    certified_accuracy,
    certify,
    draw_scores,
    score_bounds,
)
from dpcore.learn.pixeldp.digits import Digits, Place
from dpcore.learn.pixeldp.noise_layer import Accounting, NoiseLayer
from dpcore.learn.pixeldp.training import Regime, added_noise, train_layer_free, train_pixeldp
from tests.fixtures import MakeRng, Uninstall
from tests.learn.pictures import only

QUICK: dict[str, Any] = {"channels": 3, "epochs": 12}


def certified(model: Any, data: Digits, rng: np.random.Generator, draws: int = 100) -> Any:
    scores = draw_scores(model.scores, model.layer, data.test, draws, rng)
    return certify(model.layer, score_bounds(scores, 0.01, Bound.CLOPPER_PEARSON))


@pytest.mark.slow
@pytest.mark.parametrize("regime", Regime)
@pytest.mark.parametrize("place", Place)
@pytest.mark.parametrize("accounting", [Accounting.ANALYTIC, Accounting.LAPLACE])
def test_its_first_map_stays_within_the_sensitivity(
    few: Digits, rng: MakeRng, accounting: Accounting, place: Place, regime: Regime
) -> None:
    settings = (accounting, 0.2, accounting.norm, rng())
    model = train_pixeldp(*settings, place=place, regime=regime, data=few, **QUICK)
    assert 0.8 < model.layer.sensitivity <= 1 + 1e-5  # weights are float32
    assert model.layer.scale == pytest.approx(0.2 * model.layer.sensitivity)
    outputs = model.layer.clean(few.test)
    assert np.allclose(model.scores(outputs).sum(axis=1), 1.0)


def test_it_learns_and_its_certificates_are_counted_as_others(few: Digits, rng: MakeRng) -> None:
    model = train_pixeldp(Accounting.ANALYTIC, 0.25, 2, rng(), data=few, epochs=30)
    certificates = certified(model, few, rng(1))
    shares = certified_accuracy(certificates, model.places(few.test_labels), [0.0, 0.05, 0.1, 5.0])
    assert shares[0] > 0.5  # guessing gives 0.1
    assert (np.diff(shares) <= 0).all()
    assert shares[-1] == 0.0


@pytest.mark.slow
@pytest.mark.parametrize("place", [Place.FIRST_LAYER, Place.AUTO_ENCODER])
def test_the_regimes_differ_in_what_is_kept(few: Digits, rng: MakeRng, place: Place) -> None:
    """Of one start, what precedes the noise is the same without noise, and moves on with it."""
    kept: list[Any] = [
        train_pixeldp(
            Accounting.ANALYTIC, scale, 2, rng(), place=place, regime=regime, data=few, **QUICK
        ).layer.matrix
        for regime in Regime
        for scale in (0.1, 0.4)
    ]
    assert not np.allclose(kept[0], kept[1])  # joint: the noise shapes the first map
    assert np.array_equal(kept[2], kept[3])  # separate: it does not
    assert not np.allclose(kept[0], kept[2])


def test_training_is_fixed_by_its_generator(few: Digits, rng: MakeRng) -> None:
    first, again, other = (
        train_pixeldp(
            Accounting.LAPLACE, 0.2, 1, rng(key), place=Place.FIRST_LAYER, data=few, **QUICK
        )
        for key in (0, 0, 1)
    )
    assert first.layer.matrix is not None
    assert again.layer.matrix is not None
    assert other.layer.matrix is not None
    outputs = first.layer.clean(few.test)
    assert np.array_equal(first.layer.matrix, again.layer.matrix)
    assert np.array_equal(first.scores(outputs), again.scores(outputs))
    assert not np.array_equal(first.layer.matrix, other.layer.matrix)


def test_it_leaves_the_state_of_torch_alone(few: Digits, rng: MakeRng) -> None:
    import torch

    before, threads = torch.get_rng_state(), torch.get_num_threads()
    train_pixeldp(Accounting.ANALYTIC, 0.2, 2, rng(), data=few, channels=1, epochs=1)
    assert torch.equal(before, torch.get_rng_state())
    assert torch.get_num_threads() == threads


@pytest.mark.parametrize("accounting", [Accounting.ANALYTIC, Accounting.LAPLACE])
def test_gradients_pass_through_the_noise_unchanged(rng: MakeRng, accounting: Accounting) -> None:
    """The derivative at x + Z, which is the derivative with the noise held fixed."""
    import torch

    layer = NoiseLayer(accounting, 0.5, accounting.norm, 4)
    x = torch.from_numpy(rng().standard_normal((3, 4))).requires_grad_()
    noisy = added_noise(layer, x, rng(1))
    noisy.pow(3).sum().backward()
    assert x.grad is not None
    assert np.allclose(x.grad, 3 * noisy.detach() ** 2)
    drawn = layer.noisy(np.zeros((3, 4)), rng(1))
    assert np.allclose(noisy.detach() - x.detach(), drawn)
    step = 1e-5
    for place in np.ndindex(3, 4):
        change = np.zeros((3, 4))
        change[place] = step
        ends = [((x.detach().numpy() + s * change + drawn) ** 3).sum() for s in (1, -1)]
        assert float(x.grad[place]) == pytest.approx((ends[0] - ends[1]) / (2 * step), rel=1e-5)


def test_the_layer_free_network_is_the_same_without_noise(few: Digits, rng: MakeRng) -> None:
    result = train_layer_free(rng(), data=few, epochs=30).predict_proba(few.test)
    assert result.shape == (40, 10)
    assert (result.argmax(axis=1) == few.test_labels).mean() > 0.7


def test_a_class_that_is_missing_is_named(few: Digits, rng: MakeRng) -> None:
    some = only(few, 0, 1, 7)
    model = train_pixeldp(Accounting.ANALYTIC, 0.2, 2, rng(), data=some, **QUICK)
    assert model.classes.tolist() == [0, 1, 7]
    assert model.scores(some.test).shape == (len(some.test), 3)
    with pytest.raises(CorpusError, match="without class 5"):
        model.places([0, 5])
    with pytest.raises(CorpusError, match="at least two classes"):
        train_pixeldp(Accounting.ANALYTIC, 0.2, 2, rng(), data=only(few, 4), **QUICK)


@pytest.mark.slow
@pytest.mark.parametrize("place", Place)
def test_one_picture_alone_is_predicted(few: Digits, rng: MakeRng, place: Place) -> None:
    pair = [int(np.flatnonzero(few.train_labels == label)[0]) for label in (0, 1)]
    tiny = Digits(few.train[pair], few.train_labels[pair], few.train[pair[:1]], np.array([0]))
    model = train_pixeldp(Accounting.ANALYTIC, 0.05, 2, rng(), place=place, data=tiny, epochs=100)
    certificates = certified(model, tiny, rng(1), 300)
    assert certificates.classes.tolist() == [0]
    assert certificates.sizes[0] > 0


def test_noise_that_drowns_everything_certifies_nothing(few: Digits, rng: MakeRng) -> None:
    model = train_pixeldp(Accounting.ANALYTIC, 50.0, 2, rng(), data=few, **QUICK)
    certificates = certified(model, few, rng(1))
    assert (certificates.classes == ABSTAINED).all()
    for limits in (certificates.sizes, certificates.tight, certificates.slides):
        assert not limits.any()
    assert not certified_accuracy(certificates, few.test_labels, [0.0]).any()


def test_bad_arguments_are_refused(few: Digits, rng: MakeRng) -> None:
    for scale in (0.0, -1.0, np.nan):
        with pytest.raises(ParameterError, match="scale of the noise"):
            train_pixeldp(Accounting.ANALYTIC, scale, 2, rng(), data=few)
    for channels in (0, 513):
        with pytest.raises(ParameterError, match="1 to 512 channels"):
            train_pixeldp(Accounting.ANALYTIC, 0.2, 2, rng(), data=few, channels=channels)
    with pytest.raises(ParameterError, match="maximum over signs in every step"):
        train_pixeldp(Accounting.LAPLACE, 0.2, 2, rng(), place=Place.FIRST_LAYER, data=few)


def test_without_torch_it_says_what_to_install(
    few: Digits, rng: MakeRng, uninstalled: Uninstall
) -> None:
    uninstalled("torch")
    with pytest.raises(MissingPackageError, match=r"pip install -r requirements-learn\.txt"):
        train_pixeldp(Accounting.ANALYTIC, 0.2, 2, rng(), data=few)
