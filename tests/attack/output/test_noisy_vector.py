"""Leakage of noisy vectors, against slow twins, simulation and limits."""

import math
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from dpcore.attack.output.nearest import divergence, information, kept_at_most, likeliest_words
from dpcore.errors import ParameterError
from dpcore.mechanisms.registry import create
from dpcore.noise.streams import generator
from tests.mechanisms import lexicons

LEXICON = lexicons.cloud(50, 12)
CLIP = {"clip_norm": 1.0}
WORDS = np.arange(50).repeat(4)


def density(mechanism: Any, epsilon: float, z: NDArray[np.float64]) -> float:
    """ln of the density of a noise vector up to a constant, by the mechanism's own definition."""
    if mechanism.short.startswith("gaussian"):
        return -0.5 * (z @ z) / mechanism.scale(epsilon) ** 2
    if mechanism.short == "l2-laplace":
        return -math.sqrt(z @ z) / mechanism.scale(epsilon)
    if mechanism.short == "laplace":
        return -np.abs(z).sum() / mechanism.scale(epsilon)
    noise = mechanism.truncation(epsilon)
    outside = np.abs(z).max() > noise.cut * (1 + 1e-5)
    return -math.inf if outside else -noise.alpha * np.abs(z).sum()


@pytest.mark.parametrize(
    ("name", "epsilon"),
    [("gaussian", 20.0), ("laplace", 30.0), ("l2-laplace", 30.0), ("trlaplace", 0.5),
     ("trlaplace-corrected", 50.0)],
)  # fmt: skip
def test_the_likeliest_word_has_the_largest_density(name: str, epsilon: float) -> None:
    mechanism: Any = create(name, LEXICON, CLIP)
    noisy = mechanism.noisy_vectors(generator(0, name), WORDS, epsilon)
    likeliest = likeliest_words(mechanism, noisy, epsilon)
    origins = mechanism.origins.astype(np.float64)
    for vector, word in zip(noisy, likeliest, strict=True):
        densities = np.array([density(mechanism, epsilon, vector - origin) for origin in origins])
        assert densities[word] == densities.max() > -math.inf


def test_the_cut_of_the_published_noise_gives_words_away() -> None:
    """At ε = 0.05 a private mechanism allows e^0.05 guesses of 50; the cut allows many more."""
    words = np.tile(np.arange(50), 40)
    kept = {}
    for name in ("trlaplace", "laplace"):
        mechanism = create(name, LEXICON, CLIP)
        noisy = mechanism.noisy_vectors(generator(1, name), words, 0.05)
        kept[name] = (likeliest_words(mechanism, noisy, 0.05) == words).mean()
    # 2,000 trials at most e^0.05/50 each: Bernoulli's tail at 0.06 is below 1e-6 (Chernoff).
    chance = math.exp(0.05) / 50
    tail = 2000 * (0.06 * math.log(0.06 / chance) + 0.94 * math.log(0.94 / (1 - chance)))
    assert tail > -math.log(1e-6)
    assert kept["laplace"] <= 0.06 < kept["trlaplace"]


def test_other_noise_is_refused() -> None:
    noisy = np.zeros((1, 12))
    for name in ("madlib", "tem"):
        with pytest.raises(ParameterError, match="Gaussian and Laplace"):
            likeliest_words(create(name, LEXICON), noisy, 1.0)


def test_information_of_gaussian_and_laplace_noise() -> None:
    """Against the divergence of the worst pair by quadrature, coordinate by coordinate."""
    from scipy.integrate import quad

    gaussian: Any = create("gaussian", LEXICON, CLIP)
    laplace: Any = create("laplace", LEXICON, CLIP)
    sigma = gaussian.scale(3.0)
    assert information(gaussian, 3.0) == pytest.approx(2.0 / sigma**2)
    scale, shift = laplace.scale(3.0), 2.0 / math.sqrt(12)

    def integrand(x: float) -> float:
        p = math.exp(-abs(x) / scale) / (2 * scale)
        return p * (abs(x - shift) - abs(x)) / scale

    integral = sum(quad(integrand, *ends)[0] for ends in ((-60, 0), (0, shift), (shift, 60)))
    assert information(laplace, 3.0) == pytest.approx(12 * integral, rel=1e-6)
    rng = np.random.default_rng(0)
    for direction in rng.standard_normal((200, 12)):  # no other difference of length 2C costs more
        t = 2.0 * np.abs(direction) / np.linalg.norm(direction) / scale
        assert (t + np.expm1(-t)).sum() <= information(laplace, 3.0) * (1 + 1e-12)
    assert information(laplace, 1e-7) == pytest.approx(1e-14 / 24, rel=1e-4)
    assert information(create("trlaplace", LEXICON, CLIP), 0.5) == math.inf


def test_no_decoder_keeps_more_than_the_bound() -> None:
    """The Bayes decoder of one word, whose guess without the vector is one in 50."""
    words = np.tile(np.arange(50), 40)
    for name, epsilon in (("laplace", 5.0), ("gaussian", 5.0), ("laplace", 60.0)):
        mechanism = create(name, LEXICON, CLIP)
        noisy = mechanism.noisy_vectors(generator(2, name), words, epsilon)
        kept = (likeliest_words(mechanism, noisy, epsilon) == words).mean()
        bound = kept_at_most(information(mechanism, epsilon), 1 / 50)
        # Hoeffding: the mean of 2,000 independent places is within 0.0588 but for 1e-6.
        assert kept <= bound + math.sqrt(math.log(1e6) / (2 * words.size))


@pytest.mark.parametrize("guess", [1e-4, 0.1, 0.6])
def test_the_bound_solves_its_equation(guess: float) -> None:
    assert kept_at_most(0.0, guess) == pytest.approx(guess)
    assert kept_at_most(-math.log(guess), guess) == 1.0
    assert kept_at_most(math.inf, guess) == 1.0
    for nats in (1e-6, 0.01, 0.4):
        if nats < -math.log(guess):
            s = kept_at_most(nats, guess)
            kl = s * math.log(s / guess) + (1 - s) * math.log((1 - s) / (1 - guess))
            assert kl == pytest.approx(nats, rel=1e-6, abs=1e-12)
            assert divergence(s, guess) == pytest.approx(kl, rel=1e-9, abs=1e-15)
    assert kept_at_most(0.0, 1.0) == 1.0


@pytest.mark.parametrize(("nats", "guess"), [(-1.0, 0.1), (math.nan, 0.1), (1.0, 0.0), (1.0, 1.1)])
def test_nonsense_is_refused(nats: float, guess: float) -> None:
    with pytest.raises(ParameterError, match="got"):
        kept_at_most(nats, guess)


def test_noise_of_another_sensitivity_tells_what_its_own_worst_difference_does() -> None:
    """ADePT's noise is too small by √d: t = ε/√d in each coordinate; in the L1 norm ε in one."""
    d, epsilon = LEXICON.dimension, 1.5
    t = epsilon / np.sqrt(d)
    assert information(create("adept", LEXICON), epsilon) == pytest.approx(d * (t + np.expm1(-t)))
    alone = epsilon + np.expm1(-epsilon)
    assert information(create("adept-l1", LEXICON), epsilon) == pytest.approx(alone)
