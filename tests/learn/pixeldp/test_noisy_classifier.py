import numpy as np
import pytest
from numpy.typing import NDArray

from dpcore.errors import CorpusError, ParameterError
from dpcore.learn.pixeldp.noise_layer import Accounting, layer_of, train_noisy
from tests.fixtures import MakeRng


def clouds(generator: np.random.Generator) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Two clouds of points, of classes 3 and 8."""
    labels = np.where(np.arange(60) % 2, 8, 3)
    return generator.standard_normal((60, 3)) + 2.0 * (labels == 8)[:, None], labels


@pytest.mark.parametrize("factor", [0.1, 1.0, 50.0])
@pytest.mark.parametrize("accounting", Accounting)
def test_the_scale_is_in_units_of_the_sensitivity(
    rng: MakeRng, factor: float, accounting: Accounting
) -> None:
    """However the first layer is scaled, the same attack means the same amount of noise."""
    layer = layer_of(accounting, 0.3, 1, 3, factor * rng().standard_normal((5, 3)))
    assert layer.scale == pytest.approx(0.3 * layer.sensitivity)


def test_columns_are_the_classes_that_were_seen(rng: MakeRng) -> None:
    inputs, labels = clouds(rng())
    model = train_noisy(layer_of(Accounting.ANALYTIC, 0.2, 2, 3), inputs, labels, rng(1))
    assert model.classes.tolist() == [3, 8]
    places = model.places(labels)
    assert (model.scores(inputs).argmax(axis=1) == places).mean() > 0.8
    with pytest.raises(CorpusError, match="without class 5"):
        model.places([3, 5])


def test_rectified_outputs_do_not_see_what_is_negative(rng: MakeRng) -> None:
    inputs, labels = clouds(rng())
    layer = layer_of(Accounting.ANALYTIC, 0.2, 2, 3)
    plain, rectified = (
        train_noisy(layer, inputs, labels, rng(1), rectified=cut) for cut in (False, True)
    )
    below = -np.abs(rng(2).standard_normal((4, 3)))
    assert np.ptp(rectified.scores(below), axis=0).max() == 0.0
    assert np.ptp(plain.scores(below), axis=0).max() > 0.0


def test_bad_arguments_are_refused(rng: MakeRng) -> None:
    inputs, labels = clouds(rng())
    for scale in (0.0, -1.0, np.inf, np.nan):
        with pytest.raises(ParameterError, match="scale of the noise"):
            layer_of(Accounting.LAPLACE, scale, 1, 3)
    with pytest.raises(ParameterError, match="scale of the noise"):
        layer_of(Accounting.LAPLACE, 1.0, 1, 3, np.zeros((2, 3)))
    with pytest.raises(CorpusError, match="two classes"):
        train_noisy(layer_of(Accounting.LAPLACE, 1.0, 1, 3), inputs, 0 * labels, rng(1))
