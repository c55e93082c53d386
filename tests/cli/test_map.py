"""The commands `map build` and `map list`."""

import re
from pathlib import Path

import pytest

from dpcore.lexicon.catalogue import load
from dpcore.measure.maps import fit
from dpcore.measure.maps.store import Projection
from tests.shell import result, run, small_vectors

FIELDS = {"lexicon", "fingerprint", "version", "maps"}
MAP = {
    "projection", "centres", "k", "mean_kept", "density", "parameters", "version", "bundled",
}  # fmt: skip


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DPCORE_CACHE", str(tmp_path / "cache"))


@pytest.fixture(scope="module")
def vectors(tmp_path_factory: pytest.TempPathFactory) -> str:
    return small_vectors(tmp_path_factory.mktemp("lexicon") / "small.vec")


def test_a_map_that_was_built_is_listed(capsys: pytest.CaptureFixture[str], vectors: str) -> None:
    options = ("--lexicon", vectors)
    answer = result(capsys, "map", "build", "--projection", "pca", *options)
    assert answer.keys() == FIELDS
    (row,) = answer["maps"]
    assert row.keys() == MAP
    assert row["parameters"]["words"] == 300
    listed = result(capsys, "map", "list", *options)
    assert listed == answer
    shown = fit.vocabulary_map(load(vectors), "pca")
    assert row["mean_kept"] == shown.mean_kept
    code, out, _ = run(capsys, "map", "list", *options)
    assert code == 0
    assert re.search(r"^pca +the whole lexicon +300 +\d+\.\d% +-?\d\.\d\d  the cache$", out, re.M)


def test_a_neighbourhood_is_built_by_the_names_of_its_words(
    capsys: pytest.CaptureFixture[str], vectors: str
) -> None:
    answer = result(
        capsys, "map", "build", "--projection", "pca", "--word", "doctor", "--word", "weather",
        "--k", "9", "--lexicon", vectors,
    )  # fmt: skip
    (row,) = answer["maps"]
    assert row["centres"] == ["doctor", "weather"]
    assert row["parameters"]["neighbours"] == 9
    assert 11 <= row["parameters"]["words"] <= 20


def test_the_bundled_maps_are_listed_and_there_may_be_none(
    capsys: pytest.CaptureFixture[str], vectors: str
) -> None:
    rows = result(capsys, "map", "list")["maps"]
    assert all(row["bundled"] for row in rows)
    assert [row["projection"] for row in rows if not row["centres"]] == list(Projection)
    pairs = [set(row["centres"]) for row in rows if row["centres"]]
    assert pairs == [set(pair) for pair in fit.BUNDLED_PAIRS] * 2
    assert result(capsys, "map", "list", "--lexicon", vectors)["maps"] == []
    code, _, err = run(capsys, "map", "list", "--lexicon", vectors)
    assert code == 2
    assert err.startswith("error: there is no map of lexicon")


WRONG = {
    "an unknown word": (("--word", "doctr"), ".*did you mean 'doctor'.*"),
    "three words": (
        ("--word", "doctor", "--word", "weather", "--word", "terrible"), ".*one word or two .*",
    ),
    "one word twice": (("--word", "doctor", "--word", "doctor"), ".*two different ones, .*"),
    "too many neighbours": (("--word", "doctor", "--k", "300"), "k must be 1 to 299 .*"),
    "too few neighbours": (
        ("--word", "doctor", "--k", "2", "--projection", "umap"),
        "a umap map needs at least 11 words, got 3: .* or PCA",
    ),
    "neighbours of nothing": (("--k", "20"), "--k is the number of neighbours of --word.*"),
    "a negative seed": (("--seed", "-1"), "a seed is .*"),
    "a bundle of a word": (("--word", "doctor", "--bundle", "x"), "--bundle makes fixed maps.*"),
}  # fmt: skip


@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_option_is_one_sentence(
    capsys: pytest.CaptureFixture[str], vectors: str, name: str
) -> None:
    arguments, message = WRONG[name]
    code, out, err = run(capsys, "map", "build", *arguments, "--lexicon", vectors)
    assert (code, out) == (2, "")
    assert re.fullmatch(f"error: {message}\n", err), err


def test_nothing_is_built_that_could_not_be_kept(
    capsys: pytest.CaptureFixture[str],
    vectors: str,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    (tmp_path / "file").write_text("", encoding="utf-8")
    monkeypatch.setenv("DPCORE_CACHE", str(tmp_path / "file"))
    code, out, err = run(capsys, "map", "build", "--lexicon", vectors)
    assert (code, out) == (2, "")
    assert re.fullmatch("error: a map is kept in .* name another folder in .*\n", err), err
