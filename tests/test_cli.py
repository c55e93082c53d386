"""The command line: JSON with stable fields, and one sentence for every wrong input."""

import re
import subprocess
import sys
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import click
import numpy as np
import pytest
from randomgen.chacha import ChaCha

from dpcore.cli.main import COMMANDS
from dpcore.lexicon.catalogue import load
from dpcore.mechanisms.exponential.tem import TruncatedExponential
from dpcore.mechanisms.registry import MECHANISMS, create
from dpcore.rewrite.sentence import draw, prepare
from tests.shell import result, run, small_vectors

ROOT = Path(__file__).parents[1]
SHORT = [kind.short for kind in MECHANISMS.values()]
GUARANTEE = {"kind", "epsilon", "status", "reason", "source", "statement"}


@pytest.fixture(scope="module")
def vectors(tmp_path_factory: pytest.TempPathFactory) -> str:
    return small_vectors(tmp_path_factory.mktemp("lexicon") / "small.vec")


def admissible(name: str, vectors: str) -> str:
    allowed = create(name, load(vectors)).admissible
    return str(min(max(2.0 * allowed.low, 3.0), 0.5 * allowed.high))


@pytest.mark.slow
def test_mechanisms_lists_every_key_with_its_parameters(capsys: pytest.CaptureFixture[str]) -> None:
    listing = result(capsys, "mechanisms")["mechanisms"]
    assert [row["key"] for row in listing] == list(MECHANISMS)
    for row in listing:
        assert row["parameters"].keys() == MECHANISMS[row["key"]].parameters().keys()
        assert all((row["title"], row["summary"], row["source"]))
    _, out, _ = run(capsys, "mechanisms")
    assert all(name in out for name in SHORT)


@pytest.mark.slow
@pytest.mark.parametrize("name", SHORT)
def test_distribution_sums_to_one_and_says_whether_it_is_exact(
    capsys: pytest.CaptureFixture[str], vectors: str, name: str
) -> None:
    answer = result(
        capsys, "distribution", "--mechanism", name, "--epsilon", admissible(name, vectors),
        "--word", "doctor", "--lexicon", vectors, "--draws", "50",
    )  # fmt: skip
    assert answer["mechanism"].startswith(name + ".v")
    assert isinstance(answer["exact"], bool)
    assert sum(answer["probabilities"]) == pytest.approx(1, abs=1e-6)
    assert answer["probabilities"] == sorted(answer["probabilities"], reverse=True)
    assert len(answer["words"]) == len(set(answer["words"])) == len(answer["probabilities"])
    assert answer["guarantee"].keys() >= GUARANTEE


@pytest.mark.slow
@pytest.mark.parametrize("name", SHORT)
def test_path_covers_a_range_of_epsilon_without_gaps(
    capsys: pytest.CaptureFixture[str], vectors: str, name: str
) -> None:
    answer = result(
        capsys, "path", "--mechanism", name, "--word", "doctor", "--seed", "3",
        "--lexicon", vectors,
    )  # fmt: skip
    pieces = answer["pieces"]
    for before, after in pairwise(pieces):
        assert before["to_epsilon"] == after["from_epsilon"]
        assert before["output"] != after["output"]
    if answer["exact"]:
        # Defined above a positive ε only.
        bounded = name in {"truncated-gumbel-repaired", "hyperbolic"}
        assert (pieces[0]["from_epsilon"] > 0) == bounded
        assert pieces[-1]["to_epsilon"] is None


@pytest.mark.slow
@pytest.mark.parametrize("name", SHORT)
def test_rewrite_says_what_became_of_each_token(
    capsys: pytest.CaptureFixture[str], vectors: str, name: str
) -> None:
    answer = result(
        capsys, "rewrite", "--mechanism", name, "--epsilon", admissible(name, vectors),
        "--text", "Terrible weather, Qwertz!", "--lexicon", vectors,
    )  # fmt: skip
    assert [t["input"] for t in answer["tokens"]] == ["Terrible", "weather", ",", "Qwertz", "!"]
    assert [t["in_vocabulary"] for t in answer["tokens"]] == [True, True, True, False, True]
    assert all(
        t.keys() >= {"input", "output", "changed", "in_vocabulary"} for t in answer["tokens"]
    )
    assert "qwertz" not in answer["text"].lower()
    assert answer["guarantee"].keys() >= GUARANTEE
    assert answer["experiment"] is False
    assert answer["released"]


def test_a_seed_repeats_what_the_engine_draws_and_a_release_does_not_repeat(
    capsys: pytest.CaptureFixture[str], vectors: str
) -> None:
    options = (
        "rewrite", "--mechanism", "tem", "--epsilon", "0.1", "--lexicon", vectors,
        "--text", "terrible weather doctor terrible weather doctor",
    )  # fmt: skip
    seeded = result(capsys, *options, "--seed", "9", "--draw", "2")
    lexicon = load(vectors)
    sentence = prepare(options[-1], lexicon)
    assert seeded["text"] == draw(sentence, create("tem", lexicon), 9, 2).at(0.1).text
    assert seeded["experiment"] is True
    texts = {result(capsys, *options)["text"] for _ in range(4)}
    assert len(texts) == 4  # six words, nearly uniform over 300: a repeat has probability 1e-14


def test_the_noise_of_a_release_is_the_cipher_and_that_of_an_experiment_is_not(
    capsys: pytest.CaptureFixture[str], vectors: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Arguments that the command hands to the mechanism, without and with a seed."""
    used = []
    sample, paths = TruncatedExponential.sample, TruncatedExponential.paths

    def watched(method: Callable[..., Any]) -> Callable[..., Any]:
        def noted(self: Any, rng: np.random.Generator, *given: Any, **more: Any) -> Any:
            used.append(rng.bit_generator)
            return method(self, rng, *given, **more)

        return noted

    monkeypatch.setattr(TruncatedExponential, "sample", watched(sample))
    monkeypatch.setattr(TruncatedExponential, "paths", watched(paths))
    options = ("rewrite", "--mechanism", "tem", "--epsilon", "3", "--lexicon", vectors)
    result(capsys, *options, "--text", "weather")
    result(capsys, *options, "--text", "weather", "--seed", "1")
    assert [type(bits) for bits in used] == [ChaCha, np.random.PCG64]


def test_rewrite_reads_a_file_and_standard_input(
    capsys: pytest.CaptureFixture[str],
    vectors: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    file = tmp_path / "text.txt"
    file.write_text("weather\nterrible weather\n", encoding="utf-8")
    options = ("rewrite", "--mechanism", "madlib", "--epsilon", "1000", "--lexicon", vectors)
    assert result(capsys, *options, "--file", str(file))["text"] == "weather\nterrible weather"
    from_pipe = subprocess.run(
        [sys.executable, "-m", "dpcore", *options, "--file", "-"],
        input=b"weather", capture_output=True, cwd=ROOT, check=True,
    )  # fmt: skip
    assert from_pipe.stdout.decode().strip() == "weather"


def test_an_approximate_search_is_for_noise_added_first(
    capsys: pytest.CaptureFixture[str], vectors: str
) -> None:
    options = ("rewrite", "--lexicon", vectors, "--text", "weather", "--approximate-search")
    for name, epsilon in (("madlib", "1000"), ("trlaplace", "0.1"), ("gaussian", "1e6")):
        answer = result(capsys, *options, "--mechanism", name, "--epsilon", epsilon)
        assert answer["experiment"] is False
    for name, epsilon in (("tem", "5"), ("truncated-gumbel", "1e4")):
        code, _, err = run(capsys, *options, "--mechanism", name, "--epsilon", epsilon)
        assert code == 2
        assert "approximate index would break its guarantee" in err
    code, _, err = run(capsys, *options, "--mechanism", "madlib", "--epsilon", "5", "--seed", "1")
    assert (code, "--seed" in err) == (2, True)


def test_parameters_are_set_by_name(capsys: pytest.CaptureFixture[str], vectors: str) -> None:
    base = ("distribution", "--epsilon", "5", "--word", "doctor", "--lexicon", vectors)
    answer = result(capsys, *base, "--mechanism", "tem", "--set", "beta=0.25")
    assert answer["parameters"]["beta"] == 0.25
    answer = result(
        capsys, *base, "--mechanism", "vickrey", "--set", "t=1", "--set", "noise=mahalanobis"
    )
    assert (answer["parameters"]["t"], answer["parameters"]["noise"]) == (1.0, "mahalanobis")


@pytest.mark.slow
@pytest.mark.parametrize("name", SHORT)
@pytest.mark.parametrize("epsilon", ["0", "nan", "-1", "1e400", "inf", "lots", ""])
def test_a_wrong_epsilon_is_one_sentence(
    capsys: pytest.CaptureFixture[str], vectors: str, name: str, epsilon: str
) -> None:
    code, out, err = run(
        capsys, "rewrite", "--mechanism", name, f"--epsilon={epsilon}", "--text", "weather",
        "--lexicon", vectors,
    )  # fmt: skip
    assert (code, out) == (2, "")
    assert re.fullmatch(r"error: epsilon .*\n", err)


WRONG = {
    "the gap of the truncated Gumbel formula": (
        ["--mechanism", "truncated-gumbel", "--epsilon", "14"],
        r"epsilon of truncated-gumbel must be > 16\.\d+ .*",
    ),
    "r of TrLaplace above 1": (
        ["--mechanism", "trlaplace", "--epsilon", "9"],
        r"epsilon of trlaplace must be < 8\.66.*r = .*< 1.*",
    ),
    "an unknown mechanism": (["--mechanism", "magic", "--epsilon", "1"], ".*known are madlib.*"),
    "an unknown parameter": (
        ["--mechanism", "tem", "--epsilon", "1", "--set", "gamma=2"],
        ".*no parameter 'gamma'.*beta.*",
    ),
    "a parameter that is no number": (
        ["--mechanism", "tem", "--epsilon", "1", "--set", "beta=x"],
        "beta of tem must be a number.*",
    ),
    "a parameter that is not a number": (
        ["--mechanism", "tem", "--epsilon", "1", "--set", "beta=nan"],
        "beta .*got nan.*",
    ),
    "a setting without =": (
        ["--mechanism", "tem", "--epsilon", "1", "--set", "beta"],
        "Invalid value for '--set': 'beta' is not NAME=VALUE .*",
    ),
    "cosine, which is no metric": (
        ["--mechanism", "tem", "--epsilon", "1", "--set", "metric=cosine"],
        ".*metric.*angular.*",
    ),
    "an unknown lexicon": (
        ["--mechanism", "tem", "--epsilon", "1", "--lexicon", "no-such-lexicon"],
        ".*no-such-lexicon.*",
    ),
    "a negative seed": (["--mechanism", "tem", "--epsilon", "1", "--seed", "-4"], ".*seed.*"),
    "a negative draw": (
        ["--mechanism", "tem", "--epsilon", "1", "--seed", "4", "--draw", "-1"],
        "Invalid value for '--draw': -1 is not in the range .*",
    ),
}


@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_option_is_one_sentence(capsys: pytest.CaptureFixture[str], name: str) -> None:
    arguments, message = WRONG[name]
    code, out, err = run(capsys, "rewrite", "--text", "weather", *arguments)
    assert (code, out) == (2, "")
    assert re.fullmatch(f"error: {message}\n", err), err


@pytest.mark.parametrize("command", ["distribution", "path"])
def test_an_unknown_word_is_said_with_close_ones(
    capsys: pytest.CaptureFixture[str], command: str
) -> None:
    epsilon = ["--epsilon", "1"] if command == "distribution" else []
    code, _, err = run(capsys, command, "--mechanism", "tem", *epsilon, "--word", "terible")
    assert code == 2
    assert "terrible" in err


def test_a_file_that_is_missing_binary_or_empty_is_one_sentence(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    binary, empty = tmp_path / "binary", tmp_path / "empty"
    binary.write_bytes(b"\x00\xff\xfe")
    empty.write_bytes(b"")
    for file in (tmp_path / "absent", binary, empty, tmp_path):
        code, out, err = run(
            capsys, "rewrite", "--mechanism", "tem", "--epsilon", "1", "--file", str(file)
        )
        assert (code, out) == (2, "")
        assert re.fullmatch(r"error: [^\n]+\n", err)


def test_a_vector_file_cut_in_the_middle_is_one_sentence(
    capsys: pytest.CaptureFixture[str], vectors: str, tmp_path: Path
) -> None:
    cut = tmp_path / "cut.vec"
    cut.write_bytes(Path(vectors).read_bytes()[:5000])
    code, _, err = run(
        capsys, "rewrite", "--mechanism", "tem", "--epsilon", "1", "--text", "a",
        "--lexicon", str(cut),
    )  # fmt: skip
    assert code == 2
    assert re.fullmatch(r"error: [^\n]+\n", err)


WRONG_LINES = {
    "no command": ([], "Missing command .*python -m dpcore --help` says .*"),
    "an unknown command": (["nonsense"], "No such command 'nonsense' .*python -m dpcore --help`.*"),
    "an unknown action": (["lexicon", "burn"], "No such command 'burn' ..* lexicon --help` .*"),
    "a missing option": (["rewrite", "--text", "a"], "Missing option '--mechanism' .*"),
    "an unknown option": (["path", "--words", "a"], "No such option:? .*--words.*[?] .*"),
    "an unknown choice": (
        ["map", "build", "--projection", "tsne"],
        "Invalid value for '--projection': 'tsne' is not one of 'umap', .*, 'all' .*",
    ),
    "a seed that is no number": (
        ["path", "--mechanism", "tem", "--word", "a", "--seed", "x"],
        "Invalid value for '--seed': 'x' is not a valid integer .*",
    ),
    "a value that is missing": (["path", "--seed"], "Option '--seed' requires an argument .*"),
    "too many words": (["mechanisms", "a", "b"], "Got unexpected extra arguments .*"),
    "two that exclude each other": (
        ["deniability", *("--mechanism", "tem", "--epsilon", "1", "--sample", "3", "--words", "a")],
        "--words and --sample exclude each other: give one of them .* deniability --help` .*",
    ),
    "none of several": (
        ["deniability", "--mechanism", "tem", "--epsilon", "1"],
        "give one of --words, --sample, --corpus ..*",
    ),
    "the default and another": (
        ["utility", *("--mechanism", "tem", "--epsilon", "1"), "--labels", "topic", "--file", "a"],
        "--labels and --file exclude each other: .*",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", WRONG_LINES)
def test_a_command_line_that_cannot_be_read_is_one_sentence_with_where_to_look(
    capsys: pytest.CaptureFixture[str], name: str
) -> None:
    arguments, message = WRONG_LINES[name]
    code, out, err = run(capsys, *arguments)
    assert (code, out) == (2, "")
    assert re.fullmatch(f"error: {message}\n", err), err
    assert err.endswith("--help` says what it takes)\n")


def test_every_command_has_help_and_says_what_it_prints_for_programs(
    capsys: pytest.CaptureFixture[str],
) -> None:
    listing = run(capsys, "--help")[1]
    for name in COMMANDS.names:
        assert re.search(rf"^  {name} +\w", listing, re.MULTILINE)
        command = COMMANDS.get_command(click.Context(COMMANDS), name)
        actions: list[list[Any]] = [[]]
        if isinstance(command, click.Group):
            actions = [[action] for action in command.commands]
        for action in actions:
            code, out, err = run(capsys, name, *action, "--help")
            assert (code, err) == (0, "")
            assert "--json" in out
            assert out.splitlines()[2].strip()


def test_help_is_quick_because_nothing_heavy_is_imported() -> None:
    program = (
        "import sys; from dpcore.cli.main import main; assert main(['--help']) == 0; "
        "loaded = {name.split('.')[0] for name in sys.modules}; "
        "print(sorted(loaded & {'numpy', 'scipy', 'faiss', 'pandas', 'torch', 'tqdm'}))"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, cwd=ROOT, check=True
    )
    assert done.stdout.splitlines()[-1] == "[]"


def test_a_wrong_command_line_has_no_traceback() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "dpcore", "nonsense"],
        capture_output=True, text=True, cwd=ROOT, check=False,
    )  # fmt: skip
    assert done.returncode == 2
    assert done.stderr.startswith("error: ")
    assert done.stderr.count("\n") == 1


@pytest.mark.slow
def test_a_reader_that_goes_away_hears_no_complaint() -> None:
    listing = f"{sys.executable} -m dpcore mechanisms --lexicon nothing --help | head -c 1"
    for command in (listing, f"{sys.executable} -m dpcore lexicon list | true"):
        done = subprocess.run(
            ["bash", "-o", "pipefail", "-c", command],
            capture_output=True, text=True, cwd=ROOT, check=False,
        )  # fmt: skip
        assert (done.returncode, done.stderr) == (0, "")


def test_without_its_packages_the_command_line_says_what_to_install() -> None:
    program = (
        "import runpy, sys; sys.modules['numpy'] = None; "
        "sys.argv = ['dpcore', 'mechanisms']; runpy.run_module('dpcore', run_name='__main__')"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, cwd=ROOT, check=False
    )
    assert done.returncode == 1
    assert done.stderr == ("error: the package numpy is missing: pip install -r requirements.txt\n")


def test_the_program_opens_the_app_or_is_the_shell(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from dpcore import __main__ as program

    calls: list[list[str]] = []
    monkeypatch.setattr("runpy.run_module", lambda *_, **__: calls.append(sys.argv))
    script = str(ROOT / "app.py")
    for typed in ([], ["app"], ["app", "--server.port", "9"]):
        monkeypatch.setattr(sys, "argv", ["word-privacy-lab", *typed])
        assert program.lab() == 0
        assert calls.pop() == ["streamlit", "run", script, *typed[1:]]
    monkeypatch.setattr(sys, "argv", ["word-privacy-lab", "lexicon", "list"])
    assert program.lab() == 0
    assert "wpl-25k" in capsys.readouterr().out
    assert not calls
    monkeypatch.setattr(program, "find_spec", lambda _: None)
    monkeypatch.setattr(sys, "argv", ["word-privacy-lab"])
    with pytest.raises(SystemExit, match="packages of the app are missing: pip install"):
        program.lab()


def test_rewrite_says_how_many_words_stayed_and_are_unknown(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    capitals = tmp_path / "capitals.txt"
    capitals.write_text("MY 0 0\nDOCTOR 90 0\nSAID 0 90\nso 90 90\n", encoding="utf-8")
    options = ("rewrite", "--mechanism", "optimal", "--epsilon", "30", "--lexicon", str(capitals))
    for text, stayed, told in (
        ("so so so so", 4, "4 of 4 words stayed\n"),
        ("so so so Ann", 3, "1 of 4 words are not in the vocabulary\n"),
        (
            "my doctor said so",
            1,
            "warning: 3 of 4 words are not in this vocabulary: is it in capitals or with prefixes, "
            "or of another language?\n",
        ),
    ):
        code, out, err = run(capsys, *options, "--text", text)
        assert code == 0
        assert told in err
        assert "stayed" not in out
        answer = result(capsys, *options, "--text", text)
        assert answer["words"] == 4
        assert answer["not_in_vocabulary"] == 4 - stayed
        assert answer["stayed"] >= stayed  # a stand-in never counts, but for what was typed
        assert answer["stayed"] == sum(not token["changed"] for token in answer["tokens"])
