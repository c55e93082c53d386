"""The networks that come along as victims of the attack: step by step, certificates, refusals."""

import shlex
from collections.abc import Callable

import pytest
from streamlit.testing.v1 import AppTest

from dpcore.attack.genetic import Genetic
from dpcore.learn.classifiers import NEIGHBOURS
from dpcore.lexicon.catalogue import load
from pages.robustness import attack_work
from pages.robustness import attack_work as victims
from pages.robustness.words_work import Rules
from tests import needs
from tests.pages.app import open_link, shown_text, table
from tests.shell import result

ATTACK = {"robust_view": "Attack", "attack_victim": "network"}


@pytest.mark.slow
def test_no_attack_gets_below_the_bounds_of_a_network() -> None:
    needs.torch()
    # The bounds hold for changes in all places, so also for an attack that may change all of them.
    settings, lexicon = Genetic(20, 10, 1.0), load()
    certified: list[float] = []
    for name in victims.NETWORKS:
        hunt = attack_work.Hunt(None, 1.0, Rules(), name, NEIGHBOURS, settings, 0)
        trial = attack_work.trial(lexicon, hunt, 24, lambda *_: None)
        assert trial.certified is not None
        assert trial.certified <= trial.accuracy.accuracy <= trial.accuracy.clean
        certified.append(trial.certified)
    assert certified[-1] > 0.25  # the second was trained for it


@pytest.mark.slow
def test_the_command_makes_the_same_attack(capsys: pytest.CaptureFixture[str]) -> None:
    needs.torch()
    test = open_link("robustness", **ATTACK)
    steps = table(test, "change", "becomes", "probability")
    test.session_state["taking"] = True
    command = next(code.value for code in test.run().code if "robust attack" in code.value)
    assert "--checkpoint normal" in command
    rows = result(capsys, *shlex.split(command)[3:])["rows"]
    assert [row["new"] for row in rows[1:]] == steps["becomes"].tolist()
    assert [row["probability"] for row in rows[1:]] == pytest.approx(steps["probability"].tolist())


@pytest.mark.slow
@pytest.mark.parametrize(
    ("link", "why"),
    [
        ({}, "was trained with another vocabulary"),
        ({"attack_labels": "topic"}, "the networks that come along read sentiment"),
        ({"attack_labels": "topic", "attack_part": "A sample of texts"}, "read sentiment"),
    ],
)
def test_a_network_reads_its_own_words_and_labels(
    opened: Callable[..., AppTest], link: dict[str, str], why: str
) -> None:
    needs.torch()
    test = opened(**ATTACK, **link)
    for button in test.button:
        if button.key == "sample_start":
            test = button.click().run()
    assert why in shown_text(test)


def test_without_torch_the_way_to_install_it_is_said(
    opened: Callable[..., AppTest], uninstalled: Callable[[str], None]
) -> None:
    uninstalled("torch")
    assert "pip install -r requirements-learn.txt" in shown_text(opened(**ATTACK))
