"""A mechanism of another package on the pages: offered as the others are, and named as not ours."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.mechanisms.installed import MINE, install
from tests.needs import ROOT

SEEN = """
import json, sys
from pages.opening import warmup
from tests.pages.app import open_link

warmup._look_ahead = lambda: None  # a thread that computes when the process ends would abort it

test = open_link(*json.loads(sys.argv[1]), **json.loads(sys.argv[2]))
texts = [str(e.value) for kind in ("markdown", "text", "error") for e in getattr(test, kind)]
pills = {e.key: [list(e.options), list(e.value), e.help] for e in test.pills}
boxes = {e.key: list(e.options) for e in test.selectbox}
print(json.dumps([[str(e.value) for e in test.exception], texts, pills, boxes]))
"""


def seen(place: Path, page: str, **link: Any) -> tuple[list[str], list[str], Any, Any]:
    """Exceptions, texts, choices of several and of one of a page, in a process of its own."""
    done = subprocess.run(
        [sys.executable, "-c", SEEN, json.dumps([page]), json.dumps(link)],
        cwd=ROOT,
        env=os.environ | {"PYTHONPATH": os.pathsep.join((str(place), str(ROOT)))},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    first, second, third, fourth = json.loads(done.stdout.splitlines()[-1])
    return first, second, third, fourth


@pytest.mark.slow
def test_an_installed_mechanism_rewrites_on_the_page(tmp_path: Path) -> None:
    place = install(tmp_path, {"tiny_noise": MINE}, {"mine": "tiny_noise:Mine"})
    errors, texts, pills, _ = seen(place, "rewrite", metric=["mine", "tem"])
    assert errors == []
    options, value, explained = pills["metric"]
    assert "mine" in options
    assert sorted(value) == ["mine", "tem"]
    assert "falls exponentially with its distance (from the package tiny-noise 0.3)" in explained
    assert not any("left out" in text for text in texts)
    errors, texts, _, boxes = seen(place, "attacker", attacked="mine")
    assert errors == []
    assert "mine" in boxes["attacked"]
    assert any("(from the package tiny-noise 0.3)" in text for text in texts)


@pytest.mark.slow
def test_a_broken_one_is_named_and_the_page_works(tmp_path: Path) -> None:
    place = install(
        tmp_path,
        {"tiny_noise": MINE + "\n    def __post_init__(self):\n        raise OSError('no file')\n",
         "torn_noise": "1/0"},
        {"mine": "tiny_noise:Mine", "torn": "torn_noise:Torn"},
    )  # fmt: skip
    errors, texts, pills, _ = seen(place, "rewrite")
    assert errors == []
    assert "torn" not in pills["metric"][0]
    (said,) = [text for text in texts if "left out" in text]
    assert said.startswith("The mechanism 'torn' of the package tiny-noise 0.3 is left out: Zero")
    errors, texts, _, _ = seen(place, "rewrite", metric=["mine"])
    assert errors == []
    assert any("from the package tiny-noise 0.3, cannot be made: OSError" in text for text in texts)
