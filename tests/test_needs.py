"""Messages of a run without the optional packages, about the tests that need them."""

import importlib
import os
import subprocess
import sys
from collections.abc import Callable

import pytest

from dpcore import optional
from tests.needs import ROOT, missing, stopped_without_torch

STRICT = ("CI", "DPCORE_REQUIRE_ALL")


def test_a_package_is_absent_with_its_modules_and_no_other(
    uninstalled: Callable[[str], None],
) -> None:
    uninstalled("plotly")
    for name in ("plotly", "plotly.graph_objects"):
        with pytest.raises(ModuleNotFoundError, match="No module named 'plotly'"):
            importlib.import_module(name)
    importlib.import_module("platformdirs")  # begins alike, and is another package


def test_want_of_torch_deep_within_a_call_skips_the_test(
    uninstalled: Callable[[str], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    uninstalled("torch")
    for name in STRICT:
        monkeypatch.delenv(name, raising=False)
    with (
        pytest.raises(pytest.skip.Exception, match=r"requirements-learn\.txt"),
        stopped_without_torch(),
    ):
        optional.torch()
    monkeypatch.setenv(STRICT[0], "true")
    with pytest.raises(pytest.fail.Exception, match="no such thing"):
        missing("no such thing")


@pytest.mark.slow
def test_a_run_without_torch_skips_and_says_what_to_install() -> None:
    environment = {name: value for name, value in os.environ.items() if name not in STRICT}
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--without", "torch"]
    answer = subprocess.run(
        [*command, "tests/cli/test_robust_network.py", "tests/learn/test_checkpoint.py"],
        cwd=ROOT,
        env=environment,
        capture_output=True,
        text=True,
        check=True,
    )
    assert "pip install -r requirements-learn.txt" in answer.stdout
