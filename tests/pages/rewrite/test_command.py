"""The commands that the page shows print the rows that the page shows."""

import shlex

import numpy as np
import pytest

from dpcore.cli.main import main
from dpcore.mechanisms.additive.additive import SharedDirections
from dpcore.mechanisms.registry import MECHANISMS
from dpcore.rewrite.policy import Treatment, UnknownWordPolicy
from dpcore.rewrite.sentence import prepare
from dpcore.rewrite.tokens import CasePolicy
from pages.rewrite.scene import RewriteScene
from pages.rewrite.tables import commands
from pages.shared import session
from pages.shared.session import Bench, admissible
from pages.shared.sidebar import Choices

TEXT = "Anna's $(dog) `barks`; qqzzyyxx said \"it's 3 o'clock\"!"


@pytest.mark.slow
@pytest.mark.parametrize("key", list(MECHANISMS))
def test_the_command_prints_the_row(key: str, capsys: pytest.CaptureFixture[str]) -> None:
    words = session.lexicon("default")
    settings = (("t", 0.5),) if key.startswith("vickrey") else ()
    mechanism = session.mechanism(words, key, settings)
    treatment = Treatment(UnknownWordPolicy.MASK, True, CasePolicy.SENTENCE)
    sentence = prepare(TEXT, words, treatment)
    bench = Bench(sentence, SharedDirections())
    grid = admissible(mechanism)
    epsilon = float(grid[np.searchsorted(grid, grid[-1] / 20)])
    choices = Choices("default", treatment, ((key, settings),))
    scene = RewriteScene(bench, (mechanism,), {key: epsilon}, mechanism, 0, 5, 3, choices, TEXT)
    (line,) = commands(scene)
    arguments = shlex.split(line)
    assert arguments[:3] == ["python", "-m", "dpcore"]
    assert main(arguments[3:]) == 0
    shown = bench.draw(mechanism, 5, 3).at(epsilon).text
    assert capsys.readouterr().out == shown + "\n"
