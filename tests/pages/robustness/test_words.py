"""The view of words: exact certificates, the zero classifier, one text, noise on mean vectors."""

import re
from collections.abc import Callable

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

from dpcore.learn.linear.certificate import certify_linear
from dpcore.learn.linear.training import LinearTraining, train_linear
from dpcore.learn.substitutions import nearest_words
from pages.robustness.words_work import CERTIFIED, NORMAL, STRENGTH, Rules, model, read_corpus
from tests.pages.app import figures, shown_text, table
from tests.pages.robustness.conftest import small
from tests.pages.robustness.reading import curve

Opened = Callable[..., AppTest]
WORDS = {"robust_view": "Words"}


@pytest.mark.slow
def test_certified_accuracy_falls_with_the_share_and_is_computed_exactly(opened: Opened) -> None:
    test = opened(**WORDS)
    (figure,) = figures(test)
    corpus = read_corpus(small(), "sentiment")
    substitutes = nearest_words(small(), np.concatenate((corpus.train.words, corpus.test.words)), 1)
    for name, robust in ((NORMAL, 0.0), (CERTIFIED, 1.0)):
        settings = LinearTraining(STRENGTH, robust, 0.2)
        trained = train_linear(
            settings, corpus.train, corpus.train_labels, small().vectors, substitutes
        ).model
        line = curve(figure, name)
        assert list(line.values()) == sorted(line.values(), reverse=True)
        assert line[0.0] == trained.accuracy(corpus.test, corpus.test_labels)
        exact = certify_linear(trained, corpus.test, corpus.test_labels, substitutes, 0.2).accuracy
        assert line[0.2] == exact
    assert curve(figure, CERTIFIED)[0.2] > curve(figure, NORMAL)[0.2]


@pytest.mark.slow
def test_the_python_cell_certifies_what_the_page_shows(
    opened: Opened, capsys: pytest.CaptureFixture[str]
) -> None:
    test = opened(**WORDS)
    test.session_state["taking"] = True
    shown = shown_text(test.run())
    assert "robust certify --labels sentiment --neighbours 1 --share 0.2" in shown
    assert "jia2019certified" in shown
    cell = next(code.value for code in test.code if "certify_linear" in code.value)
    capsys.readouterr()
    exec(cell, {})
    printed = [line.split() for line in capsys.readouterr().out.strip().split("\n")]
    (figure,) = figures(test)
    for (_, accuracy, certified), name in zip(printed, (NORMAL, CERTIFIED), strict=True):
        line = curve(figure, name)
        assert [float(accuracy), float(certified)] == pytest.approx([line[0.0], line[0.2]])


@pytest.mark.slow
def test_the_zero_classifier_is_said(opened: Opened) -> None:
    test = opened(**WORDS, words_neighbours="8", words_share="100%")
    assert "ends at the zero classifier" in shown_text(test)
    (figure,) = figures(test)
    line = curve(figure, CERTIFIED)
    truth = read_corpus(small(), "sentiment").test_labels
    # It always gives one answer, which nothing that is substituted can change.
    assert set(line.values()) == {max((truth == 0).mean(), (truth == 1).mean())}
    assert "ends at the zero classifier" not in shown_text(opened(**WORDS))


def margins(shown: str) -> list[tuple[float, float]]:
    margins = re.findall(r"margin ([+-]\d+\.\d+);[^+-]*differ by ([+-]\d+\.\d+)", shown)
    return [(float(margin), float(attained)) for margin, attained in margins]


@pytest.mark.slow
@pytest.mark.parametrize("labels", ["sentiment", "topic"])
def test_the_worst_text_attains_the_margin(opened: Opened, labels: str) -> None:
    test = opened(**WORDS, words_part="One text", words_text_number="60", words_labels=labels)
    pairs = margins(shown_text(test))
    assert len(pairs) == 2
    assert all(margin == attained for margin, attained in pairs)
    marked = [text.value for text in test.text if " → " in text.value]
    assert marked  # a word at least is exchanged
    changes = table(test, "word", "becomes")
    first = changes.iloc[0]
    assert f"[{first['word']} → {first['becomes']}]" in marked[0]
    verdicts = re.findall(r"(Certified|Not certified|Wrong without)", shown_text(test))
    assert len(verdicts) == 2
    assert all((v == "Certified") == (m > 0) for v, (m, _) in zip(verdicts, pairs, strict=True))


def test_a_text_of_ones_own_keeps_its_class_and_stays_out_of_the_link(opened: Opened) -> None:
    test = opened(**WORDS, words_part="One text", words_text_source="my own")
    test.text_area(key="text").set_value("The food was <b>awful</b> and I hate it ![x](u)").run()
    shown = shown_text(test)
    assert "read as negative" in shown
    assert len(margins(shown)) == 2
    assert all("awful" not in value for value in test.query_params.values())
    test.text_area(key="text").set_value("qqqq zzzz").run()
    assert "no word of the lexicon" in shown_text(test)
    test.text_area(key="text").set_value("x\0y").run()
    assert "This text cannot be used." in shown_text(test)
    test.text_area(key="text").set_value("food " * 300).run()
    assert "This text cannot be used." in shown_text(test)


def test_the_likely_words_of_a_mechanism_are_certified(opened: Opened) -> None:
    test = opened(
        **WORDS, words_part="One text", words_how="what a mechanism is likely to put",
        eps_metric="8", words_least="0.005",
    )  # fmt: skip
    shown = shown_text(test)
    inside = float(re.search(r"stay inside their sets with probability ([\d.e-]+)", shown)[1])
    assert 0 < inside <= 1
    assert len(margins(shown)) == 2
    other = opened(
        **WORDS, words_part="One text", words_how="what a mechanism is likely to put",
        attacked="madlib",
    )  # fmt: skip
    assert "choose tem in the sidebar" in shown_text(other)


@pytest.mark.slow
def test_noise_on_the_mean_vector_certifies_no_word_and_says_so(opened: Opened) -> None:
    shown = shown_text(opened(**WORDS, words_part="Noise on the mean vector"))
    assert "on 0 of 432 texts the certificate covers the replacement of one word" in shown
    largest = float(re.search(r"largest certified shift is ([\d.]+)", shown)[1])
    needed = float(re.search(r"can move the mean by ([\d.]+)", shown)[1])
    assert largest < needed


def test_the_two_classifiers_are_kept_by_what_they_depend_on() -> None:
    words = small()
    normal = model(words, Rules(neighbours=1), certified=False)
    assert model(words, Rules(neighbours=4, share=0.1), certified=False) is normal
    assert model(words, Rules("topic"), certified=False) is not normal


def test_a_link_of_nonsense_shows_the_usual_view(opened: Opened) -> None:
    link = {"words_labels": "<i>", "words_neighbours": "99", "words_share": "x"}
    link |= {"words_robust": "9", "attacked": "oracle", "lexicon": "../../etc"}
    assert len(figures(opened(**WORDS, **link))) == 1
    for part in (
        {"words_part": "One text", "words_text_number": "1e9", "words_how": "magic"},
        {"words_part": "Noise on the mean vector", "mean_scale": "nan"},
    ):
        assert not opened(**WORDS, **part).exception
