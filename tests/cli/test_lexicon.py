"""The `lexicon` command, run as a person would."""

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from dpcore.cli import lexicon as lexicon_cli
from dpcore.cli.lexicon import lexicon_command
from dpcore.cli.printer import progress_bars
from dpcore.errors import LexiconError, ParameterError
from dpcore.lexicon import fetch
from dpcore.lexicon.catalogue import load
from dpcore.lexicon.train import run as plan_module
from tests.fixtures import MakeRng
from tests.shell import result
from tests.shell import run as shell_run


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("DPCORE_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


@pytest.fixture
def path(tmp_path: Path, rng: MakeRng) -> Path:
    rows = rng().standard_normal((40, 5)).round(4)
    path = tmp_path / "small.txt"
    words = ["tiger", "cat", "car", "bus", *(f"w{i}" for i in range(36))]
    lines = [" ".join([w, *map(str, row)]) for w, row in zip(words, rows, strict=True)]
    path.write_text("\n".join(lines) + "\n")
    return path


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Callable[..., Any]:
    def command(*arguments: object) -> Any:
        code = lexicon_command.main([*map(str, arguments)], standalone_mode=False)
        printed = capsys.readouterr()
        assert code == 0
        assert printed.err == ""
        return json.loads(printed.out) if "--json" in arguments else printed.out

    return command


def test_add_list_info_build(run: Callable[..., Any], path: Path, cache: Path) -> None:
    added = run("add", path, "--name", "mine", "--json")
    assert (added["name"], added["words"], added["dropped"]) == ("mine", 40, 0)
    listed = run("list", "--json")
    assert "mine" in [entry["name"] for entry in listed["lexicons"]]
    assert listed["fetchable"][0]["key"] == "glove-6b"
    assert listed["cache"] == {"folder": str(cache), "writable": True, "reason": ""}
    facts = run("info", "mine", "--json")
    assert facts["fingerprint"] == added["fingerprint"] == load("mine").fingerprint
    assert facts["extent"]["exact"]
    assert facts["kept"] == {"extent": "ok"}
    built = run("build", path, "--parts", "neighbours,hnsw", "--json")
    assert built["parts"] == ["neighbours", "hnsw"]
    assert built["extent"] is None
    facts = run("info", path, "--json")
    assert facts["kept"] == {"extent": "ok", "hnsw": "ok", "neighbours": "ok"}
    assert (facts["rows"], facts["dropped"]) == (40, 0)
    assert "format" not in run("info", "mine", "--json")
    assert len(facts["nearest_neighbour_quartiles"]) == 3
    assert facts["nearest_neighbour_quartiles"][0] >= facts["extent"]["separation"] * (1 - 1e-6)


@pytest.mark.parametrize("form", [str.upper, "/c/en/{}".format, "{}_NN".format, "Ġ{}".format])
def test_a_vocabulary_that_no_text_reaches_is_told(
    capsys: pytest.CaptureFixture[str], path: Path, form: Callable[[str], str]
) -> None:
    lines = [line.split(" ", 1) for line in path.read_text().splitlines()]
    path.write_text("".join(f"{form(word)} {rest}\n" for word, rest in lines))
    for arguments in (["info", str(path)], ["add", str(path), "--name", "odd"]):
        code, out, err = shell_run(capsys, "lexicon", *arguments)
        assert code == 0
        assert "warning" not in out
        assert err.startswith("warning: most words of this vocabulary are not found")


def test_the_same_things_are_printed_for_people(run: Callable[..., Any], path: Path) -> None:
    assert "mine: 40 words x 5" in run("add", path, "--name", "mine")
    assert "glove-840b" in run("list")
    text = run("info", "mine", "--metric", "manhattan", "--limit", "10")
    assert "10 words x 5, manhattan" in text
    assert "read as       text without header (GloVe); no row dropped" in run("info", path)
    assert "(exact)" in text
    assert "cache:" in text
    assert "diameter" in run("build", "mine")


def test_bounds_are_called_bounds(
    run: Callable[..., Any], path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("dpcore.lexicon.extent.MAX_EXACT_EXTENT_WORDS", 5)
    text = run("info", path)
    assert "(bounds)" in text
    assert "lexicon build" in text
    assert "(exact)" in (run("build", path), run("info", path))[1]


def test_an_extent_file_gets_an_entry(run: Callable[..., Any], path: Path, tmp_path: Path) -> None:
    table = tmp_path / "extent.json"
    built = run("build", path, "--parts", "neighbours", "--extent-file", table, "--json")
    entry = json.loads(table.read_text())[built["fingerprint"]]
    assert entry["diameter"] == built["extent"]["diameter"]
    assert entry["metric"] == "euclidean"


def test_similarity_scores(run: Callable[..., Any], path: Path, tmp_path: Path) -> None:
    pairs = tmp_path / "pairs.csv"
    pairs.write_text("set,w1,w2,score\nS,tiger,cat,9\nS,car,bus,8\nS,cat,bus,1\nS,cat,none,1\n")
    (score,) = run("info", path, "--similarity", pairs, "--json")["similarity"]
    assert (score["dataset"], score["pairs"], score["pairs_total"]) == ("S", 3, 4)
    assert "Spearman" in run("info", path, "--similarity", pairs)
    with pytest.raises(LexiconError, match="cannot be read"):
        run("info", path, "--similarity", tmp_path / "absent.csv")
    pairs.write_text("a,b\n1,2\n")
    with pytest.raises(LexiconError, match="no table of word pairs"):
        run("info", path, "--similarity", pairs)


def test_errors_are_the_engines_own(run: Callable[..., Any], path: Path) -> None:
    with pytest.raises(LexiconError, match="unknown lexicon"):
        run("info", "nope")
    with pytest.raises(LexiconError, match="cannot build"):
        run("build", path, "--parts", "everything")
    with pytest.raises(LexiconError, match="no source is called"):
        run("fetch", "nope")
    with pytest.raises(ParameterError, match="triangle inequality"):
        run("info", path, "--metric", "cosine")


def test_an_unwritable_cache_is_told(run: Callable[..., Any], path: Path, cache: Path) -> None:
    cache.write_text("a file where the folder should be")
    facts = run("info", path, "--json")
    assert facts["cache"]["writable"] is False
    assert "nothing is kept" in run("info", path)
    assert "cannot be written" in run("build", path)


def test_fetch_passes_everything_on(
    run: Callable[..., Any], monkeypatch: pytest.MonkeyPatch, path: Path
) -> None:
    asked: dict[str, Any] = {}

    def fake(source: Any, **options: Any) -> Any:
        asked.update(options, source=source)
        return fetch.add(str(path), name="got")

    monkeypatch.setattr(lexicon_cli, "fetch", fake)
    assert run("fetch", "glove-6b", "--dimension", "50", "--limit", "9", "--json")["words"] == 40
    asked.pop("progress")
    assert asked == {
        "source": "glove-6b", "dimension": 50, "limit": 9, "name": None, "replace": False
    }  # fmt: skip


def test_train_passes_the_plan_on(
    run: Callable[..., Any], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    asked = []

    def fake(plan: Any, data: Any, out: Any, progress: Any, threads: Any) -> Any:
        asked.append((plan, data, out, threads))
        return {"words": plan.selection.words, "dimensions": plan.dimensions}

    monkeypatch.setattr(lexicon_cli, "train", fake)
    options = ("--data", tmp_path, "--out", tmp_path / "out")
    assert "25,000 words x 300" in run("train", *options)
    facts = run("train", *options, "--words", "90", "--dimensions", "8", "--no-encoder", "--json")
    assert facts == {"words": 90, "dimensions": 8}
    assert asked[0][0] == plan_module.TrainingPlan()
    assert not asked[1][0].encoder


def test_progress_is_drawn_on_a_terminal_only(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with progress_bars() as progress:
        progress("reading", 1, 2)
    assert capsys.readouterr().err == ""
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)
    with progress_bars() as progress:
        for done in (1000, 2000, 4000):
            progress("reading", done, 4000)
        progress("neighbours", 3, 3)
    drawn = capsys.readouterr().err
    assert "reading" in drawn
    assert "4.00k/4.00k" in drawn
    assert "neighbours" in drawn


def test_words_of_another_language(
    run: Callable[..., Any], tmp_path: Path, rng: MakeRng, capsys: pytest.CaptureFixture[str]
) -> None:
    """From a file of vectors as fastText writes them to a private sentence with its capitals."""
    words = "</s> , die Straße über Haus Mädchen ist groß süß Übung der das in und Ärztin".split()
    vectors = tmp_path / "cc.de.4.vec"
    rows = rng().standard_normal((len(words), 4)).round(4)
    lines = [" ".join([w, *map(str, row)]) for w, row in zip(words, rows, strict=True)]
    vectors.write_text(f"{len(words)} 4\n" + "\n".join(lines) + "\n", encoding="utf-8")
    run("add", vectors, "--name", "deutsch", "--language", "de")
    assert load("deutsch").language == "de"
    assert load("deutsch").fingerprint == load(vectors, language="de").fingerprint
    assert load(vectors).language == "en"
    assert "language      German\n" in run("info", "deutsch")
    assert "language      xx: no rules of its own" in run("info", vectors, "--language", "xx")
    assert {e["name"]: e["language"] for e in run("list", "--json")["lexicons"]} == {
        "default": "en", "hyperbolic": "en", "deutsch": "de"
    }  # fmt: skip
    with pytest.raises(LexiconError, match="two or three small letters"):
        run("add", vectors, "--name", "other", "--language", "German")

    asked = "rewrite --mechanism tem --epsilon 500 --seed 1 --keep-stop-words --text".split()
    text = "Die Straße ist GROSS, das Mädchen süß."
    for chosen in (["--lexicon", "deutsch"], ["--lexicon", str(vectors), "--language", "de"]):
        answer = result(capsys, *asked, text, *chosen)
        assert answer["text"] == text
        assert any("'der'" in line for line in answer["released"])
    code, _, err = shell_run(capsys, *asked, text, "--lexicon", str(vectors), "--language", "xx")
    assert code == 2
    assert "no function words are known of the language 'xx'" in err
