"""The command `audit --callable`: the example of the documents, stable fields, one sentence."""

import os
import re
import signal
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import pytest

from tests.needs import ROOT
from tests.shell import result, run, small_vectors

PAGE = (ROOT / "docs/commands.md").read_text(encoding="utf-8")
ROW = re.search(r"^\| `audit --callable` \| `(.*?)` \(", PAGE, re.MULTILINE)[1]
FIELDS = set(re.sub(r"\[\{.*?\}\]", "", ROW).replace(" ", "").split(","))


@pytest.fixture
def noise(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """The file of the documents, under a name of its own, in the working directory."""
    source = re.search(r"With this file as `noise.py`.*?```python\n(.*?)```", PAGE, re.DOTALL)[1]
    (tmp_path / "noise_of_the_page.py").write_text(source, encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    return "noise_of_the_page:replace"


@pytest.mark.slow
def test_the_example_of_the_page_says_what_it_says(
    noise: str, capsys: pytest.CaptureFixture[str]
) -> None:
    code, out, err = run(
        capsys, "audit", "--callable", noise, "--epsilon", "1", "--samples", "10000"
    )
    assert (code, err) == (0, "")
    lines = out.splitlines()
    assert lines[0] == f"{noise}: refuted"
    assert lines[1] == "  claimed    ε = 1 per unit of Euclidean distance"
    assert re.match(
        r"  shown      ε ≥ 1\.\d+, δ ≥ 0\.\d+ at the claimed ε, but for a chance", lines[2]
    )
    assert "What is no word of the lexicon comes through: a made-up word" in out
    assert "no sign that noise is used twice" in out
    assert "Every call is taken to be independent of all others" in lines[-1]
    assert lines[-1].endswith("µs a word.")


def test_the_fields_of_json_are_those_of_the_page(
    noise: str, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    vectors = small_vectors(tmp_path / "small.vec")
    answer = result(
        capsys, "audit", "--callable", noise, "--epsilon", "2", "--metric", "any", "--delta",
        "0.01", "--samples", "4000", "--lexicon", vectors, "--seed", "3", "--form", "word",
    )  # fmt: skip
    assert set(answer) == FIELDS
    assert (answer["callable"], answer["form"], answer["metric"]) == (noise, "word", "any")
    assert (answer["claimed_epsilon"], answer["claimed_delta"]) == (2.0, 0.01)
    assert answer["outcome"] == "refuted"
    assert answer["epsilon_low"] > 2
    for name, of in {"evidence": answer["evidence"][0], "probes": answer["probes"][0]}.items():
        inner = re.search(rf"{name} \[\{{(.*?)\}}\]", ROW)[1].replace(" ", "").split(",")
        assert list(of) == inner
    row = re.search(r"^\| `audit --callable` \|.*$", PAGE, re.MULTILINE)[0]
    for name, of in {
        "unchanged": answer["unchanged"],
        "tally` and `plain": answer["probes"][0]["tally"],
        "repeats {reason}` or `": answer["repeats"],
    }.items():
        listed = re.search(rf"`{re.escape(name)} ?\{{(.*?)\}}", row)[1]
        assert list(of) == listed.replace(" ", "").split(",")


def test_the_replay_of_the_page_says_what_it_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    source = re.search(r"With this file as `rewriter.py`.*?```python\n(.*?)```", PAGE, re.DOTALL)[1]
    (tmp_path / "rewriter_of_the_page.py").write_text(source, encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    name = "rewriter_of_the_page:rewrite"
    code, out, err = run(capsys, "audit", "--callable", name, "--replay")
    assert (code, err) == (0, "")
    lines = out.splitlines()
    assert lines[0] == f"{name}: refuted: 2 leaks proved"
    assert "no number is drawn for “because”, and “because” comes out in its place" in out
    assert "is returned as it is, and nothing is drawn for it" in out
    assert lines[-1].startswith("  84 pairs of texts, 439 runs, ")
    answer = result(capsys, "audit", "--callable", name, "--replay", "--seed", "2")
    row = re.search(r"^\| `audit --callable --replay` \| `(.*?)` \(", PAGE, re.MULTILINE)[1]
    assert [*answer][:-1] == re.sub(r" [\[{].*?[}\]]+(?=,|$)", "", row).split(", ")
    inner = re.search(r"findings \[\{(.*?)\}\]", row)[1].split(", ")
    assert list(answer["findings"][0]) == inner
    assert answer["seed"] == 2
    # A vocabulary without small words shows nothing of this.
    vectors = small_vectors(tmp_path / "small.vec")
    answer = result(capsys, "audit", "--callable", name, "--replay", "--lexicon", vectors)
    assert (answer["findings"], answer["outcome"]) == ([], "not refuted")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--callable", "NOISE"], "--callable needs --epsilon, the ε that is claimed"),
        (["--callable", "NOISE", "--epsilon", "0"], "must be a finite number > 0, got 0"),
        (["--callable", "NOISE", "--epsilon", "many"], "must be a finite number > 0, got many"),
        (["--callable", "noise", "--epsilon", "1"], "named as package.module:function"),
        (["--callable", "no_such:replace", "--epsilon", "1"], "there is no module 'no_such'"),
        (["--callable", "NOISE_", "--epsilon", "1"], "has no 'replace_'"),
        (["--callable", "math:pi", "--epsilon", "1"], "no function but a value of type float"),
        (["--callable", "math:sin", "--epsilon", "1"], "gave no word for any of the words"),
        (
            ["--callable", "NOISE", "--epsilon", "1", "--metric", "cosine"],
            "'any' for any two words",
        ),
        (["--callable", "NOISE", "--epsilon", "1", "--delta", "1"], "delta must be in [0, 1)"),
        (["--callable", "NOISE", "--epsilon", "1", "--samples", "9"], "from 2,000 to 10,000,000"),
        (["--callable", "NOISE", "--epsilon", "1", "--form", "x"], "--form"),
        (["--callable", "NOISE", "--epsilon", "1", "--set", "a=1"], "not for --callable"),
        (["--callable", "NOISE", "--epsilon", "1", "--words", "9"], "not for --callable"),
        (["--callable", "NOISE", "--replay", "--samples", "9"], "--samples and --replay do not go"),
        (["--callable", "NOISE", "--replay", "--words", "9"], "not for --callable"),
        (["--callable", "NOISE", "--replay", "--form", "auto"], "one of text, word, words"),
        (["--callable", "NOISE", "--replay", "--epsilon", "-1"], "finite number > 0, got -1"),
        (["--callable", "no_such:rewrite", "--replay"], "there is no module 'no_such'"),
        (["--mechanism", "tem", "--epsilon", "1", "--replay"], "belong to --callable"),
        (["--callable", "NOISE", "--mechanism", "tem", "--epsilon", "1"], "exclude each other"),
        (["--mechanism", "tem", "--epsilon", "1", "--samples", "9"], "belong to --callable"),
        (["--all", "--metric", "any"], "belong to --callable"),
    ],
)
def test_nonsense_is_one_sentence(
    noise: str, capsys: pytest.CaptureFixture[str], arguments: list[str], message: str
) -> None:
    given = [text.replace("NOISE", noise) for text in arguments]
    code, out, err = run(capsys, "audit", *given)
    assert (code, out) == (2, "")
    assert err.count("\n") == 1
    assert message in err
    assert "Traceback" not in err


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="signals are others there")
def test_an_interrupt_prints_what_is_known(tmp_path: Path) -> None:
    (tmp_path / "slow_noise.py").write_text(
        textwrap.dedent("""
            import pathlib, time

            calls = 0

            def replace(words):
                global calls
                calls += 1
                if calls == 60:  # well within the search
                    pathlib.Path("running").touch()
                time.sleep(0.01)
                return list(words)
        """),
        encoding="utf-8",
    )
    words = small_vectors(tmp_path / "small.vec")
    process = subprocess.Popen(
        [sys.executable, "-m", "dpcore", "audit", "--callable", "slow_noise:replace", "--epsilon",
         "1", "--samples", "10000000", "--lexicon", words, "--form", "words"],
        cwd=tmp_path,
        env=os.environ | {"PYTHONPATH": str(ROOT)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )  # fmt: skip
    end = time.monotonic() + 60
    while not (tmp_path / "running").exists():
        assert time.monotonic() < end
        assert process.poll() is None, process.communicate()
        time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=60)
    assert process.returncode == 130
    assert out.startswith("slow_noise:replace: not refuted (stopped before anything was bounded)")
    assert err == "stopped: what is said rests on the calls until then\n"
