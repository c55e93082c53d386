"""Study of redactors: its parts on texts by hand, its record, its page."""

import numpy as np
import pytest

from dpcore.attack.language.language import forward_backward, language
from dpcore.learn.corpus import Span as Marked
from dpcore.lexicon.catalogue import load
from dpcore.papers.ours.redactors import ARMS, GUESSES, STUDY, hidden, marks, ranked
from dpcore.rewrite.redact.redaction import Redaction, redact
from dpcore.rewrite.redact.spans import Span
from dpcore.rewrite.sentence import prepare
from dpcore.study.recorded import Recorded, read_recorded
from tests.needs import ROOT

ROWS = {
    ("left", ""): "words left as they were",
    ("personal", ""): "personal data left",
    **{("personal", kind): f"– {kind}s" for kind in ("name", "place", "date", "amount")},
    ("personal", "condition"): "– conditions",
    ("personal", "contact"): "– contacts",
    ("linked", ""): "singled out by two words",
    ("first", ""): "named under the blocks: first guess",
    ("first", "known"): "– of words they know",
    ("ten", ""): "named under the blocks: first ten",
    ("ten", "known"): "– of words they know ",
}


@pytest.fixture(scope="module")
def recorded() -> Recorded:
    return read_recorded(STUDY.name)


def test_a_block_hides_all_places_of_a_word_that_it_touches() -> None:
    text = "Our gluten-free Anna left."
    sentence = prepare(text, load())
    assert sentence.protected == 5  # the compound is two places
    spans = (Span(4, 7, "name"), Span(17, 19, "name"))
    assert hidden(sentence, Redaction(text, spans, "")).tolist() == [
        False, True, True, True, False,
    ]  # fmt: skip


def test_places_have_the_mark_of_their_words() -> None:
    text = "Rosa Delgado pays 20 euros."
    spans = [Marked(0, 12, "name"), Marked(18, 26, "amount")]
    kinds = marks(prepare(text, load()), text, spans)
    assert kinds.tolist() == ["name", "name", "", "amount", "amount"]


def test_ranks_are_those_of_the_attacker_who_reads_the_whole_text() -> None:
    """The runs that are cut out say what the chain of all words says."""
    lexicon = load()
    model, n = language(lexicon), len(lexicon)
    text = "we drove to london for the weekend! my sister stayed at home."
    sentence = prepare(text, lexicon)
    stays = np.ones(sentence.protected, dtype=bool)
    stays[[0, 3, 6, 8, 11]] = False
    got = ranked(model, sentence, stays)
    assert np.isinf(got[stays]).all()
    words = [
        np.ones(n) if not seen else int(w) for w, seen in zip(sentence.words, stays, strict=True)
    ]
    laws = forward_backward(model, [*words[:7], n, *words[7:], n])
    del laws[7]
    for place in np.flatnonzero(~stays):
        law, word = laws[place], sentence.words[place]
        assert got[place] == (law > law[word]).sum()


def test_a_word_that_the_lexicon_lacks_is_never_named() -> None:
    sentence = prepare("we met qqzzyyxx there", load())
    stays = np.array([True, True, False, True])
    assert np.isinf(ranked(language(load()), sentence, stays)).all()


def test_the_record_is_consistent(recorded: Recorded) -> None:
    table = recorded.table
    assert table["label"].unique().tolist() == [arm.name for arm in ARMS]
    shares = table[table["quantity"].isin({"left", "personal", "linked", *GUESSES})]
    assert (shares["low"] <= shares["value"]).all()
    assert (shares["value"] <= shares["high"]).all()
    value = shares.set_index(["label", "quantity", "variant"])["value"]
    for redactor in ("rules", "entities"):
        assert value[redactor, "ten", ""] >= value[redactor, "first", ""]
        assert value[redactor, "ten", "known"] >= value[redactor, "ten", ""]
        assert value[redactor, "linked", ""] < value["as written", "linked", ""]
    assert value["as written", "left", ""] == value["as written", "personal", ""] == 1


def test_what_the_rules_leave_is_what_was_recorded(recorded: Recorded) -> None:
    from dpcore.learn.corpus import teaching_corpus

    corpus, lexicon = teaching_corpus(), load()
    some = range(0, len(corpus), 40)
    texts = [corpus.texts[i] for i in some]
    left = [~hidden(prepare(text, lexicon), redact(text)) for text in texts]
    (row,) = recorded.rows("left", label="rules").to_dict("records")
    share = np.concatenate(left).mean()
    spread = np.std([each.mean() for each in left]) / len(left) ** 0.5
    assert abs(share - row["value"]) < 5 * spread  # 36 texts of 1,440: five standard errors


def rendered(record: Recorded) -> list[str]:
    """The table of `docs/redactors.md`, in 100."""
    table = record.table
    names = [arm.name for arm in ARMS]
    epsilon = ARMS[-1].epsilons[0]
    lines = [
        f"| of 100 | {' | '.join(names[:-1])} | TEM, ε = {epsilon:g} |",
        "|---|" + "---:|" * len(names),
    ]
    for (quantity, variant), title in ROWS.items():
        cells = []
        for name in names:
            where = (table["label"] == name) & (table["variant"] == variant)
            rows = table[where & (table["quantity"] == quantity)].to_dict("records")
            value = (100 * rows[0][key] for key in ("value", "low", "high")) if rows else ()
            cells.append("{:.1f} [{:.1f}, {:.1f}]".format(*value) if rows else "")
        lines.append(f"| {title.strip()} | {' | '.join(cells)} |")
    return lines


def test_the_page_has_the_recorded_table(recorded: Recorded) -> None:
    page = (ROOT / "docs/redactors.md").read_text(encoding="utf-8")
    assert "\n".join(rendered(recorded)) in page


def test_the_cases_of_the_page_are_what_comes_out() -> None:
    page = (ROOT / "docs/redactors.md").read_text(encoding="utf-8")
    text = "Call me at 555-010-9999 after five, or write to anna@example.org."
    assert f"`{text}`" in page
    assert redact(text).named in page
