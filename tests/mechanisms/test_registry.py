"""Keys, short names, and settings as a command line or a link gives them."""

import re
from typing import Any

import pytest

from dpcore.errors import ParameterError, UnknownMechanismError
from dpcore.guarantee import EpsilonMeaning
from dpcore.lexicon.lexicon import Lexicon
from dpcore.mechanisms.additive.multivariate import Mahalanobis, MultivariateLaplace
from dpcore.mechanisms.additive.projection import RandomProjection
from dpcore.mechanisms.additive.vickrey import Vickrey
from dpcore.mechanisms.mechanism import Mechanism
from dpcore.mechanisms.registry import MECHANISMS, create, resolve


def test_every_key_is_versioned_and_is_that_of_its_class() -> None:
    for key, kind in MECHANISMS.items():
        assert re.fullmatch(r"[a-z0-9-]+\.v[1-9]\d*", key)
        assert kind.key == key
        assert key == f"{kind.short}.v{key.rsplit('.v', 1)[1]}"
        assert issubclass(kind, Mechanism)


def test_every_mechanism_says_what_it_is() -> None:
    for kind in MECHANISMS.values():
        assert kind.title
        assert kind.summary
        assert kind.source
        assert isinstance(kind.meaning, EpsilonMeaning)
    titles = [kind.title for kind in MECHANISMS.values()]
    assert len(set(titles)) == len(titles)


def test_short_names_and_keys_resolve() -> None:
    for key, kind in MECHANISMS.items():
        assert resolve(key) is kind
        assert resolve(kind.short) is kind


def test_a_short_name_means_the_newest_version(monkeypatch: pytest.MonkeyPatch) -> None:
    class Newer(MultivariateLaplace):
        key = "madlib.v10"

    class Middle(MultivariateLaplace):
        key = "madlib.v9"

    monkeypatch.setitem(MECHANISMS, "madlib.v10", Newer)
    monkeypatch.setitem(MECHANISMS, "madlib.v9", Middle)
    assert resolve("madlib") is Newer
    assert resolve("madlib.v1").key == "madlib.v1"


@pytest.mark.parametrize("name", ["", "madlib.v2", "MADLIB", "no such", "x" * 500])
def test_an_unknown_name_is_refused_with_the_known_ones(name: str) -> None:
    with pytest.raises(UnknownMechanismError, match="known are madlib, mahalanobis") as caught:
        resolve(name)
    assert len(str(caught.value)) < 500  # the name was cut off


def test_settings_may_be_text(small: Lexicon) -> None:
    mechanism = create("mahalanobis", small, {"lam": "0.5"})
    assert isinstance(mechanism, Mahalanobis)
    assert mechanism.lam == 0.5
    projected = create("random-projection", small, {"dimensions": "2", "form": "paper"})
    assert isinstance(projected, RandomProjection)
    assert (projected.dimensions, projected.form) == (2, "paper")
    assert isinstance(projected.dimensions, int)
    unclipped: Any = create("laplace", small, {"clip_norm": "none"})
    assert unclipped.clip_norm is None
    clipped: Any = create("laplace", small, {"clip_norm": "2.5"})
    assert clipped.clip_norm == 2.5


@pytest.mark.parametrize(
    ("name", "settings", "message"),
    [
        ("mahalanobis", {"lam": "much"}, "lam of mahalanobis must be a number, got 'much'"),
        ("random-projection", {"dimensions": "2.5"}, "must be a whole number, got '2.5'"),
        ("madlib", {"lam": 0.1}, "madlib has no parameter 'lam'; its parameters are: none"),
        ("vickrey", {"t": "nan"}, r"t of vickrey must be in \[0, 1\], got nan"),
        ("vickrey", {"noise": "pink"}, "noise of vickrey must be one of laplace, mahalanobis"),
    ],
)
def test_wrong_settings_are_explained(
    name: str, settings: dict[str, float | str], message: str, small: Lexicon
) -> None:
    with pytest.raises(ParameterError, match=message):
        create(name, small, settings)


def test_defaults_are_the_declared_ones(small: Lexicon) -> None:
    for key, kind in MECHANISMS.items():
        mechanism = create(key, small)
        declared = {name: p["default"] for name, p in kind.parameters().items()}
        assert mechanism.settings() == declared
        assert mechanism.lexicon is small


def test_a_mechanism_is_frozen(small: Lexicon) -> None:
    mechanism = create("vickrey", small)
    assert isinstance(mechanism, Vickrey)
    with pytest.raises(AttributeError):
        mechanism.t = 0.1  # type: ignore[misc]


@pytest.mark.parametrize(
    ("name", "parameter", "value"),
    [
        ("random-projection", "dimensions", 2.5),
        ("random-projection", "dimensions", 50.0),
        ("random-projection", "form", 1),
        ("tem", "beta", "0.1x"),
        ("vickrey", "t", True),
        ("vickrey", "t", None),
    ],
)
def test_a_parameter_of_another_type_is_refused(
    name: str, parameter: str, value: float | str | None, small: Lexicon
) -> None:
    with pytest.raises(ParameterError, match=parameter):
        create(name, small, {parameter: value})
