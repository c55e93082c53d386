"""The bundled density is that of the bundled lexicon, and is used for no other."""

from pathlib import Path

import numpy as np
import pytest

from dpcore.cli.main import main
from dpcore.lexicon.catalogue import load
from dpcore.lexicon.lexicon import Lexicon
from dpcore.measure.density import bundle as density_bundle
from dpcore.measure.density.bundle import read_density, write_density
from dpcore.measure.density.density import (
    bundled_density,
    density_from_table,
    neighbourhood,
    vocabulary_density,
)


def test_the_bundle_holds_what_would_be_computed() -> None:
    """Every 2,500th word against its exact ranking; hubness against its mean, which is k."""
    lexicon = load()
    found = bundled_density(lexicon)
    assert found is not None, "data/lexicon/density.npz is of another lexicon: make it again"
    assert found.hubness.mean() == 10
    for word in range(0, len(lexicon), 2500):
        exact = neighbourhood(lexicon, word, 10)
        assert found.nearest[word] == np.float32(exact.nearest)
        assert found.mean_distance[word] == pytest.approx(exact.mean_distance, rel=1e-6)
    assert vocabulary_density(lexicon).nearest[7] == found.nearest[7]


def test_another_lexicon_or_k_has_no_bundle(small: Lexicon) -> None:
    assert bundled_density(small) is None
    assert bundled_density(load(), 9) is None


def test_a_file_comes_back_to_the_bit(
    tmp_path: Path, small: Lexicon, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(density_bundle, "bundled_folder", lambda: tmp_path)
    assert read_density(small.fingerprint, 10, len(small)) is None
    made = density_from_table(small, 10)
    arrays = {name: getattr(made, name) for name in ("nearest", "mean_distance", "hubness")}
    write_density(tmp_path / density_bundle.FILE, small.fingerprint, 10, arrays)
    found = bundled_density(small)
    assert found is not None
    for name, array in arrays.items():
        assert np.array_equal(getattr(found, name), array)
        assert getattr(found, name).dtype == array.dtype
    assert read_density(small.fingerprint, 10, len(small) + 1) is None
    (tmp_path / density_bundle.FILE).write_bytes(b"nonsense")
    assert bundled_density(small) is None


def test_the_command_writes_it(
    tmp_path: Path,
    small: Lexicon,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    np.savez(tmp_path / "mine.npz", words=np.array(small.words), vectors=small.vectors)
    path = tmp_path / density_bundle.FILE
    arguments = ["density", "--lexicon", str(tmp_path / "mine.npz"), "--file", str(path)]
    assert main(arguments) == 0
    monkeypatch.setattr(density_bundle, "bundled_folder", lambda: tmp_path)
    assert bundled_density(small) is not None
    assert "60 words" in capsys.readouterr().err
