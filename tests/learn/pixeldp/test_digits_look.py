"""Looking at one picture: the picture, its decoded code, or the units of the first layer."""

from typing import Any

import numpy as np
import pytest
from sklearn.decomposition import PCA

from dpcore.learn.pixeldp.digits import Place, digits, first_layer
from dpcore.learn.pixeldp.digits_look import look_at
from dpcore.learn.pixeldp.noise_layer import Accounting
from dpcore.learn.pixeldp.noisy_classifier import layer_of

DATA = digits()


def layer_at(place: Place) -> Any:
    matrix = first_layer(place, DATA, np.random.default_rng(0))
    return layer_of(Accounting.ANALYTIC, 0.25, 2.0, 64, matrix)


def test_a_picture_is_shown_as_it_is_and_with_the_noise_of_the_layer() -> None:
    seen = look_at(layer_at(Place.PICTURE), Place.PICTURE, DATA.test[7], np.random.default_rng(1))
    assert (seen.clean.ravel() == DATA.test[7]).all()
    noise = (seen.noisy - seen.clean).ravel()
    expected = 0.25 * np.random.default_rng(1).standard_normal((1, 64)).ravel()
    np.testing.assert_allclose(noise, expected, rtol=0, atol=1e-12)


def test_the_code_is_decoded_as_principal_components_do() -> None:
    place = Place.AUTO_ENCODER
    seen = look_at(layer_at(place), place, DATA.test[7], np.random.default_rng(1))
    components = PCA(32, svd_solver="full").fit(DATA.train)
    wanted = components.inverse_transform(components.transform(DATA.test[[7]]))
    np.testing.assert_allclose(seen.clean.ravel(), wanted[0], atol=1e-9)
    assert np.abs(seen.noisy - seen.clean).max() > 0.05


def test_the_units_of_the_first_layer_are_rectified() -> None:
    place = Place.FIRST_LAYER
    layer: Any = layer_at(place)
    seen = look_at(layer, place, DATA.test[7], np.random.default_rng(1))
    assert seen.clean.shape == (4, 8)
    np.testing.assert_allclose(seen.clean.ravel(), np.maximum(layer.matrix @ DATA.test[7], 0))
    assert seen.noisy.min() == 0
    with pytest.raises(ValueError, match="read-only"):
        seen.clean[0, 0] = 1
