"""The privacy label: true to the record and to what was measured, and nothing in it is markup."""

import json
import math
from datetime import date
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

from dpcore.attack.frontier.meter import meter
from dpcore.attack.frontier.permitted import permitted
from dpcore.errors import StudyError
from dpcore.lexicon.catalogue import load
from dpcore.mechanisms.registry import create
from dpcore.papers.ours.tradeoff import recorded_curve, recorded_curves
from dpcore.privatize.files import Columns
from dpcore.privatize.label import Label, check_label, privacy_label, write_label
from dpcore.privatize.order import Order
from dpcore.privatize.run import privatize
from dpcore.rewrite.policy import Treatment
from tests.privatize.corpora import LEXICON, TEM, order, write

DAY = date(2026, 1, 31)


def sentences(label: Label) -> str:
    return " ".join(sentence for _, some in label.sections for sentence in some)


def labelled(tmp_path: Path, mechanism: Any = TEM, epsilon: float = 2.0, **more: Any) -> Label:
    source = write(tmp_path / "in.csv")
    asked = Order(
        source, tmp_path / "out.csv", mechanism, epsilon,
        more.get("columns", Columns(keep=("label",))), Treatment(), more.get("seed"),
    )  # fmt: skip
    return privacy_label(privatize(asked), mechanism, recorded_curve(mechanism), DAY)


def test_it_says_what_the_record_says(tmp_path: Path) -> None:
    label = labelled(tmp_path)
    record, shown = label.record, sentences(label)
    for sentence in (
        record["guarantee"]["statement"],
        record["guarantee"]["source"],
        record["composed"]["statement"],
        record["composed_median"]["statement"],
        *record["released"],
    ):
        assert sentence in shown
    assert "the columns label, unchanged" in shown
    assert "ε = 2 per unit of euclidean distance" in shown
    assert record["composed_median"]["words"] == 4  # of 120 in 185 texts
    assert record["composed"]["words"] == 400
    assert f"fingerprint {record['fingerprint']}" in shown
    data = json.loads(label.as_json())
    assert data["epsilon"] == 2.0
    assert data["longest_text"] == record["composed"]
    assert data["run"] == record["run"]
    assert label.warning == ""


def test_where_nothing_was_measured_it_says_what_the_promise_permits(tmp_path: Path) -> None:
    kary = create("k-ary", LEXICON)
    label = labelled(tmp_path, kary, 3.0)
    assert label.guessed is None
    # k-ary response keeps a word with e^ε/(e^ε + n − 1); no mechanism at ε is guessed more often.
    share = math.exp(3.0) / (math.exp(3.0) + len(LEXICON) - 1)
    assert label.permitted == pytest.approx(share)
    assert f"permits at most {100 * share:.3g} of 100" in label.guesses
    assert "ε = 3 between any two words" in sentences(label)


def test_what_was_measured_is_said_with_its_interval(tmp_path: Path) -> None:
    madlib = create("madlib", load("default"))
    label = labelled(tmp_path, madlib, 9.5)
    curve = recorded_curves()["madlib"]
    assert label.guessed is not None
    value, low, high = label.guessed
    assert value == pytest.approx(curve.at_epsilon("word", 9.5))
    assert 0 < low <= value <= high < 1
    assert f"{100 * value:.3g} of 100 words" in label.guesses
    assert f"{100 * low:.3g} to {100 * high:.3g}" in label.guesses
    assert json.loads(label.as_json())["guessed"]["value"] == value


def test_other_settings_and_other_words_have_no_curve() -> None:
    assert recorded_curve(TEM) is None
    lexicon = load("default")
    assert recorded_curve(create("neighbour-response", lexicon, {"k": 10})) is not None
    assert recorded_curve(create("neighbour-response", lexicon, {"k": 11})) is None


def test_what_is_permitted_is_what_the_meter_says() -> None:
    lexicon = load("default")
    tem, optimal = create("tem", lexicon), create("optimal", lexicon)
    (reading,) = meter(lexicon, 2.0, compute=False).rows
    assert permitted(tem, 2.0) == permitted(optimal, 2.0) == reading.high
    assert permitted(create("truncated-gumbel", lexicon), 1000.0) is None  # refuted
    assert permitted(create("gaussian", lexicon), 40.0) is None  # up to δ


def test_a_refuted_claim_is_no_promise(tmp_path: Path) -> None:
    label = labelled(tmp_path, create("truncated-gumbel", LEXICON), 1000.0)
    assert label.warning.startswith("The promise is refuted: ")
    assert "Claimed, and refuted: ε = 1000" in sentences(label)
    assert "Promised" not in sentences(label)
    assert label.warning.split(":")[0] in label.as_html()


def test_an_experiment_warns(tmp_path: Path) -> None:
    label = labelled(tmp_path, columns=Columns(original=True), seed=1)
    assert "must never be released" in label.warning


class Tags(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.seen: list[tuple[str, dict[str, str | None]]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.seen.append((tag, dict(attrs)))


def test_a_name_is_no_markup_and_nothing_comes_from_elsewhere(tmp_path: Path) -> None:
    source = tmp_path / "in.csv"
    source.write_text('text,"<script>x</script>"\nw1 w2,1\n', encoding="utf-8")
    asked = order(source, tmp_path / "out.csv", columns=Columns(keep=("<script>x</script>",)))
    page = privacy_label(privatize(asked), asked.mechanism, None, DAY).as_html()
    tags = Tags()
    tags.feed(page)
    assert {tag for tag, _ in tags.seen} <= {
        "html", "head", "meta", "title", "style", "body", "main", "h1", "h2", "p", "ul", "li",
    }  # fmt: skip
    assert not any({"src", "href", "style", "onload"} & set(attrs) for _, attrs in tags.seen)
    assert "url(" not in page
    assert "@import" not in page
    assert "&lt;script&gt;x" in page


def test_it_is_written_by_the_end_of_its_name(tmp_path: Path) -> None:
    label = labelled(tmp_path)
    write_label(label, tmp_path / "label.html")
    write_label(label, tmp_path / "label.json")
    assert (tmp_path / "label.html").read_text(encoding="utf-8") == label.as_html()
    assert (tmp_path / "label.json").read_text(encoding="utf-8") == label.as_json()
    for name, reason in (
        ("label.html", "exists already"),
        ("label.txt", "is written to"),
        ("no/label.html", "there is no folder"),
    ):
        with pytest.raises(StudyError, match=reason):
            check_label(tmp_path / name)
