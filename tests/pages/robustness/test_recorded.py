"""The recorded views: every record has its mark, its parts, its paper and its command."""

import re
from collections.abc import Callable

import pytest
from streamlit.testing.v1 import AppTest

from dpcore.attack.latent import examples, guess
from dpcore.errors import StudyError
from dpcore.papers.huang2024.autoencoder_examples import read_examples
from dpcore.study.recorded import read_bundled, read_recorded
from dpcore.study.robust_curves import training_curves
from pages.robustness import recorded_view
from tests.pages.app import figures, methods, shown_text, table
from tests.pages.robustness.reading import curve

Opened = Callable[..., AppTest]
THERE = {entry.name: entry for entry in read_bundled()}
FIELDS = {
    "xu2021-tables-2-3-": ({"robust_view": "Training"}, "training"),
    "huang2024-autoencoder-": ({"robust_view": "Auto-encoders"}, "auto"),
    "adept2021-": ({"robust_view": "Auto-encoders", "auto_system": "adept"}, "adept"),
    "pixeldp-": ({"robust_view": "Noise in networks"}, "noise"),
}
NAMES = [name for name in THERE if name.startswith(tuple(FIELDS))]


def link_of(name: str) -> tuple[dict[str, str], str]:
    beginning = next(field for field in FIELDS if name.startswith(field))
    link, field = FIELDS[beginning]
    return link | {f"{field}_record": name}, field


@pytest.mark.parametrize("beginning", FIELDS)
def test_every_view_has_a_record(beginning: str) -> None:
    assert any(name.startswith(beginning) for name in THERE)


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_every_part_of_every_record_is_drawn(opened: Opened, name: str) -> None:
    link, field = link_of(name)
    test = opened(**link)
    entry = THERE[name]
    shown = shown_text(test)
    assert f"recorded {entry.date}" in shown
    assert entry.sizes in shown
    parts = [tab.label for tab in test.tabs]
    assert parts[-1] == "How it was made"
    assert ("Paper against ours" in parts) == bool(entry.source)
    for part in parts:
        test.session_state[f"{field}_part"] = part
        test.run()
        assert not test.exception, (part, test.exception)
        assert not test.error, (part, [error.value for error in test.error])
    test.session_state["taking"] = True
    shown = shown_text(test.run())
    assert entry.command in shown
    assert f"read_recorded({name!r})" in shown
    assert "pip install -r requirements-learn.txt" in shown


def test_accuracies_are_those_of_the_record(opened: Opened) -> None:
    name = next(each for each in NAMES if each.startswith("xu2021-"))
    test = opened(**link_of(name)[0], training_measured="stronger", training_mechanism="madlib")
    (figure,) = figures(test)
    wanted = training_curves(read_recorded(name), "madlib", "stronger")
    for title, rows in wanted.groupby("curve"):
        drawn = curve(figure, str(title))
        assert drawn == pytest.approx(dict(zip(rows["x"], rows["mean"], strict=True)))


def test_examples_are_those_that_were_recorded(opened: Opened) -> None:
    link = FIELDS["huang2024-autoencoder-"][0]
    test = opened(**link, auto_part="Examples", auto_sentence="3", auto_noise="laplace")
    examples = read_examples()
    text = list(dict.fromkeys(row.text for row in examples.rows))[3]
    assert f"Written: {text}" in shown_text(test)
    rows = table(test, "the network writes")
    wanted = [row.network for row in examples.rows if (row.text, row.label) == (text, "laplace")]
    assert rows["the network writes"].tolist() == wanted


def test_the_attack_on_a_latent_vector_is_computed_now(opened: Opened) -> None:
    link = FIELDS["adept2021-"][0] | {"adept_part": "Find the utterance"}
    test = opened(**link, latent_text="7", latent_epsilon="64", latent_noise="adept", seed="11")
    shown = shown_text(test)
    assert "computed now" in shown
    belief = guess(examples(), 7, "adept", 64.0, 11)
    rank = re.search(r"true utterance has rank ([\d.]+) of (\d+)", shown)
    assert float(rank[1]) == belief.rank
    assert int(rank[2]) == len(examples().texts)
    believed = table(test, "utterance", "believed")
    assert believed["utterance"].iloc[0] == examples().texts[int(belief.order[0])]
    # Rounded to 1, but not certain: the page must not say "100 in 100".
    assert 1 - 1e-6 < belief.probability.max() < 1
    assert believed["believed"].iloc[0] == "almost certain"
    (figure,) = figures(test)
    claimed, true = curve(figure, "the claimed ε allows"), curve(figure, "the true ε allows")
    assert all(true[epsilon] >= claimed[epsilon] for epsilon in claimed)
    assert "Among the thousands of the corpus it does" in shown


def test_the_record_refutes_the_claim_of_the_published_noise(opened: Opened) -> None:
    link = FIELDS["adept2021-"][0] | {"adept_part": "Curves", "adept_quantity": "bayes"}
    test = opened(**link)
    (figure,) = figures(test)
    adept, allowed = curve(figure, "adept"), curve(figure, "the claimed ε allows")
    epsilons = re.search(r"at ε = ([\d., ]+): a refutation on real text", shown_text(test))[1]
    beyond = [float(number) for number in epsilons.split(", ")]
    assert beyond
    assert all(adept[epsilon] > allowed[epsilon] for epsilon in beyond)
    assert all(curve(figure, "laplace")[epsilon] <= allowed[epsilon] for epsilon in allowed)


def test_damage_is_said_and_live_views_still_work(
    opened: Opened, monkeypatch: pytest.MonkeyPatch
) -> None:
    def damaged() -> None:
        raise StudyError("the manifest is damaged: record it again")

    monkeypatch.setattr(recorded_view, "read_bundled", damaged)
    assert "record it again" in shown_text(opened(robust_view="Training"))
    assert "stay right" in methods(opened())
    monkeypatch.setattr(recorded_view, "read_bundled", tuple)
    assert "restore the folder data/results/experiments" in shown_text(
        opened(robust_view="Training")
    )


def test_a_link_of_nonsense_shows_the_usual_view(opened: Opened) -> None:
    for view, link in (
        ("Training", {"training_record": "no", "training_mechanism": "<b>",
                      "training_measured": "all", "training_part": "?"}),
        ("Auto-encoders", {"auto_system": "x", "auto_quantity": "y", "auto_reader": "!"}),
        ("Auto-encoders", {"auto_part": "Examples", "auto_sentence": "99", "auto_noise": "none"}),
        ("Auto-encoders", {"auto_system": "adept", "adept_part": "Rewrites", "adept_text": "-1"}),
        ("Auto-encoders", {"auto_system": "adept", "adept_part": "Find the utterance",
                           "latent_epsilon": "0", "latent_text": "many"}),
        ("Noise in networks", {"noise_record": "", "noise_scale": "nan", "noise_bound": "no"}),
    ):  # fmt: skip
        test = opened(robust_view=view, **link)
        assert not test.exception, link
        assert not test.error, link
