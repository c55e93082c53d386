"""The pages in another language: its catalogue is whole, and every page speaks it."""

import copy
import json
import time
from collections.abc import Iterator
from functools import partial
from string import Formatter
from typing import Any

import pandas as pd
import plotly.graph_objects as go
import pytest
from babel.messages.catalog import Message as Entry
from streamlit.testing.v1 import AppTest

from dpcore.plots import law, style
from dpcore.plots.attack import budget
from dpcore.plots.deniability.curves import BANDS
from dpcore.written import Filled, Named, Templates, listed
from pages.shared import language as spoken_language
from pages.shared.contents import CONTENTS
from pages.shared.language import (
    ENGLISH,
    LANGUAGE,
    LANGUAGES,
    Waiting,
    lettering,
    numeral,
    say,
    speaking,
    spoken,
)
from tests import rules
from tests.needs import ROOT
from tests.pages.app import open_link, received
from tests.translations import (
    DRAWN,
    HEADINGS,
    bring_up_to_date,
    catalogue,
    compiled,
    english_on_hover,
    read,
    sentences,
    texts_of,
    worded,
)

GERMAN = "de"
OTHERS = [name for name in LANGUAGES if name != ENGLISH]
MARKS = ("**", "](", ":small[", ":material", "$", "\n\n", "\n- ", "<", ">", "`", "←", "→")
"""Of Markdown and of drawings: a translation has as many of each as its sentence."""
BRING = "python -m tests.translations"
SHOWN = {"alt", "body", "caption", "content", "help", "label", "options", "placeholder"}
"""Parts of what a browser is told that a person reads."""


def entries(name: str) -> list[Entry]:
    """Return the entries of a catalogue that have a sentence."""
    return [entry for entry in read(name) if entry.id]


def gaps(sentence: str) -> list[tuple[str, str, str]] | None:
    """The places of a sentence and how they are written; None for one that cannot be filled."""
    try:
        parts = list(Formatter().parse(sentence))
    except ValueError:  # a brace that stands for itself
        return None
    return sorted((name, form or "", how or "") for _, name, form, how in parts if name is not None)


@pytest.mark.slow
@pytest.mark.parametrize("name", OTHERS)
def test_a_catalogue_has_the_sentences_of_the_code_and_no_other(name: str) -> None:
    catalogued, code = {entry.id for entry in entries(name)}, set(sentences())
    assert not code - catalogued, f"run {BRING}, and translate what it names"
    assert not catalogued - code, f"run {BRING}"
    assert len(code) > 1000


@pytest.mark.parametrize("name", OTHERS)
def test_every_sentence_is_translated_with_its_places_and_marks(name: str) -> None:
    for entry in entries(name):
        sentence, translation = str(entry.id), str(entry.string)
        file = catalogue(name).relative_to(ROOT)
        assert translation, f"translate {sentence!r} in {file}, then run {BRING}"
        assert not entry.fuzzy, sentence
        assert gaps(sentence) == gaps(translation), sentence
        for mark in MARKS:
            assert sentence.count(mark) == translation.count(mark), (mark, sentence)
        assert sentence[0].isspace() == translation[0].isspace(), sentence
        assert sentence[-1].isspace() == translation[-1].isspace(), sentence


@pytest.mark.parametrize("name", OTHERS)
def test_what_gettext_reads_is_what_translators_wrote(name: str) -> None:
    assert catalogue(name).with_suffix(".mo").read_bytes() == compiled(read(name)), f"run {BRING}"
    for entry in entries(name):
        if not entry.string:  # of which the test above complains
            continue
        assert spoken_language.translated(str(entry.id), name) == entry.string


def test_bringing_a_catalogue_up_to_date_keeps_adds_and_drops(
    tmp_path: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / GERMAN / "LC_MESSAGES" / "pages.po"
    file.parent.mkdir(parents=True)
    file.touch()  # a new language
    monkeypatch.setattr("tests.translations.LOCALE", tmp_path)
    monkeypatch.setattr("tests.translations.sentences", lambda: {"Draw again": {"a.py"}})
    assert bring_up_to_date(GERMAN) == ["Draw again"]
    file.write_text(
        'msgid ""\nmsgstr "Content-Type: text/plain; charset=utf-8\\n"\n\n'
        'msgid "Draw again"\nmsgstr "Neu ziehen"\n\nmsgid "Gone"\nmsgstr "Weg"\n',
        encoding="utf-8",
    )
    both: dict[str, set[str]] = {"Draw again": {"a.py"}, "New": {"b.py"}}
    monkeypatch.setattr("tests.translations.sentences", lambda: both)
    assert bring_up_to_date(GERMAN) == ["New"]
    assert {entry.id: entry.string for entry in entries(GERMAN)} == {
        "Draw again": "Neu ziehen",
        "New": "",
    }
    assert file.with_suffix(".mo").read_bytes() == compiled(read(GERMAN))


def test_words_of_the_engine_stand_in_its_code() -> None:
    code = "".join(
        path.read_text(encoding="utf-8")
        for room in ("dpcore", "pages")
        for path in (ROOT / room).rglob("*.py")
    )
    for words in (*HEADINGS, *DRAWN):
        assert words.partition("{")[0].partition(", ")[0] in code, words


CAPTIONED = (
    *(ROOT / "dpcore/plots").rglob("*.py"),
    ROOT / "dpcore/papers/ours/benchmark/findings.py",
)
"""Files of the engine that make the captions of the pages' figures."""


def test_captions_of_the_engine_keep_templates_that_the_catalogue_holds() -> None:
    breaches = [
        f"{path.relative_to(ROOT)}:{breach}"
        for path in CAPTIONED
        for breach in rules.untold(path.read_text(encoding="utf-8"))
    ]
    assert not breaches


@pytest.mark.parametrize(
    "source",
    [
        'def caption() -> Caption:\n    return Caption(f"It is {number}.", how)',
        'def strip_alt() -> str:\n    return f"One row each for {names}."',
        'def finding():\n    return Filled("no" if empty else "{count} words", count=count)',
        'def finding():\n    return Filled(f"{count} words")',
        'def figure():\n    return line(x, y, hover=f"{name}: %{{y:.3f}}")',
    ],
)
def test_the_rule_finds_a_caption_without_a_template(source: str) -> None:
    assert rules.untold(source)


def test_no_page_shows_a_sentence_past_the_catalogue() -> None:
    breaches = [
        f"{path.relative_to(ROOT)}:{breach}"
        for path in sorted((ROOT / "pages").rglob("*.py"))
        for breach in rules.unsaid(path.read_text(encoding="utf-8"))
    ]
    assert not breaches


@pytest.mark.parametrize(
    "source",
    [
        'st.button("Draw again", key="again")',
        'st.button(say("Draw again"), help="Takes fresh noise.")',
        'place.markdown(f"**{count} words** were read")',
        'choose_one(st.selectbox, "Goal", titles, "aim")',
        'note("Nothing is stored." if empty else say("Stored."))',
        'show_table(table, "The words")',
        'st.text("All of " + name)',
    ],
)
def test_the_rule_finds_a_sentence_past_the_catalogue(source: str) -> None:
    assert rules.unsaid(source)


def test_the_rule_allows_what_is_the_same_in_every_language() -> None:
    assert not rules.unsaid(
        'st.button(say("Draw"), key="again"); st.markdown(f":small[{left}]"); st.code("import x");'
        'choose_one(st.selectbox, say("Goal"), titles, "aim"); st.page_link("pages/x/page.py");'
        'st.text(f"{origin} · dpcore {version}")'
    )


def test_numbers_are_written_as_the_language_does() -> None:
    with speaking(GERMAN):
        assert say("{count:,} words", count=1200).startswith("1.200 ")
        assert say("{epsilon:.3g}", epsilon=0.25) == "0,25"
        assert say("{share:.2g} %", share=2.5) == "2,5 %"
        assert numeral("1,200.5") == "1.200,5"
        assert numeral("94.2%") == "94,2\N{NO-BREAK SPACE}%"
        assert numeral("at most 0.3") == "höchstens 0,3"
    assert say("{count:,} words", count=1200) == "1,200 words"
    assert numeral("1,200.5") == "1,200.5"


def test_a_sentence_that_was_kept_as_text_gets_its_gaps_back() -> None:
    templates = Templates(
        ["Closed form.", "At ε = {epsilon:.3g} “{word}” stays{more}.", " Of {count:,} pairs: {why}",
         "the prior is {prior}", "Known by {name} and {name}."]
    )  # fmt: skip
    text = "Closed form. At ε = 1.5 “the prior” stays. Of 1,200 pairs: closed form."
    read = templates.read(text)
    assert isinstance(read, Filled)
    assert read.lower() == text.lower()  # the last one was written with a small letter
    with speaking(GERMAN):  # the templates are no sentences of the catalogue, their numbers are
        told = text.replace("1.5", "1,5").replace("1,200", "1.200").replace("closed", "Closed")
        assert say(read) == told
    sentence = templates.sentence("at ε = 2 “stays” stays.")
    assert sentence is not None
    assert sentence.values == {"epsilon": "2", "word": "stays", "more": ""}
    assert templates.sentence("Known by a and b.") is None
    assert templates.read("No template fits this.") == "No template fits this."
    assert copy.deepcopy(sentence) == sentence


def test_reading_a_long_list_takes_no_long_time() -> None:
    templates = Templates(["{kind} (“{text}”, {part:d} of {all:d})", "Through: {list}.", "a word"])
    text = "Through: " + ", ".join(f"a word (“{i}”, {i} of 50)" for i in range(1, 41)) + "."
    begun = time.process_time()
    assert templates.read(text) == text
    assert time.process_time() - begun < 10  # it takes a tenth of a second; naively, years


def test_a_word_with_a_point_and_a_truth_value_are_no_numbers() -> None:
    with speaking(GERMAN):
        assert say("{word} {right}", word="p.m.", right=True) == "p.m. True"


def test_a_sentence_of_the_engine_is_told_with_its_figures() -> None:
    whole = Filled("{learned} at most", learned=Filled("{percent:g} of 100", percent=2.5))
    assert whole == say(whole) == "2.5 of 100 at most"
    with speaking(GERMAN):
        assert say(whole) == "2,5 von 100 höchstens"


def test_a_finding_has_numbers_of_the_language_and_words_as_they_are() -> None:
    laws = pd.DataFrame(
        [["tem", "1.5", 3.0, "p.m.", 0.25, 0.0, 1.25, True]],
        columns=list(law.COLUMNS),
    )
    caption = law.law_caption(laws, (0.0005, 0.0005, 0.0005), "closed form")
    assert say(caption.finding) == caption.finding
    with speaking(GERMAN):
        for told in (say(caption.finding), say(caption.how), say(caption.alternative)):
            assert "„1.5“" in told
            assert "„p.m.“" in told
            assert "0,25" in told
            assert "1 von 2.000" in told
        assert say(caption.how).endswith("geschlossene Form.")


def test_a_number_in_a_caption_is_written_with_the_words_beside_it() -> None:
    with speaking(GERMAN):
        assert say(style.probability_text(0.5, 0.4, 0.6)) == "0,5 (0,4 bis 0,6)"
        assert say(style.percent(0.9999)) == "über 99,9\N{NO-BREAK SPACE}%"
        assert say(Filled("{word} {much}", word="at most", much=style.number(1e6))) == (
            "at most 1.000.000"
        )


def test_names_of_curves_are_said_as_in_the_legend() -> None:
    names = listed([Named("augmented, printed in the paper"), Named("tem, k = 3"), "normal {x}"])
    assert names == "augmented, printed in the paper, tem, k = 3, normal {x}"
    with speaking(GERMAN):
        assert (
            say(names)
            == f"{lettering('augmented, printed in the paper')}, tem, k = 3, normal {{x}}"
        )


def test_a_figure_has_its_finding_and_its_alternative_in_the_language() -> None:
    test = AppTest.from_function(_one_figure)
    test.query_params[LANGUAGE] = GERMAN
    shown, messages = received(test.run)
    assert [text.value for text in shown.text] == ["Er enthält sich bei: 2,5."]
    seen = {text for message in messages for text in texts(message)}
    assert "Er enthält sich bei: 2,5. So." in seen


def _one_figure() -> None:
    import pandas as pd
    import plotly.graph_objects as go

    from dpcore.plots.style import Caption, number
    from dpcore.written import Filled
    from pages.shared.figure import show_figure

    finding = Filled("It abstains at: {listed}.", listed=number(2.5))
    show_figure(go.Figure(), Caption(finding, "So."), pd.DataFrame(), "one", files=False)


def test_what_has_no_translation_stays_english() -> None:
    with speaking(GERMAN):
        assert say("No such sentence, {count:g}.", count=0.5) == "No such sentence, 0,5."
        assert say("") == ""


def test_a_sentence_that_waits_is_told_when_it_is_drawn() -> None:
    waiting = Waiting("Draw again")
    assert str(waiting) == "Draw again"
    with speaking(GERMAN):
        assert str(waiting) == "Neu ziehen"


def test_english_pages_read_no_catalogue(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*arguments: object) -> None:
        raise AssertionError(arguments)

    monkeypatch.setattr(spoken_language, "_catalogue", refuse)
    assert say("Draw again") == "Draw again"
    assert not open_link("start").exception


def test_a_drawing_is_a_copy_with_the_words_of_the_language() -> None:
    trace = go.Scatter(x=[1], y=[2], name="without privacy")
    figure = go.Figure(trace).update_layout(
        xaxis={"title": "accuracy", "ticktext": ["0.1", "of", "<b>the sentence</b>"]}
    )
    assert spoken(figure) is figure
    with speaking(GERMAN):
        shown = spoken(figure)
        assert lettering("Sw: different outputs in 1,200 runs").endswith("in 1.200 Läufen")
        assert lettering("in the picture, trained together") == "im Bild, gemeinsam trainiert"
        assert lettering("tem, k = 3") == "tem, k = 3"
    assert shown.data[0].name == "ohne Schutz"
    assert shown.layout.xaxis.title.text == "Genauigkeit"
    # A word of a text stays as it is, though the catalogue has it.
    assert shown.layout.xaxis.ticktext == ("0,1", "of", "<b>der Satz</b>")
    assert figure.data[0].name == "without privacy"


def test_hover_texts_are_in_the_language_and_words_of_a_text_stay() -> None:
    words = ["change", "1.5", *map(str, range(2, 40))]
    spent = pd.DataFrame({"word": words, "places": 1, "releases": 1, "nearest": "of", "loss": 3.0})
    spent.loc[1, "places"] = 2
    figure = budget.budget_figure(spent)
    figure.add_scatter(
        x=[0.5],
        y=[1200.5],
        customdata=["distance"],
        meta="probability",
        hovertemplate="%{customdata}, %{meta}<br>distance %{x:.3f}: %{y:.3g}<extra>odds</extra>",
    )
    with speaking(GERMAN):
        bars, mark = spoken(figure).data
    assert not english_on_hover(figure, GERMAN)
    figure.data[1].update(hovertemplate="gone %{x}", hovertext=["nothing known"])
    assert english_on_hover(figure, GERMAN) == {"gone %{x}", "nothing known"}
    assert bars.hovertext[:2] == ("„change“: höchstens 20,1-mal", "„1.5“ (2×): höchstens 20,1-mal")
    assert bars.hovertext[-2].startswith("16 weitere Wörter: höchstens 7,")
    assert bars.hovertext[-1].startswith("der Satz: höchstens 1,")
    assert mark.hovertemplate == (
        "%{customdata}, %{meta}<br>Abstand %{x:.3f}: %{y:.3g}<extra>Chancen</extra>"
    )
    assert (mark.customdata, mark.meta) == (("distance",), "probability")


def test_a_table_has_commas_and_stays_numbers() -> None:
    test = AppTest.from_function(_one_table)
    test.query_params[LANGUAGE] = GERMAN
    table = test.run().dataframe[0]
    assert not test.exception
    assert "0,335" in table.proto.arrow_data.styler.display_values.decode("utf-16", "ignore") or (
        b"0,335" in table.proto.arrow_data.styler.display_values
    )
    assert table.value["mean"].tolist() == [0.33456, 1200.0]


def _one_table() -> None:
    import pandas as pd

    from pages.shared.table import show_table

    show_table(pd.DataFrame({"mean": [0.33456, 1200.0]}), "numbers")


def texts(message: Any) -> Iterator[str]:
    """Every text of a message that a person reads."""
    for field, value in message.ListFields():
        for part in value if hasattr(value, "__iter__") and not _plain(value) else [value]:
            if hasattr(part, "ListFields"):
                yield from texts(part)
            elif isinstance(part, str) and field.name in SHOWN:
                yield part


def hover_texts(message: Any) -> Iterator[str]:
    """Every text of a figure that a person reads under the pointer, in parts with a word."""
    for trace in json.loads(message.delta.new_element.plotly_chart.spec or "{}").get("data", ()):
        for template in texts_of(trace.get("hovertemplate")):
            yield from worded(template)
        yield from texts_of(trace.get("hovertext"))


def _plain(value: object) -> bool:
    return isinstance(value, str | bytes) or hasattr(value, "ListFields")


@pytest.mark.slow
@pytest.mark.parametrize("content", CONTENTS, ids=lambda content: content.address)
def test_every_page_speaks_german(content: Any) -> None:
    test, messages = received(partial(open_link, content.address, lang=GERMAN))
    assert linked(test, LANGUAGE) == GERMAN
    german = {str(entry.id): str(entry.string) for entry in entries(GERMAN)}
    seen = {text for message in messages for text in texts(message)}
    on_hover = {text for message in messages for text in hover_texts(message)}
    english = {text for text in seen | on_hover if german.get(text, text) != text}
    assert not english, f"in English on the German page: run {BRING}, and pass it through say(…)"
    assert len(seen & set(german.values())) > 10


def test_a_choice_stands_in_the_link_in_english() -> None:
    chosen = list(BANDS)[1]
    test = open_link("curves", lang=GERMAN, band=chosen)
    assert test.segmented_control(key="band").value == chosen
    assert linked(test, "band") == chosen
    assert [str(option) for option in test.segmented_control(key="band").options] == [
        say_german(band) for band in BANDS
    ]


def linked(test: AppTest, name: str) -> str:
    """Return a parameter of the link; `AppTest` gives a string or a list."""
    value: str | list[str] = test.query_params[name]
    return value if isinstance(value, str) else value[0]


def say_german(sentence: str) -> str:
    with speaking(GERMAN):
        return say(sentence)


@pytest.mark.parametrize("name", ["fr", "", "de-DE", "<b>"])
def test_an_unknown_language_of_a_link_is_english(name: str) -> None:
    test = open_link("start", lang=name)
    assert test.title[0].value == "Could anyone tell what you wrote?"
