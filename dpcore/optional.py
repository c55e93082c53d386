"""Dependencies: the releases that are needed and installed, and the commands to install them.

The ranges are those of the project: in a checkout from `pyproject.toml` and its requirement files,
in an installation from the metadata and the copies of these files. No package is imported to find
out its release; only `need` imports it.
"""

from __future__ import annotations

import importlib
import threading
import tomllib
import warnings
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from functools import cache
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dpcore.errors import MissingPackageError

if TYPE_CHECKING:
    from packaging.requirements import Requirement


_DISTRIBUTION = "word-privacy-lab"
_PACKAGE = Path(__file__).resolve().parent
_IN_CHECKOUT = {
    "engine": "pip install -r requirements.txt",
    "app": "pip install -r requirements.txt",
    "dask": "pip install -r requirements-dask.txt",
    "learn": "pip install -r requirements-learn.txt",
    "encoder": 'pip install ".[encoder]"',
    "redact": "pip install --no-deps -r requirements-redact.txt",
    "write": "pip install --no-deps -r requirements-write.txt",
    "train": "pip install -r dpcore/lexicon/train/requirements.txt",
}
"""Part of the laboratory -> command that installs its packages, in a checkout."""
_FILES = {
    "redact": "_data/requirements-redact.txt",
    "write": "_data/requirements-write.txt",
    "train": "lexicon/train/requirements.txt",
}
"""Parts that are not extras, and their requirement files in an installation."""


@cache
def _project() -> dict[str, Any] | None:
    """Return the table `project` of pyproject.toml in a checkout; None in an installation."""
    path = _PACKAGE.parent / "pyproject.toml"
    if not path.is_file():
        return None
    project = tomllib.loads(path.read_text(encoding="utf-8")).get("project", {})
    return dict(project) if project.get("name") == _DISTRIBUTION else None


def install(part: str) -> str:
    """Return the command that installs the packages of a part."""
    if _project() is not None:
        return _IN_CHECKOUT[part]
    if part in _FILES:
        options = "" if part == "train" else "--no-deps "
        return f'pip install {options}-r "{_PACKAGE / _FILES[part]}"'
    return (
        f'pip install "{_DISTRIBUTION}[{part}]"'
        if part != "engine"
        else f"pip install {_DISTRIBUTION}"
    )


def install_releases(needed: Iterable[Requirement], part: str) -> str:
    """Return the command that installs these releases and nothing else of a part."""
    options = "--no-deps " if "--no-deps" in install(part) else ""
    return f"pip install {options}" + " ".join(f'"{each.name}{each.specifier}"' for each in needed)


@cache
def requirements(part: str) -> tuple[Requirement, ...]:
    """Return the packages of a part with their ranges, on this system; empty if undeclared."""
    # Late, so that `install` can advise where even this package is missing.
    from packaging.requirements import Requirement

    needed = [each for each in map(Requirement, _declared(part)) if _applies(each, part)]
    # The extra of `dask[distributed]` is a separate distribution.
    more = [Requirement(extra) for each in needed for extra in sorted(each.extras)]
    return (*needed, *more)


def _declared(part: str) -> list[str]:
    project = _project()
    if part in _FILES:
        name = Path(_FILES[part]).name
        path = _PACKAGE.parent / name if project and part != "train" else _PACKAGE / _FILES[part]
        lines = path.read_text(encoding="utf-8").splitlines()
        return [line for line in lines if line and not line.startswith("#")]
    if project is not None:
        if part == "engine":
            return list(project["dependencies"])
        return list(project["optional-dependencies"][part])
    try:
        return metadata.requires(_DISTRIBUTION) or []
    except metadata.PackageNotFoundError:
        return []


def _applies(needed: Requirement, part: str) -> bool:
    """Return True if a requirement belongs to a part, and applies to this system."""
    if needed.marker is None:
        return part == "engine" or part in _FILES or _project() is not None
    if part == "engine" or _project() is not None:
        return needed.marker.evaluate({"extra": ""})
    return needed.marker.evaluate({"extra": part}) and not needed.marker.evaluate({"extra": ""})


def installed(names: Iterable[str]) -> dict[str, str]:
    """Return the versions of the installed packages among `names`, by distribution name."""
    versions = {}
    for name in names:
        try:
            versions[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            continue
    return versions


def fits(needed: Requirement, version: str) -> bool:
    """Return True if an installed version is within the range."""
    return needed.specifier.contains(version, prereleases=True)


def check_engine() -> None:
    """Refuse releases of packages that the engine cannot work with.

    A missing package raises its own error when it is imported; an unsuitable release may fail in
    the middle of the work.

    Raises:
        MissingPackageError: the message names the releases, and the command.
    """
    needed = requirements("engine")
    versions = installed(each.name for each in needed)
    wrong = [e for e in needed if e.name in versions and not fits(e, versions[e.name])]
    if wrong:
        found = " and ".join(f"{each.name} {versions[each.name]}" for each in wrong)
        wanted = " and ".join(f"{each.name}{each.specifier}" for each in wrong)
        raise MissingPackageError(
            f"dpcore needs {wanted}, but {found} is installed: {install_releases(wrong, 'engine')}"
        )


def missing(reason: str, part: str) -> MissingPackageError:
    """Return the error for a missing package.

    Args:
        reason: who needs which package, such as "classifiers need the package scikit-learn".
        part: part of the laboratory to which the package belongs.
    """
    what = {"app": "what the app needs", "train": "what the trainer needs"}.get(part, "it")
    return MissingPackageError(f"{reason}; install {what} with: {install(part)}")


def need(module: str, reason: str, part: str) -> Any:
    """Import a module of a package that may be missing.

    Args:
        module: its dotted name.
        reason: as for `missing`.
        part: as for `missing`.

    Raises:
        MissingPackageError: it is not installed.
    """
    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise missing(reason, part) from error


def need_of_trainer(package: str) -> Any:
    """Import a package that the lexicon trainer needs.

    Raises:
        MissingPackageError: it is not installed.
    """
    reason = f"training a lexicon needs the package {package}, which is not installed"
    return need(package, reason, "train")


# Late imports of scikit-learn, torch, safetensors and pandas, without irrelevant warnings.


_ONE_AT_A_TIME = threading.Lock()


def sklearn(module: str) -> Any:
    """Import a module of scikit-learn; raise MissingPackageError if it is not installed."""
    return need(f"sklearn.{module}", "classifiers need the package scikit-learn", "app")


def torch() -> Any:
    """Import torch, for neural networks; raise MissingPackageError if it is not installed."""
    return need("torch", "neural networks need the package torch", "learn")


def safetensors(module: str) -> Any:
    """Import safetensors, or a module of it; raise MissingPackageError if it is not installed."""
    name = f"safetensors.{module}".rstrip(".")
    return need(name, "checkpoints need the package safetensors", "learn")


def need_pandas(purpose: str) -> Any:
    """Import pandas and check for a parquet engine; an error names the command that installs them.

    Args:
        purpose: beginning of the sentence, such as "recorded results need".
    """
    pandas = need("pandas", f"{purpose} the package pandas", "app")
    need("pyarrow", f"{purpose} the package pyarrow", "app")  # the engine that pandas uses
    return pandas


@contextmanager
def quiet() -> Iterator[None]:
    """Silence convergence warnings: training stops after a fixed number of rounds by design."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", sklearn("exceptions").ConvergenceWarning)
        yield


@contextmanager
def one_thread() -> Iterator[None]:
    """Run linear algebra in one thread: small problems otherwise wait for each other's threads.

    On a busy machine the threads of a matrix product spin until all of them had their turn, which
    makes a training of a tenth of a second take minutes. The setting belongs to the process, so
    only one training at a time has it.
    """
    from threadpoolctl import threadpool_limits

    # Two that overlap would each restore the other's setting.
    with _ONE_AT_A_TIME, threadpool_limits(1):
        yield
