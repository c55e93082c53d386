"""The view of pictures: certified accuracy, one picture, the slides' condition, Rényi privacy."""

import ast
import importlib
import json
import re
import subprocess
import sys
from collections.abc import Callable
from types import ModuleType

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

from dpcore.learn.pixeldp.digits import digits, picture_text
from dpcore.outwards import at_least
from dpcore.plots.style import percent
from pages.robustness import pictures_work
from pages.robustness.pictures_work import ORDINARY, PICTURE, PROVED, SLIDES, TIGHT
from tests.needs import ROOT
from tests.pages.app import component, dials, figures, methods, shown_text, table
from tests.pages.robustness.reading import curve

Opened = Callable[..., AppTest]


def test_the_first_view_is_certified_accuracy_computed_now(opened: Opened) -> None:
    test = opened()
    figure, *_ = figures(test)
    lines = {name: curve(figure, name) for name in (PROVED, TIGHT, SLIDES, ORDINARY)}
    sizes = sorted(lines[PROVED])
    assert all(lines[PROVED][size] <= lines[TIGHT][size] for size in sizes)
    assert any(lines[SLIDES][size] > lines[TIGHT][size] for size in sizes)
    assert lines[PROVED][0.0] > 0.8
    shown = shown_text(test)
    assert "computed now" in shown
    assert "The slides' line is no certificate" in shown
    assert f"{PROVED}: {percent(lines[PROVED][0.0])}" in methods(test)


@pytest.mark.slow
def test_the_page_shows_what_its_command_prints(opened: Opened) -> None:
    test = opened(digits_scale="0.35", seed="5", digits_draws="100", digits_bound="Hoeffding")
    test.session_state["taking"] = True
    figure, *_ = figures(test.run())
    command = next(code.value for code in test.code if "robust digits" in code.value)
    answer = subprocess.run(
        [sys.executable, *command.split()[1:], "--json"],
        cwd=ROOT, check=True, capture_output=True, text=True,
    )  # fmt: skip
    rows = [row for row in json.loads(answer.stdout)["rows"] if row["bound"] == "hoeffding"]
    for name, column in ((PROVED, "certified"), (TIGHT, "certified_tight")):
        line = curve(figure, name)
        sizes = sorted(line)
        for row in rows:
            if row["size"] <= sizes[-1]:
                # Certified accuracy falls with the size: a value between two drawn ones.
                below = max(size for size in sizes if size <= row["size"])
                above = min((size for size in sizes if size >= row["size"]), default=sizes[-1])
                assert line[above] <= row[column] <= line[below]


@pytest.mark.slow
def test_the_first_screen_is_a_picture_with_its_radius_and_a_dial(
    opened: Opened, capsys: pytest.CaptureFixture[str]
) -> None:
    # A seed of its own: no other test has trained its classifiers.
    test = opened(digits_scale="0.5", digits_picture="4", seed="31")
    noise = pictures_work.Noise(scale=0.5, seed=31)
    size, _, place = pictures_work.of_picture(noise, pictures_work.ScoreBound(), 4)
    assert place >= 0
    board = component(test, "robustness")
    assert board["radius text"].startswith(f"certified: up to {at_least(size, 3)} L2, as one pixel")
    dial = dials(test)["digits_scale"]
    step = pictures_work.SCALES.index(0.5)
    assert dial["step"] == step
    known = [each["left"][1] for each in dial["steps"]]
    assert known[step] == f"one pixel by {at_least(size, 2, times=100)} %"
    assert dial["steps"][step]["left"][0] == f"Certified up to {at_least(size, 3)} L2"
    assert set(known[:step] + known[step + 1 :]) == {"…"}
    assert dial["steps"][0]["spoken"] == "noise of scale 0.02"
    test.session_state["taking"] = True
    cell = next(code.value for code in test.run().code if "certify(" in code.value)
    capsys.readouterr()
    exec(cell, {})
    answer, numbers = capsys.readouterr().out.strip().split("\n")
    assert float(numbers.split()[0]) == size
    assert f"Read as {answer}" in board["finding"]
    assert "lecuyer2019pixeldp" in shown_text(test)
    # The dial rests elsewhere: this scale alone is trained.
    test.session_state["digits_scale"] = 0.7
    test.query_params["digits_scale"] = "0.7"
    left = [each["left"][1] for each in dials(test.run())["digits_scale"]["steps"]]
    assert len([text for text in left if text != "…"]) == 2
    assert "0.7" in test.query_params["digits_scale"]


@pytest.mark.slow
def test_the_number_of_abstentions_is_that_of_the_votes(opened: Opened) -> None:
    shown = shown_text(opened(digits_error="0.0001", digits_scale="0.7"))
    count = int(re.search(r"It abstains on (\d+) of 450", shown)[1])
    certificates = pictures_work.certified(
        pictures_work.Noise(scale=0.7), pictures_work.ScoreBound(error=0.0001)
    )
    assert count == int((certificates.low <= certificates.high).sum()) > 0


def test_laplace_noise_has_no_delta_and_the_slides_no_line(opened: Opened) -> None:
    test = opened(digits_noise="Laplace")
    figure, *_ = figures(test)
    assert SLIDES not in {trace.get("name") for trace in figure["data"]}
    assert "δ = 0" in shown_text(test)


@pytest.mark.slow
@pytest.mark.parametrize("place", ["in the picture", "after the first layer", "in an auto-encoder"])
def test_one_picture_has_votes_bounds_and_a_certificate(opened: Opened, place: str) -> None:
    test = opened(digits_part="One picture", digits_place=place, digits_picture="7")
    _, votes, growing = figures(test)
    assert len(component(test, "robustness")["noisy"]) in {32, 64}
    shares = votes["data"][0]["y"]
    assert sum(shares) == pytest.approx(1.0)
    label = str(digits().test_labels[7])
    shown = shown_text(test)
    assert component(test, "robustness")["label"] == label
    assert "Clopper–Pearson: it " in shown
    assert "Hoeffding: it " in shown
    assert len(growing["data"][0]["x"]) == len(pictures_work.SCALES)


def test_the_default_picture_is_the_clearest_of_all() -> None:
    noise, how = pictures_work.Noise(), pictures_work.ScoreBound()
    means = pictures_work.noisy_scores(noise).scores.means
    own = means[np.arange(len(means)), pictures_work.labels(noise)]
    assert own.argmax() == PICTURE
    sizes = pictures_work.certified(noise, how).sizes
    assert sizes[PICTURE] == sizes.max()


def test_a_painted_picture_has_votes_of_its_own_and_a_size_beside_the_radius(
    opened: Opened, capsys: pytest.CaptureFixture[str]
) -> None:
    picture = digits().test[PICTURE]
    size, _, _ = pictures_work.of_picture(
        pictures_work.Noise(), pictures_work.ScoreBound(), PICTURE
    )
    board = component(opened(), "robustness")
    assert board["levels"] == board["original"] == picture_text(picture)
    assert "Read as 4, correctly, in 200 of 200 draws" in board["finding"]
    within, beyond = picture.copy(), picture.copy()
    within[0] = 0.25
    beyond[:8] = 1.0 - beyond[:8].round()
    beyond[8:24] = 0.0
    assert size > 0.25
    board = component(opened(painted=picture_text(within)), "robustness")
    assert board["finding"].startswith("Within the certified radius")
    assert board["size text"] == "your change: 0.25 L2"
    assert board["size"] < board["radius"]
    test = opened(painted=picture_text(beyond))
    board = component(test, "robustness")
    assert board["size"] > board["radius"]
    assert board["finding"].startswith(("You have left", "Flipped"))
    test.session_state["taking"] = True
    cell = next(code.value for code in test.run().code if "picture_of" in code.value)
    capsys.readouterr()
    exec(cell, {})
    *_, length, votes = capsys.readouterr().out.strip().split("\n")
    assert float(length) == np.linalg.norm(beyond - picture)
    counted = {str(name): votes / 200 for name, votes in ast.literal_eval(votes).items()}
    assert {name: share for name, share, _ in board["votes"]} == pytest.approx(counted)


@pytest.mark.parametrize("painted", ["", "0", "<b>" * 22, "g" * 65, "G" * 64, "-1" * 32])
def test_nonsense_in_place_of_a_picture_is_the_picture_itself(opened: Opened, painted: str) -> None:
    test = opened(painted=painted, digits_picture="11")
    assert component(test, "robustness")["levels"] == picture_text(digits().test[11])
    assert "painted" not in test.query_params


def test_a_painting_ends_with_its_picture(opened: Opened) -> None:
    test = opened(painted="0" * 64)
    assert component(test, "robustness")["levels"] == "0" * 64
    test.slider(key="digits_picture").set_value(11).run()
    assert component(test, "robustness")["levels"] == picture_text(digits().test[11])
    assert "painted" not in test.query_params


def test_the_counterexample_keeps_the_promise_and_breaks_the_condition(opened: Opened) -> None:
    test = opened(digits_part="The slides' condition", slides_epsilon="0.5", slides_delta="0.02")
    shown = shown_text(test)
    assert "refuted" in shown
    assert "no counterexample exists" in shown
    laws = table(test, "at x", "at x′, an attack away")
    p, q = laws["at x"].to_numpy(), laws["at x′, an attack away"].to_numpy()
    e = np.exp(0.5)
    assert p[0] > e**2 * p[1] + 1.5 * 0.02  # the slides' condition at x
    assert q[0] <= q[1] + 1e-9  # and class k is not ahead at x′
    for first, other in ((p, q), (q, p)):
        assert np.maximum(first - e * other, 0).sum() <= 0.02 + 1e-9
    assert not p[0] > e**2 * p[1] + (1 + e) * 0.02 + 1e-9  # PixelDP's does not hold


def test_robust_is_private_where_every_input_occurs(opened: Opened) -> None:
    test = opened(digits_part="Robust is private")
    assert "pairs of inputs that never occur" in shown_text(test)
    test.segmented_control(key="renyi_prior").set_value("all four occur").run()
    assert "robust is private." in shown_text(test)
    rows = table(test, "ε, robust", "ε, private")
    assert (rows["ε, robust"] == rows["ε, private"]).all()


def test_a_link_of_nonsense_shows_the_usual_view(opened: Opened) -> None:
    link = {"robust_view": "nowhere", "digits_place": "<b>", "digits_scale": "-1", "seed": "x"}
    link |= {"digits_draws": "1e99", "digits_error": "2", "digits_bound": ""}
    assert "computed now" in shown_text(opened(**link, digits_noise="nan"))
    for part in (
        {"digits_part": "One picture", "digits_picture": "-5"},
        {"digits_part": "The slides' condition", "slides_epsilon": "inf", "slides_delta": "0"},
        {"digits_part": "Robust is private", "renyi_prior": "nobody"},
    ):
        assert not opened(**part).exception


def test_without_scikit_learn_it_says_what_to_install(
    opened: Opened, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = importlib.import_module

    def missing(name: str, package: str | None = None) -> ModuleType:
        if name.startswith("sklearn"):
            raise ImportError(name)
        return whole(name, package)

    digits.cache_clear()
    monkeypatch.setattr("importlib.import_module", missing)
    shown = shown_text(opened(seed="77"))
    assert "pip install -r requirements.txt" in shown
    digits.cache_clear()
