"""The privacy label: its sentences are the engine's own, its numbers those that were measured."""

import dataclasses
import datetime
import json
import statistics
from collections import Counter
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

from dpcore.attack.trade.ground import GUESSED, NEARLY
from dpcore.audit.composition import composition
from dpcore.errors import StudyError
from dpcore.guarantee import Status
from dpcore.lexicon.catalogue import load
from dpcore.mechanisms.registry import create
from dpcore.outwards import at_most
from dpcore.papers.ours.tradeoff import recorded_curve, recorded_curves
from dpcore.privatize.label import Label, check_label, privacy_label, write_label
from dpcore.privatize.order import Order, median_length, record_of, run_state
from dpcore.privatize.walk import TOLD, walk, walk_dict
from dpcore.rewrite.documents import AuthorSizes
from dpcore.rewrite.policy import RELEASED, Treatment
from dpcore.tables.csv_files import CommaSeparated
from dpcore.tables.files import Columns
from dpcore.tables.shape import Shape

DAY = datetime.date(2026, 1, 31)
LENGTHS = {2: 5, 10: 3, 40: 1}


def record(mechanism: Any, epsilon: float, **columns: Any) -> dict[str, Any]:
    paths = Path("in.csv"), Path("out.csv")
    order = Order(*paths, mechanism, epsilon, Columns(**columns), Treatment())
    return record_of(
        order, run_state(order, CommaSeparated(Shape("csv"))) | {"run": "0" * 16}, LENGTHS
    )


def labelled(mechanism: Any, epsilon: float, **columns: Any) -> Label:
    made = record(mechanism, epsilon, **columns)
    return privacy_label(made, mechanism, recorded_curve(mechanism), DAY)


def test_it_says_what_holds_for_all_texts_of_one_author() -> None:
    tem = create("tem", load("default"))
    unknown = " ".join(dict(labelled(tem, 2.0).sections)["A whole text"])
    assert "who wrote what was not counted here" in unknown
    paths = Path("in.csv"), Path("out.csv")
    order = Order(*paths, tem, 2.0, Columns(), Treatment(), authors=AuthorSizes(3, 1, 60))
    state = run_state(order, CommaSeparated(Shape("csv"))) | {"run": "0" * 16}
    made = record_of(order, state, LENGTHS)
    assert made["composed_author"] == {"texts": 1} | composition(tem, 2.0, 60).to_dict()
    label = privacy_label(made, tem, recorded_curve(tem), DAY)
    said = " ".join(dict(label.sections)["A whole text"])
    assert "no one wrote more than 1 text and 60 protected words. Taken as one text: " in said
    assert composition(tem, 2.0, 60).statement in said
    assert label.to_dict()["author"]["words"] == 60


class _Said(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.text = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert not any(name.startswith("on") or name in {"src", "href"} for name, _ in attrs)
        self.tags.append(tag)

    def handle_data(self, data: str) -> None:
        self.text += data + "\n"


def test_its_sentences_are_those_of_the_guarantee_and_of_the_composition() -> None:
    tem = create("tem", load("default"))
    label = labelled(tem, 2.0)
    parts = dict(label.sections)
    assert tem.guarantee(2.0).statement in parts["What is protected"]
    text = " ".join(parts["A whole text"])
    for words in (2, 40):  # five of nine texts have two words, the longest has forty
        assert composition(tem, 2.0, words).statement in text
    assert set(RELEASED) < set(parts["What is not protected"])
    assert parts["What is protected"][0].startswith("Each of the 80 protected words in 9 texts")
    assert label.warning == ""
    assert tem.lexicon.fingerprint in " ".join(parts["Made with"])


def test_its_guesses_are_what_was_recorded_at_this_epsilon() -> None:
    tem = create("tem", load("default"))
    curve = recorded_curves()["tem"]
    epsilon = float(curve.epsilons[3])
    label = labelled(tem, epsilon)
    value, low, high = curve.amounts[GUESSED][3].tolist()
    near = curve.amounts[NEARLY][3].tolist()
    assert label.guessed == pytest.approx((value, low, high), rel=1e-9)
    assert label.near == pytest.approx(near, rel=1e-9)
    assert f"about {100 * value:.3g} of 100 content words" in label.guesses
    assert f", and for about {100 * near[0]:.3g}" in label.guesses
    assert label.measured == (epsilon,)
    between = labelled(tem, 2.05)
    assert between.measured == (2.0, 2.15)
    assert between.guessed is not None
    assert between.guessed[1:] == pytest.approx(
        (curve.amounts[GUESSED][2, 1], curve.amounts[GUESSED][3, 2]), rel=1e-9
    )
    assert (
        "values are interpolated, and the ends in brackets were measured at ε = 2 and 2.15"
        in between.guesses
    )
    assert "interpolated" not in label.guesses
    repeats = create("madlib", load("default"))
    weaker = labelled(repeats, 9.5)
    assert "guesses at least " in weaker.guesses
    for other, at in ((create("tem", load("default"), {"beta": 0.01}), 2.0), (tem, 99.0)):
        nothing = labelled(other, at)
        assert nothing.guessed is None
        assert "was not measured" in nothing.guesses
        guessed = nothing.to_dict()["guessed"]
        assert (guessed["stranger"], guessed["word"]["value"]) == ("counts", None)


def test_between_two_certified_epsilons_the_law_is_that_of_the_smaller() -> None:
    words = load("default")
    optimal, calibrated = create("optimal", words), create("tem-calibrated", words)
    assert optimal.same_law_from(1.0443) == 1.0
    assert calibrated.same_law_from(1.0443) == 1.0
    assert calibrated.same_law_from(0.9999) == pytest.approx(0.999886, abs=1e-6)
    for kind in (optimal, calibrated):
        least = kind.same_law_from(1.0443)
        here, there = (kind.law("doctor", epsilon).probabilities for epsilon in (least, 1.0443))
        assert (here == there).all()
        assert kind.same_law_from(least) == least
    label = labelled(optimal, 1.0443)
    assert label.measured == (1.0,)
    assert label.guessed is not None
    assert label.guessed[0] == recorded_curves()["optimal"].at_epsilon(GUESSED, 1.0)


def test_a_refuted_guarantee_and_an_experiment_are_said_first() -> None:
    words = load("default")
    adept = create("adept", words)
    guarantee = adept.guarantee(10.0)
    assert guarantee.status is Status.REFUTED
    label = labelled(adept, 10.0)
    assert label.warning == f"The guarantee is refuted: {guarantee.reason}"
    assert "nothing is composed" in " ".join(dict(label.sections)["A whole text"])
    assert label.to_html().index("refuted") < label.to_html().index("What is protected")
    assert labelled(create("tem", words), 2.0, original=True).warning.startswith("An experiment")


def test_a_page_holds_every_sentence_as_text_and_nothing_else() -> None:
    name = "<img src=x onerror=alert(1)> & “stars”"
    label = labelled(create("tem", load("default")), 2.0, keep=(name,))
    said = _Said()
    said.feed(label.to_html())
    assert set(said.tags) <= {
        "html", "head", "meta", "title", "style", "body", "main", "h1", "h2", "ul", "li",
        "details", "summary", "p", "h3", "dl", "dt", "dd",
    }  # fmt: skip
    for _, sentences in label.sections:
        for sentence in sentences:
            assert sentence in said.text
    assert name in said.text
    assert json.loads(label.to_json()) == json.loads(json.dumps(label.to_dict()))


def test_the_walk_is_folded_below_and_whole_in_the_json() -> None:
    label = labelled(create("tem", load("default")), 2.0, keep=("<b>mail</b>",))
    assert label.walk == walk(label.record)
    page = label.to_html()
    said = _Said()
    said.feed(page[page.index("<details>") : page.index("</details>")])
    assert page.index("What is not protected") < page.index("<details>")
    assert "<details open" not in page
    for row in label.walk:
        told = said.text if row.met is None else " ".join(said.text.split("\n"))
        assert f"{TOLD[row.met]}: {row.question} {row.title}".strip() in told
        for sentence in (" ".join(row.answer), *row.points):
            assert sentence in said.text
    assert "No: the cells of “<b>mail</b>” are released as they are." in said.text
    assert said.text.count("Not met: ") == label.to_dict()["walk"]["counts"]["not met"]
    assert label.to_dict()["walk"] == walk_dict(label.walk)


def test_it_is_written_where_it_can_be(tmp_path: Path) -> None:
    label = labelled(create("tem", load("default")), 2.0)
    write_label(label, tmp_path / "label.html")
    write_label(label, tmp_path / "label.JSON")
    assert (tmp_path / "label.html").read_text("utf-8") == label.to_html()
    assert json.loads((tmp_path / "label.JSON").read_text("utf-8"))["status"] == "proved"
    for path, reason in (
        (tmp_path / "label.html", "exists already"),
        (tmp_path / "label.pdf", "html or"),
        (tmp_path / "no" / "label.html", "there is no folder"),
    ):
        with pytest.raises(StudyError, match=reason):
            check_label(path)


@pytest.mark.parametrize(
    "lengths", [[0], [1, 2], [1, 2, 3], [5, 5, 9, 9], [0, 0, 0, 7], list(range(11))]
)
def test_half_of_the_texts_have_at_most_the_median(lengths: list[int]) -> None:
    assert median_length(Counter(lengths)) == statistics.median_low(lengths)
    assert median_length({}) == 0


def test_a_label_is_a_value() -> None:
    label = Label({}, None, None, (), False, "2026-01-31")
    with pytest.raises(dataclasses.FrozenInstanceError):
        label.date = ""  # type: ignore[misc]


def test_the_best_test_that_the_guarantee_allows_is_said() -> None:
    lexicon = load("default")
    response = create("k-ary", lexicon)
    label = labelled(response, 8.0)
    stay, other = (float(response.law("doctor", 8.0).probability(w)) for w in ("doctor", "nurse"))
    # Named for its own output, and for so many of those that both words have in common.
    power = stay + (0.01 - other)
    assert label.power == pytest.approx(power, rel=1e-6)
    assert label.power >= power
    assert label.to_dict()["best_test"] == {"false_positive_rate": 0.01, "power": label.power}
    sentences = " ".join(dict(label.sections)["Two numbers"])
    assert f"finds it in at most {at_most(label.power, 3, times=100)} of 100" in sentences
    far = labelled(create("tem", lexicon), 2.0)
    assert "limits hardly any test" in " ".join(dict(far.sections)["Two numbers"])
