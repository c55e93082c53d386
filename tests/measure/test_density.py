"""Density figures against brute force; the bundled density, which is used for no other lexicon."""

from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from dpcore.cli.main import main
from dpcore.errors import ParameterError
from dpcore.lexicon.catalogue import load
from dpcore.lexicon.lexicon import Lexicon
from dpcore.lexicon.metric import Metric
from dpcore.measure import density as density_room
from dpcore.measure.density import (
    FILE,
    bundled_density,
    density_from_table,
    extremes,
    neighbourhood,
    ordinary_words,
    read_density,
    search,
    sparsest_common,
    vocabulary_density,
    within_radius,
    write_density,
)
from tests.mechanisms import lexicons


def brute(lexicon: Lexicon) -> NDArray[np.float64]:
    vectors = lexicon.vectors.astype(np.float64)
    distances = np.linalg.norm(vectors[:, None] - vectors, axis=2)
    np.fill_diagonal(distances, np.inf)
    return distances


@pytest.mark.parametrize("name", ["cloud", *lexicons.crafted()])
def test_one_word_and_the_whole_vocabulary_are_brute_force(name: str) -> None:
    lexicon = lexicons.cloud(150, 6) if name == "cloud" else lexicons.crafted()[name]
    distances = brute(lexicon)
    k = min(7, len(lexicon) - 1)
    order = np.argsort(distances, axis=1, kind="stable")[:, :k]
    near = np.take_along_axis(distances, order, axis=1)
    whole = vocabulary_density(lexicon, k)
    assert whole.nearest == pytest.approx(near[:, 0], rel=1e-6)
    assert whole.mean_distance == pytest.approx(near.mean(axis=1), rel=1e-6)
    assert whole.hubness.sum() == k * len(lexicon)
    radius = float(np.median(near))
    for word in range(0, len(lexicon), 9):
        surroundings = neighbourhood(lexicon, word, k, radius)
        assert surroundings.distances == pytest.approx(near[word], rel=1e-12)
        assert word not in surroundings.neighbours
        assert surroundings.nearest == surroundings.distances[0]
        assert surroundings.mean_distance == pytest.approx(near[word].mean())
        assert surroundings.within == (brute(lexicon)[word] <= radius).sum()
    if name == "cloud":  # elsewhere ties leave the choice of neighbours open
        assert (whole.hubness == np.bincount(order.reshape(-1), minlength=150)).all()


def test_counts_within_a_radius_say_where_the_table_ends(middle: Lexicon) -> None:
    distances = brute(middle)
    radius = float(np.quantile(distances, 0.15))
    counts, complete = within_radius(middle, radius)
    truth = (distances <= radius).sum(axis=1)
    assert 0 < complete.sum() < len(middle)
    assert (counts[complete] == truth[complete]).all()
    assert (counts[~complete] == 127).all()
    assert (truth[~complete] >= 127).all()
    few, whole = within_radius(lexicons.cloud(20, 3), 1e6)
    assert (few == 19).all()
    assert whole.all()


def test_classes_of_crowding_are_equal_and_ordered(middle: Lexicon) -> None:
    density = vocabulary_density(middle, 10)
    places, bounds = density.crowding(5)
    assert np.bincount(places).tolist() == [140] * 5
    for place, bound in enumerate(bounds):
        assert density.mean_distance[places == place].max() == bound
        assert (density.mean_distance[places > place] >= bound).all()
    for wrong in (0, 701):
        with pytest.raises(ParameterError, match="classes must be 1 to 700"):
            density.crowding(wrong)


def test_strata_are_thirds_by_the_nearest_distance(middle: Lexicon) -> None:
    density = vocabulary_density(middle)
    strata = density.strata()
    assert sorted(np.bincount(strata)) == [233, 233, 234]
    for lower in (0, 1):
        assert density.nearest[strata == lower].max() <= density.nearest[strata == lower + 1].min()


def test_extremes_are_ordinary_words_if_asked() -> None:
    words = ["cat", "x9", "dog", "-", "Ärger", "rare", "don't"]
    rows = np.array([0.0, 0.01, 1.0, 1.001, 3.0, 9.0, 20.0])[:, None]
    lexicon = Lexicon("crafted", tuple(words), rows.astype(np.float32))
    density = vocabulary_density(lexicon, 1)
    ordinary = ordinary_words(lexicon, rows=5)
    assert [words[i] for i in ordinary] == ["cat", "dog", "Ärger"]
    dense, sparse = extremes(density, 2, ordinary)
    assert [words[i] for i in dense] == ["dog", "cat"]
    assert [words[i] for i in sparse] == ["Ärger", "cat"]
    dense, sparse = extremes(density, 99)
    assert dense.tolist() == sparse[::-1].tolist()
    assert words[sparse[0]] == "don't"


def test_the_sparsest_common_words_are_content_words() -> None:
    words = ("horses", "ponies", "between", "cow", "violin", "umbrella", "x9999")
    rows = np.array([0.0, 1.0, 10.0, 20.0, 32.0, 47.0, 90.0])[:, None]
    lexicon = Lexicon("crafted", words, rows.astype(np.float32), language="en")
    density = vocabulary_density(lexicon, 1)
    assert density.nearest.tolist() == [1, 1, 9, 10, 12, 15, 43]
    # No function word, none of three letters, no number.
    assert sparsest_common(lexicon, density).tolist() == [5, 4, 1, 0]
    assert sparsest_common(lexicon, density, count=1).tolist() == [5]


def test_the_metric_of_the_lexicon_does_not_matter(small: Lexicon) -> None:
    other = small.with_metric(Metric.MANHATTAN)
    assert (vocabulary_density(other).nearest == vocabulary_density(small).nearest).all()
    assert neighbourhood(other, 3).nearest == neighbourhood(small, 3).nearest


def test_search_puts_the_word_itself_first() -> None:
    words = ("cats", "Cat", "concatenate", "cat", "dog", "category")
    lexicon = Lexicon("crafted", words, np.arange(6, dtype=np.float32)[:, None])
    matches = [words[i] for i in search(lexicon, " cat ")]
    assert matches == ["Cat", "cat", "cats", "category", "concatenate"]
    assert search(lexicon, "CAT", limit=1).tolist() == [1]
    assert search(lexicon, "  ").size == search(lexicon, "zebra").size == 0


def test_wrong_numbers_are_refused(small: Lexicon) -> None:
    for k in (0, -1, 60):
        with pytest.raises(ParameterError, match="k must be 1 to 59"):
            neighbourhood(small, 0, k)
        with pytest.raises(ParameterError, match="k must be 1 to 59"):
            vocabulary_density(small, k)
    for radius in (-1.0, float("nan"), float("inf")):
        with pytest.raises(ParameterError, match="radius must be"):
            neighbourhood(small, 0, 1, radius)
        with pytest.raises(ParameterError, match="radius must be"):
            within_radius(small, radius)


def test_the_bundle_holds_what_would_be_computed() -> None:
    """Every 2,500th word against its exact ranking; hubness against its mean, which is k."""
    lexicon = load()
    bundled = bundled_density(lexicon)
    assert bundled is not None, "data/lexicon/density.npz is of another lexicon: make it again"
    assert bundled.hubness.mean() == 10
    for word in range(0, len(lexicon), 2500):
        exact = neighbourhood(lexicon, word, 10)
        assert bundled.nearest[word] == np.float32(exact.nearest)
        assert bundled.mean_distance[word] == pytest.approx(exact.mean_distance, rel=1e-6)
    assert vocabulary_density(lexicon).nearest[7] == bundled.nearest[7]


def test_another_lexicon_or_k_has_no_bundle(small: Lexicon) -> None:
    assert bundled_density(small) is None
    assert bundled_density(load(), 9) is None


def test_a_file_comes_back_to_the_bit(
    tmp_path: Path, small: Lexicon, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(density_room, "bundled_folder", lambda: tmp_path)
    assert read_density(small.fingerprint, 10, len(small)) is None
    computed = density_from_table(small, 10)
    write_density(tmp_path / FILE, small.fingerprint, computed)
    bundled = bundled_density(small)
    assert bundled is not None
    for name in ("nearest", "mean_distance", "hubness"):
        array = getattr(computed, name)
        assert np.array_equal(getattr(bundled, name), array)
        assert getattr(bundled, name).dtype == array.dtype
    assert read_density(small.fingerprint, 10, len(small) + 1) is None
    (tmp_path / FILE).write_bytes(b"nonsense")
    assert bundled_density(small) is None


def test_the_command_writes_it(
    tmp_path: Path,
    small: Lexicon,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    np.savez(tmp_path / "mine.npz", words=np.array(small.words), vectors=small.vectors)
    path = tmp_path / FILE
    arguments = ["density", "--lexicon", str(tmp_path / "mine.npz"), "--file", str(path)]
    assert main(arguments) == 0
    monkeypatch.setattr(density_room, "bundled_folder", lambda: tmp_path)
    assert bundled_density(small) is not None
    assert "60 words" in capsys.readouterr().err
