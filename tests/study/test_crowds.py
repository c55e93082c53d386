"""The maker of the bundled word counts: real corpora, read whole and written with a manifest."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from dpcore.cli.main import main
from dpcore.crowd.bundled import CROWDS, FILE, crowd, read_crowds
from dpcore.errors import CorpusError
from dpcore.lexicon.cache import sha256_of_file
from dpcore.lexicon.catalogue import load
from dpcore.study.crowds import CORPORA, MANIFEST, count_corpus
from tests.needs import ROOT


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A file for each corpus: a text for each label, the first one twice, in all splits."""
    for corpus in CORPORA:
        labels = [label for label, _ in corpus.groups]
        rows = [(f"the {name} garage", label) for label, name in corpus.groups]
        rows.append((rows[0][0], labels[1]))
        table = pd.DataFrame(rows, columns=["text", "label"])
        table["split"] = [corpus.splits[i % 2] for i in range(len(rows))]
        table.to_parquet(tmp_path / corpus.file)
    return tmp_path


def test_every_distinct_text_is_counted(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = ["study", "crowds", "--data", str(folder), "--out", str(tmp_path / "out")]
    assert main([*run, "--json"]) == 0
    manifest = json.loads(capsys.readouterr().out)
    assert json.loads((tmp_path / "out" / MANIFEST).read_text(encoding="utf-8")) == manifest
    path = tmp_path / "out" / FILE
    assert manifest["files"] == {
        FILE: {"sha256": sha256_of_file(path), "bytes": path.stat().st_size}
    }
    fingerprint, crowds = read_crowds(path)
    assert fingerprint == manifest["fingerprint"] == load().fingerprint
    assert tuple(each.name for each in crowds) == CROWDS
    for corpus, each in zip(CORPORA, crowds, strict=True):
        assert each.groups == tuple(name for _, name in corpus.groups)
        assert (each.texts == 1).all()  # the first text counts once, with its first label
        assert (each.counts[:, load().index("garage")] == 1).all()
    before = path.read_bytes()
    assert main(run) == 0
    assert "science and mathematics" in capsys.readouterr().out
    assert path.read_bytes() == before


def test_refusals(folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run = ["study", "crowds", "--data", str(folder), "--out", str(tmp_path / "out")]
    (folder / "imdb.parquet").write_bytes(b"no parquet")
    assert main(run) == 2
    assert "imdb.parquet is not a parquet file with the columns" in capsys.readouterr().err
    for name in ("imdb", "agnews"):
        (folder / f"{name}.parquet").unlink()
    assert main(run) == 2
    assert "does not hold imdb.parquet and agnews.parquet" in capsys.readouterr().err
    table = {"text": ["a"], "label": ["2"], "split": ["train"]}
    pd.DataFrame(table).to_parquet(folder / "imdb.parquet")
    with pytest.raises(CorpusError, match="the groups are praise, blame; got the label '2'"):
        count_corpus(CORPORA[0], folder, load())


@pytest.mark.slow
def test_one_corpus_comes_out_again(data_dir: Path) -> None:
    corpus = next(corpus for corpus in CORPORA if corpus.name == "yahoo")
    again, before = count_corpus(corpus, data_dir, load()), crowd("yahoo", load())
    assert (again.name, again.title, again.groups) == (before.name, before.title, before.groups)
    for field in ("texts", "unknown", "counts"):
        np.testing.assert_array_equal(getattr(again, field), getattr(before, field))


@pytest.mark.full
def test_the_whole_file_comes_out_again(
    data_dir: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = ["study", "crowds", "--data", str(data_dir), "--out", str(tmp_path), "--json"]
    assert main(run) == 0
    made = json.loads(capsys.readouterr().out)
    manifest = json.loads((ROOT / "data/crowd" / MANIFEST).read_text(encoding="utf-8"))
    # The bytes of the file also depend on the release of zlib.
    assert made["crowds"] == manifest["crowds"]
    for again, name in zip(read_crowds(tmp_path / FILE)[1], CROWDS, strict=True):
        np.testing.assert_array_equal(again.counts, crowd(name, load()).counts)
