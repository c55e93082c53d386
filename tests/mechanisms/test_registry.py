"""Keys, short names, and settings as a command line or a link gives them."""

import importlib
import json
import os
import re
import subprocess
import sys
import textwrap
import threading
import warnings
from pathlib import Path
from typing import Any

import pytest

from dpcore.errors import ParameterError, UnknownMechanismError
from dpcore.guarantee import EpsilonMeaning
from dpcore.lexicon.lexicon import Lexicon
from dpcore.mechanisms import registry
from dpcore.mechanisms.additive.euclidean import (
    Mahalanobis,
    MultivariateLaplace,
    RandomProjection,
    Vickrey,
)
from dpcore.mechanisms.mechanism import Mechanism
from dpcore.mechanisms.registry import (
    MECHANISMS,
    PluginWarning,
    Registry,
    create,
    package_of,
    resolve,
)
from tests.mechanisms.contract import SMALL
from tests.mechanisms.installed import MINE, install
from tests.needs import ROOT

# Mechanisms of other packages: they appear by `pip install`, and what is broken stops nothing.


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """A folder in which the tiny package is installed."""
    return install(tmp_path, {"tiny_noise": MINE}, {"mine": "tiny_noise:Mine"})


def asked_anew(monkeypatch: pytest.MonkeyPatch, place: Path) -> Registry:
    """The registry of a process that has this folder on its path."""
    monkeypatch.syspath_prepend(place)
    importlib.invalidate_caches()
    for module in [name for name in sys.modules if re.match(r"\w+_noise$|noise_\w+$", name)]:
        monkeypatch.delitem(sys.modules, module)
    fresh = Registry(registry._OURS)
    monkeypatch.setattr(registry, "MECHANISMS", fresh)
    return fresh


def program(place: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run dpcore in a process of its own, with this folder on its path."""
    return subprocess.run(
        [sys.executable, *arguments],
        cwd=ROOT,
        env=os.environ | {"PYTHONPATH": str(place)},
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.slow
def test_an_installed_mechanism_is_one_of_all(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    kinds = asked_anew(monkeypatch, place)
    assert list(kinds)[:-1] == list(registry._OURS)
    assert list(kinds)[-1] == "mine.v1"
    assert len(kinds) == len(registry._OURS) + 1
    assert "mine.v1" in kinds
    assert kinds.problems == ()
    mine: Any = create("mine", SMALL, {"share": "0.5"})
    assert (resolve("mine"), mine.share) == (type(mine), 0.5)
    assert package_of(type(mine)) == "tiny-noise 0.3"
    assert package_of(resolve("tem")) is None
    assert mine.replace("w0", 2.0) in SMALL


@pytest.mark.slow
def test_it_is_listed_in_the_shell_as_not_ours(place: Path) -> None:
    done = program(place, "-m", "dpcore", "mechanisms")
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    lines = done.stdout.splitlines()
    (start,) = [i for i, line in enumerate(lines) if line.startswith("mine ")]
    assert "A mechanism of mine  [metric; ε > 0]" in lines[start]
    assert "From the package tiny-noise 0.3: not one of ours." in lines[start + 2]
    assert "--set share=1.0: of what is allowed" in lines[start + 3]
    rows = json.loads(program(place, "-m", "dpcore", "mechanisms", "--json").stdout)["mechanisms"]
    assert {row["name"]: row["package"] for row in rows}["mine"] == "tiny-noise 0.3"
    assert sum(row["package"] is None for row in rows) == len(registry._OURS)
    used = program(
        place, "-m", "dpcore", "distribution", "--mechanism", "mine", "--epsilon", "2",
        "--word", "doctor",
    )  # fmt: skip
    assert "doctor" in used.stdout, used.stderr


@pytest.mark.full
def test_its_own_tests_may_be_the_contract(place: Path, tmp_path: Path) -> None:
    """With plain pytest, outside this repository; and the contract is not one that all pass."""
    tests = tmp_path / "test_mine.py"
    tests.write_text(
        textwrap.dedent("""
            from dataclasses import dataclass

            from dpcore.testing import MechanismContract
            from tiny_noise import Mine


            class TestMine(MechanismContract):
                kind = Mine


            class Twice(Mine):  # the factor 2 is forgotten: its promise is false
                def log_law(self, word, epsilon, *, ranking=None):
                    return super().log_law(word, 2 * self.check_epsilon(epsilon))


            class TestTwice(MechanismContract):
                kind = Twice
        """),
        encoding="utf-8",
    )
    path = os.pathsep.join((str(place), str(ROOT)))
    options = ["-q", "-p", "no:cacheprovider", "--rootdir", str(tmp_path)]
    done = subprocess.run(
        [sys.executable, "-m", "pytest", *options, str(tests)],
        cwd=tmp_path,
        env=os.environ | {"PYTHONPATH": path},
        capture_output=True,
        text=True,
        check=False,
    )
    failed = [line for line in done.stdout.splitlines() if line.startswith("FAILED")]
    assert len(failed) == 1, done.stdout
    assert "TestTwice::test_a_proved_guarantee_holds_exactly_on_a_line" in failed[0]
    assert "43 passed" in done.stdout
    assert re.search(r"^E +assert .*<= 1e-15", done.stdout, re.MULTILINE)  # what did not hold


@pytest.mark.slow
def test_the_contract_needs_no_pytest(place: Path) -> None:
    code = (
        "import sys; from dpcore.testing import MechanismContract; from tiny_noise import Mine;"
        "case = type('Case', (MechanismContract,), {'kind': Mine})();"
        "case.setup_method(case.test_guarantee_is_data); case.test_guarantee_is_data();"
        "print('pytest' in sys.modules)"
    )
    done = program(place, "-c", code)
    assert done.stdout == "False\n", done.stderr


BROKEN = {
    "raising": ("raise RuntimeError('no model\\n here')", "RuntimeError: no model here"),
    "ending": ("raise SystemExit('bye')", "SystemExit: bye"),
    "lacking": ("import no_such_package_at_all", "No module named 'no_such_package_at_all'"),
    "without": ("x = 1", "has no attribute 'Mine'"),
    "number": ("Mine = 3", "no class that extends dpcore's Mechanism"),
    "other": ("class Mine: pass", "no class that extends dpcore's Mechanism"),
    "abstract": (
        "from dpcore.mechanisms.mechanism import Mechanism\nclass Mine(Mechanism): pass",
        "Mine does not say guarantee, law, paths, sample",
    ),
    "taken": (MINE.replace('"mine.v1", "mine"', '"tem.v9", "tem"'), "'tem' belongs to the lab"),
    "unversioned": (MINE.replace("mine.v1", "mine"), "key must be short and version"),
    "shouting": (MINE.replace('"mine.v1", "mine"', '"Mine.v1", "Mine"'), "in small letters"),
    "untitled": (MINE.replace('"A mechanism of mine"', '""'), "title must be a text"),
    "citing": (MINE + '    cited = ("someone2024",)\n', "cited is for sources of the laboratory"),
    "typed": (MINE.replace("share: float", "share: list"), "parameter share must be annotated"),
    "meaning": (MINE.replace("meaning = EpsilonMeaning.METRIC", "meaning = 1"), "EpsilonMeaning"),
}


def test_what_is_broken_is_named_and_left_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    modules = {f"noise_{name}": source for name, (source, _) in BROKEN.items()}
    place = install(
        tmp_path,
        modules | {"tiny_noise": MINE},
        {name: f"noise_{name}:Mine" for name in BROKEN} | {"mine": "tiny_noise:Mine"},
    )
    kinds = asked_anew(monkeypatch, place)
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        assert list(kinds)[-1] == "mine.v1"
    assert len(kinds.problems) == len(BROKEN)
    assert [str(w.message) for w in told if w.category is PluginWarning] == list(kinds.problems)
    for name, (_, reason) in BROKEN.items():
        (said,) = [text for text in kinds.problems if f"mechanism '{name}'" in text]
        assert said.startswith(f"the mechanism '{name}' of the package tiny-noise 0.3 is left out")
        assert reason in said
        assert "\n" not in said
    assert resolve("tem").key == "tem.v1"
    with pytest.raises(UnknownMechanismError, match="known are madlib"):
        resolve("number")


@pytest.mark.slow
def test_of_two_with_one_name_the_first_stays(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for folder, name in (("a", "b-noise"), ("b", "a-noise")):
        (tmp_path / folder).mkdir()
        install(
            tmp_path / folder, {f"{name[0]}_noise": MINE}, {"mine": f"{name[0]}_noise:Mine"}, name
        )
    monkeypatch.syspath_prepend(tmp_path / "a" / "installed")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        kinds = asked_anew(monkeypatch, tmp_path / "b" / "installed")
        assert kinds.packages == {"mine.v1": "a-noise 0.3"}
    assert kinds.problems == (
        "the mechanism 'mine' of the package b-noise 0.3 is left out: the name 'mine' belongs to "
        "a-noise 0.3: choose another one",
    )


@pytest.mark.full
def test_one_that_cannot_be_made_is_refused_with_its_package(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = MINE + "\n    def __post_init__(self):\n        raise OSError('no file of weights')\n"
    place = install(tmp_path, {"tiny_noise": source}, {"mine": "tiny_noise:Mine"})
    asked_anew(monkeypatch, place)
    with pytest.raises(
        ParameterError, match=r"mine, from the package tiny-noise 0.3, cannot be made: OSError"
    ):
        create("mine", SMALL)
    done = program(place, "-m", "dpcore", "mechanisms")
    assert done.returncode == 0
    assert done.stderr.startswith("warning: mine, from the package tiny-noise 0.3")
    assert "\nmine " not in done.stdout
    assert "\ntem " in done.stdout


@pytest.mark.full
def test_a_broken_one_is_a_line_in_the_shell(tmp_path: Path) -> None:
    place = install(tmp_path, {"tiny_noise": "1/0"}, {"mine": "tiny_noise:Mine"})
    done = program(place, "-m", "dpcore", "mechanisms", "--json")
    assert done.returncode == 0
    assert done.stderr == (
        "warning: the mechanism 'mine' of the package tiny-noise 0.3 is left out: "
        "ZeroDivisionError: division by zero\n"
    )
    json.loads(done.stdout)
    doctor = json.loads(program(place, "-m", "dpcore", "doctor", "--json").stdout)
    (finding,) = [f for f in doctor["findings"] if f["name"] == "mechanisms of other packages"]
    assert finding["state"] == "optional"
    assert "ZeroDivisionError" in finding["found"]


def test_the_registry_is_asked_once_by_many_threads(
    place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kinds = asked_anew(monkeypatch, place)
    seen: list[int] = []
    threads = [threading.Thread(target=lambda: seen.append(len(kinds))) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert seen == [len(registry._OURS) + 1] * 8


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
