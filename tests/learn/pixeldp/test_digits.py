import numpy as np
import pytest
from scipy import stats
from sklearn.decomposition import PCA

from dpcore.errors import CorpusError, ParameterError
from dpcore.learn.pixeldp.certified import (
    ABSTAINED,
    Bound,
    certified_accuracy,
    certify,
    draw_scores,
    score_bounds,
)
from dpcore.learn.pixeldp.digits import (
    Digits,
    Place,
    digits,
    first_layer,
    look_at,
    picture_of,
    picture_text,
    train_digits,
)
from dpcore.learn.pixeldp.noise_layer import Accounting, NoiseLayer, layer_of
from tests.fixtures import MakeRng
from tests.learn.pictures import only

ATTACKS = 10_000
DATA = digits()


def test_pictures_are_divided_and_scaled() -> None:
    data = digits()
    assert data.train.shape == (1347, 64)
    assert data.test.shape == (450, 64)
    assert data.train.min() == 0.0
    assert data.train.max() == 1.0
    assert set(data.test_labels.tolist()) == set(range(10))


@pytest.mark.parametrize("place", Place)
def test_noise_is_measured_in_shifts_of_the_picture(
    few: Digits, rng: MakeRng, place: Place
) -> None:
    model = train_digits(Accounting.ANALYTIC, 0.25, 2, rng(), place=place, data=few)
    assert model.layer.scale == pytest.approx(0.25 * model.layer.sensitivity)
    scores = draw_scores(model.scores, model.layer, few.test, 100, rng(1))
    certificates = certify(model.layer, score_bounds(scores, 0.01, Bound.CLOPPER_PEARSON))
    labels = model.places(few.test_labels)
    shares = certified_accuracy(certificates, labels, [0.0, 0.05, 0.1, 5.0])
    assert shares[0] > 0.5  # guessing gives 0.1
    assert (np.diff(shares) <= 0).all()
    assert shares[-1] == 0.0


def test_training_is_fixed_by_its_generator(few: Digits, rng: MakeRng) -> None:
    first, again = (
        train_digits(Accounting.LAPLACE, 0.3, 1, rng(), place=Place.FIRST_LAYER, data=few)
        for _ in range(2)
    )
    outputs = first.layer.clean(few.test)
    assert np.array_equal(first.scores(outputs), again.scores(outputs))


def test_first_layers_are_linear_maps_of_pictures(few: Digits, rng: MakeRng) -> None:
    assert first_layer(Place.PICTURE, few, rng()) is None
    encoder = first_layer(Place.AUTO_ENCODER, few, rng())
    assert encoder is not None
    assert np.allclose(encoder @ encoder.T, np.eye(len(encoder)))  # so that Δ_{2,2} = 1
    assert first_layer(Place.FIRST_LAYER, few, rng()).shape[1] == 64


def test_attacks_within_the_certificate_never_change_the_prediction(
    few: Digits, rng: MakeRng
) -> None:
    """Threes against eights: the share of votes is known exactly, and so is the best attack."""
    data = only(digits(), 3, 8)
    model = train_digits(Accounting.ANALYTIC, 0.5, 2, rng(), data=data)
    scores = draw_scores(model.scores, model.layer, data.test, 400, rng(1))
    certificates = certify(model.layer, score_bounds(scores, 1e-9, Bound.CLOPPER_PEARSON))
    kept = certificates.classes != ABSTAINED
    assert kept.sum() > 20
    # ln of the odds is linear in the picture: w·x + c.
    base = np.zeros((1, 64))
    corners = np.concatenate((base, np.eye(64)))
    odds = np.log(model.scores(corners)[:, 1]) - np.log(model.scores(corners)[:, 0])
    w, c = odds[1:] - odds[0], odds[0]
    generator = rng(2)
    each = ATTACKS // int(kept.sum()) + 1
    for x, label, size in zip(
        data.test[kept], certificates.classes[kept], certificates.tight[kept], strict=True
    ):
        attacks = generator.standard_normal((each, 64))
        attacks[0] = w * (1 - 2 * label)
        attacks *= size / np.linalg.norm(attacks, axis=1, keepdims=True)
        share = stats.norm.cdf(((x + attacks) @ w + c) / (0.5 * np.linalg.norm(w)))
        assert ((share > 0.5) == bool(label)).all()
    assert (certificates.sizes <= certificates.tight).all()


def test_a_class_that_is_missing_is_named(few: Digits, rng: MakeRng) -> None:
    model = train_digits(Accounting.ANALYTIC, 0.3, 2, rng(), data=only(few, 0, 1, 2))
    assert model.places([2, 0, 1]).tolist() == [2, 0, 1]
    with pytest.raises(CorpusError, match="without class 7"):
        model.places([0, 7])
    with pytest.raises(CorpusError, match="at least two classes"):
        train_digits(Accounting.ANALYTIC, 0.3, 2, rng(), data=only(few, 4))
    for scale in (0.0, -1.0, np.nan):
        with pytest.raises(ParameterError, match="scale of the noise"):
            train_digits(Accounting.ANALYTIC, scale, 2, rng(), data=few)


def layer_at(place: Place) -> NoiseLayer:
    matrix = first_layer(place, DATA, np.random.default_rng(0))
    return layer_of(Accounting.ANALYTIC, 0.25, 2.0, 64, matrix)


def test_a_picture_is_shown_as_it_is_and_with_the_noise_of_the_layer() -> None:
    seen = look_at(layer_at(Place.PICTURE), Place.PICTURE, DATA.test[7], np.random.default_rng(1))
    assert (seen.clean.ravel() == DATA.test[7]).all()
    noise = (seen.noisy - seen.clean).ravel()
    expected = 0.25 * np.random.default_rng(1).standard_normal((1, 64)).ravel()
    np.testing.assert_allclose(noise, expected, rtol=0, atol=1e-12)


def test_every_picture_is_the_picture_of_its_text() -> None:
    for picture in DATA.test:
        assert (picture_of(picture_text(picture)) == picture).all()
    for text in ("", "0" * 63, "0" * 65, "h" * 64, "G" * 64, "ø" * 64):
        with pytest.raises(ParameterError, match="written as 64 signs"):
            picture_of(text)


def test_a_change_is_measured_in_the_norm_of_the_attack() -> None:
    change = np.zeros(64)
    change[:4] = 0.5, -0.5, 0.5, -0.5
    for accounting, size in ((Accounting.ANALYTIC, 1.0), (Accounting.LAPLACE, 2.0)):
        layer = layer_of(accounting, 0.25, accounting.norm, 64, None)
        assert layer.size(change) == size


def test_the_code_is_decoded_as_principal_components_do() -> None:
    place = Place.AUTO_ENCODER
    seen = look_at(layer_at(place), place, DATA.test[7], np.random.default_rng(1))
    components = PCA(32, svd_solver="full").fit(DATA.train)
    wanted = components.inverse_transform(components.transform(DATA.test[[7]]))
    np.testing.assert_allclose(seen.clean.ravel(), wanted[0], atol=1e-9)
    assert np.abs(seen.noisy - seen.clean).max() > 0.05


def test_the_units_of_the_first_layer_are_rectified() -> None:
    place = Place.FIRST_LAYER
    layer = layer_at(place)
    seen = look_at(layer, place, DATA.test[7], np.random.default_rng(1))
    assert seen.clean.shape == (4, 8)
    assert layer.matrix is not None
    np.testing.assert_allclose(seen.clean.ravel(), np.maximum(layer.matrix @ DATA.test[7], 0))
    assert seen.noisy.min() == 0
    with pytest.raises(ValueError, match="read-only"):
        seen.clean[0, 0] = 1
