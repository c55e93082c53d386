"""The start page: rewritten when it opens, the same numbers as elsewhere, nothing heavy, links."""

import shlex
from typing import Any
from urllib.parse import parse_qs, urlsplit

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

from dpcore.attack.bounds.meter import meter
from dpcore.attack.trade.ground import GUESSED, NEARLY
from dpcore.cli.main import main
from dpcore.guarantee import EpsilonMeaning
from dpcore.lexicon.catalogue import load
from dpcore.mechanisms.registry import create, resolve
from dpcore.outwards import at_least, at_most
from dpcore.papers.claims import read_recorded
from dpcore.papers.ours.tradeoff import ARMS, recorded_curves
from dpcore.papers.overview import SAYS, measured
from dpcore.rewrite.sentence import draw, prepare
from pages.lesson.steps import STEPS
from pages.papers.claims import signed
from pages.shared.contents import CONTENTS
from pages.shared.session import DEFAULT_PRESET, PRESETS
from tests.needs import ROOT
from tests.pages.app import component, open_link, open_page, shown_text


@pytest.fixture(scope="module")
def fresh() -> AppTest:
    return open_page("start")


def changing(test: AppTest) -> dict[str, Any]:
    return component(test, "changing")


def shown_at(data: dict[str, Any], step: int) -> str:
    tokens = zip(data["original"], data["words"][step], strict=True)
    return "".join(gap + data["texts"][i] for (_, gap), (i, _) in tokens if data["texts"][i])


def test_it_opens_on_a_sentence_that_is_already_rewritten(fresh: AppTest) -> None:
    data, dial = changing(fresh), component(fresh, "dial")
    assert fresh.text_area(key="text").value == PRESETS[DEFAULT_PRESET]
    assert "".join(gap + text for text, gap in data["original"]) == PRESETS[DEFAULT_PRESET]
    assert 0 < sum(changed for _, changed in data["words"][data["step"]]) < len(data["original"])
    assert len(data["words"]) // 2 == data["step"]
    assert dial["group"] == data["group"]
    assert len(dial["steps"]) == len(data["words"]) == len(data["numbers"])
    assert not fresh.get("plotly_chart")
    assert not fresh.get("dataframe")


@pytest.mark.slow
@pytest.mark.parametrize("method", ["neighbours", "madlib", "tem", "optimal"])
def test_numbers_and_words_of_every_step_are_those_of_the_engine(method: str) -> None:
    test = open_page("start", method=method, seed=7, draw=2)
    data, dial, lexicon = changing(test), component(test, "dial"), load(None)
    label = data["group"].removeprefix("start_")
    curve = recorded_curves()[label]
    (arm,) = (arm for arm in ARMS if arm.name == label)
    mechanism = create(resolve(arm.mechanism).key, lexicon, dict(arm.settings))
    epsilons = dial["epsilons"]
    assert epsilons == sorted(epsilons)
    drawn = draw(
        prepare(PRESETS[DEFAULT_PRESET], lexicon), mechanism, 7, 2, epsilons=np.array(epsilons)
    )
    local = mechanism.meaning is EpsilonMeaning.LOCAL
    # Of ten words, one: this method never comes near the sentence, and the dial does not say so.
    far = "as readable as" if method == "neighbours" else "closer to what you wrote"
    assert dial["ends"][1].startswith(far)
    for step, (share, epsilon) in enumerate(zip(dial["shares"], epsilons, strict=True)):
        assert epsilon == curve.epsilon_at(GUESSED, share)
        assert shown_at(data, step) == drawn.at(epsilon).text
        guessed, near = data["numbers"][step]
        changed = [bool(flag) for _, flag in data["words"][step]]
        assert changed == [token.changed for token in drawn.at(epsilon).tokens]
        sign = "≥\u00a0" if GUESSED in curve.at_least else ""
        assert guessed == f"{sign}{100 * share:g} of 100"
        close = 100 * (curve.at_epsilon(NEARLY, epsilon) or 0.0)
        shown = f"{sign}{at_least(close, 2)}" if sign else f"{close:.2g}"
        assert near == f"{shown} of 100"
        (reading,) = meter(lexicon, epsilon, "counts", local=local, compute=False).rows
        permitted = data["allowed"][step]
        if not local and reading.high == 1.0:
            assert permitted.endswith("what its guarantee alone allows is not known.")
        elif reading.high > 0.99:
            assert "Its guarantee alone proves almost nothing" in permitted
        else:
            most = at_most(reading.high, 2, times=100)
            assert permitted.endswith(f"proves less: that at most {most} of 100 are guessed.")
        assert reading.high > 0.99 * share  # what is given away is within what is permitted


@pytest.mark.slow
@pytest.mark.parametrize("method", ["neighbours", "madlib", "tem", "optimal"])
def test_the_link_and_the_command_show_the_same_sentence(
    method: str, capsys: pytest.CaptureFixture[str]
) -> None:
    test = open_page("start", method=method, taking=True)
    for _ in range(2):
        test = test.button(key="again").click().run()
    test = test.text_area(key="text").set_value("A secret zzqqxx violin came.").run()
    shared, *lines = [element.value for element in test.code]
    command = next(line for line in lines if line.startswith("python -m dpcore rewrite"))
    given = {name: values[0] for name, values in parse_qs(urlsplit(shared).query).items()}
    assert given["draw"] == "2"
    assert "violin" not in shared
    same = changing(open_link("start", **given, text="A secret zzqqxx violin came."))
    assert (same["words"], same["step"]) == (changing(test)["words"], changing(test)["step"])
    assert main(shlex.split(command)[3:]) == 0
    assert capsys.readouterr().out.strip() == shown_at(same, same["step"])


def test_a_draw_is_in_the_address_and_leads_to_this_page() -> None:
    test = open_page("start").button(key="again").click().run()
    address = {name: test.query_params[name] for name in ("draw", "guessed")}
    assert address == {"draw": "1", "guessed": "40"}
    first = AppTest.from_file(str(ROOT / "app.py"), default_timeout=120)
    for name, value in address.items():
        first.query_params[name] = value
    assert changing(first.run())["words"] == changing(test)["words"]


def test_it_says_what_epsilon_is_and_what_happens_to_unknown_words(fresh: AppTest) -> None:
    assert "for each unit of their distance" in shown_text(fresh)
    assert changing(fresh)["unknown"] == ""
    assert "for each unit" not in shown_text(open_page("start", method="neighbours"))
    unknown = changing(open_page("start", text="My zzqqxx violin"))["unknown"]
    assert unknown.startswith("Words outside the vocabulary (here 1) become random words")


def test_a_link_sets_the_dial_and_nonsense_does_not() -> None:
    shares = component(open_page("start"), "dial")["shares"]
    middle = shares[len(shares) // 2]
    for guessed, share in (
        ("5", 0.05), ("1e9", shares[-1]), ("x", middle), ("nan", middle), ("-3", shares[0]),
    ):  # fmt: skip
        dial = component(open_link("start", guessed=guessed), "dial")
        assert dial["shares"][dial["step"]] == share


def test_the_sentence_goes_along_from_page_to_page() -> None:
    test = open_page("rewrite", text="a small dog", seed=7, draw=2)
    test = test.switch_page("pages/start/page.py").run()
    assert test.text_area(key="text").value == "a small dog"
    assert len(changing(test)["words"][0]) == 3
    assert "seed 7" in shown_text(test)


def test_the_verdicts_are_those_of_the_record_and_lead_to_their_claims(fresh: AppTest) -> None:
    drawers = dict.fromkeys(("verdicts_refuted", "verdicts_others"), True)
    opened = open_page("start", **drawers)
    assert len(fresh.get("page_link")) < len(opened.get("page_link"))  # closed, none is drawn
    recorded = read_recorded().verdicts
    shown_there = [element.value for element in opened.text]
    links = {link.proto.label: link.proto.query_string for link in opened.get("page_link")}
    for verdict in recorded:
        says = f"Claim: {SAYS[verdict.key]}\nComputed here: {measured(verdict)}"
        assert says in shown_there
        assert signed(verdict) in shown_there
        assert links[verdict.title] == f"claim={verdict.key}"


def test_it_leads_into_every_step_and_every_page(fresh: AppTest) -> None:
    links = {link.proto.label: link.proto for link in fresh.get("page_link")}
    for place, step in enumerate(STEPS, start=1):
        assert links[f"{place}. {step.title}"].query_string == f"step={step.key}"
    for page in CONTENTS[1:]:
        assert links[f"**{page.title}**: {page.question}"].page == page.address


@pytest.mark.slow
@pytest.mark.parametrize("name", ["view", "place", "eps_metric", "local", "tem_beta", "seed"])
def test_an_old_link_of_the_first_page_opens_the_page_rewrite(name: str) -> None:
    test = AppTest.from_file(str(ROOT / "app.py"), default_timeout=120)
    test.query_params[name] = "1"
    test.query_params["preset"] = "letter"
    test = test.run()
    assert not test.exception, test.exception
    assert test.title[0].value == "How does each mechanism rewrite your words?"
    assert test.text_area(key="text").value == PRESETS["letter"]


def test_a_link_with_a_preset_stays() -> None:
    test = AppTest.from_file(str(ROOT / "app.py"), default_timeout=120)
    test.query_params["preset"] = "letter"
    test = test.run()
    assert test.text_area(key="text").value == PRESETS["letter"]
    assert changing(test)["group"] == "start_tem"


@pytest.mark.parametrize(
    "text", ["", "  ", "\x00", "\U0001f600" * 40, "<b>bold</b> <script>alert(1)</script>", "…"]
)
def test_nonsense_is_rewritten_or_refused_in_a_sentence(text: str) -> None:
    test = open_page("start", text=text)
    assert not test.exception, test.exception
    assert "Which published guarantees are true?" in [element.value for element in test.header]


def test_too_many_words_are_refused_with_the_number() -> None:
    test = open_page("start", text="word " * 10_000)
    assert not test.exception, test.exception
    assert [element.value for element in test.error] == ["This could not be rewritten."]
    assert "Which published guarantees are true?" in [element.value for element in test.header]
