"""The catalogues of the pages: brought up to date with the code, and compiled.

    python -m tests.translations        # adds what is new to each .po, drops what is gone, compiles

A translator edits `pages/locale/<language>/LC_MESSAGES/pages.po` and runs it again.
"""

import ast
import io
import re
import sys
from collections.abc import Iterator, Sequence
from itertools import product
from pathlib import Path
from string import Formatter

import plotly.graph_objects as go
from babel.messages.catalog import Catalog
from babel.messages.mofile import write_mo
from babel.messages.pofile import read_po, write_po

from dpcore.papers import read_toml
from pages.shared.language import (
    DOMAIN,
    ENGLISH,
    LANGUAGES,
    LOCALE,
    _catalogue,
    hover_parts,
    retold,
    speaking,
)
from tests.needs import ROOT

HEADER = """\
# The pages in another language: {name}. What stands in msgid is translated in msgstr; names in
# braces and marks of Markdown stay as they are. Then: python -m tests.translations"""

KEYWORDS = {"say", "later", "Waiting", "Filled"}
"""Calls whose first argument is a sentence for the catalogue."""

ROOMS = ("pages", "dpcore")
"""Folders whose sentences pages show: all of the pages, and those of the engine that keep gaps."""

NUMBERS = (
    "over a million times for “{word}” (beyond this axis)",
    "over", "at most", "at least", "in", "to", "any factor", "over a million",
    "less than 1 in a million", "almost certain", "nearly all rounds", "rounds",
    "as likely as before", "ruled out", "times more likely", "times less likely", "about",
    "all other words", "and", "for", "averaged vectors", "network", "nearly", "never", "none",
    "random vectors",
    "bundled vectors", "without privacy", "published", "at", "normal", "certified",
    "with", "by guessing", "mean rank at", "without noise", "original text", "largest intent",
    "interval", "not reached up to", "wide noise", "round noise", "clipping", "true",
    "majority class",
    "Figure", "Figures", "Table", "Tables", "Theorem", "Gaussian",
    "no limit", "no real limit", "practically no", "beyond counting", "was impossible",
)  # fmt: skip
"""Words that the engine writes beside numbers."""

HEADINGS = (
    "accuracy, sentiment", "attacker", "becomes", "before", "believed then", "change",
    "changed", "condition", "content words guessed",
    "cost", "count", "draw", "figure", "guessed", "likeliest",
    "lonelier than", "mark", "meaning by an encoder", "method", "near", "nearness", "now", "of",
    "place", "guarantee there", "released", "runs", "setting", "state", "stays", "text", "token",
    "value", "weight", "which word", "words that stay", "written", "ε of the text", "× least",
)  # fmt: skip
"""Columns of tables that the engine names, or a page for a file."""

DRAWN = (
    "← for “{other}”   (bar: this output; ticks: limit of the guarantee)   for “{word}” →",
    "{factor} times for “{word}”", "{factor} times ({low} to {high}) for “{word}”",
    "{factor} times for “{word}” (beyond this axis)", "{factor} times (beyond this axis)",
    "{name}: at most {factor} times", "“{word}”: at most {factor} times",
    "“{word}” ({count}×): at most {factor} times", "{number} more words", "(itself)",
    "Nw of “{word}”",
    "Euclidean distance", "Euclidean distance (logarithmic)", "after", "after the attack",
    "both alike", "chance that the word stays", "clipped by the L1 norm", "clipped by the L2 norm",
    "covered by the noise", "dimension n of the latent vector", "first coordinate / C", "formula",
    "largest in the paper", "mean Nw: chance that a word stays", "pairs that are not covered",
    "proved lower bound", "protocol", "second coordinate / C", "the claim allows at most",
    "the paper", "unclipped", "what the noise must cover", "worst pair", "ε (odds of e^ε)",
    "δ(ε): probability not covered",
    "1×: learns nothing", "as written", "authors found, of 100",
    "released words of each author", "{number} of 100 content words guessed",
    "Nw: chance that a word stays", "Sw: different outputs in {number} runs",
    "mean Sw: different outputs in {number} runs", "normal, σ = {number} C", "uniform on [−C, C]",
    "fresh noise", "memoised answers", "allowed by the guarantee", "releases of one word",
    "words guessed, of 100",
    "named correctly", "the claimed ε allows", "the true ε allows", "trials",
    "closed form", "quadrature", "{number} draws", "Rao–Blackwell over {number} directions",
    "% of clean texts read correctly", "accuracy", "accuracy that is certain",
    "always the largest class", "another word",
    "attacker's AUC (0.5: guessing)", "augmented", "augmented, printed in the paper",
    "best protected", "certified accuracy",
    "certified size L of this picture", "certified training", "changed words",
    "channels of the first convolution", "class", "distance to the nearest word",
    "false-positive rate", "frontier: no other is as good in both and better in one", "guessing",
    "interval bounds (IBP)", "interval bounds (IBP), printed in the paper",
    "largest class always", "least protected",
    "error, ±% of the count", "ln ε (ε per unit of distance)", "no mechanism above",
    "no noise: ordinary linear classifier, exact", "normal", "number of texts", "occurrences",
    "of 1,000 words", "largest odds that the guarantee allows",
    "printed in the paper", "probability", "probability that it stays",
    "proved by PixelDP's condition", "right guesses in 100", "scale of the noise",
    "share of the words that may change", "share that is named correctly",
    "size L of a shift of the mean vector", "size L of the attack",
    "the paper's protocol, {number} words",
    "the sentence", "the slides' condition (not proved)",
    "tight: the most that these bounds allow", "truth",
    "time of a step, with ÷ without", "trained normally", "true-positive rate",
    "largest value stated in the paper", "the guarantee allows", "threshold",
    "wanted", "without privacy",
    "words guessed, all equally likely, in 100", "ε (nominal, between any two words)",
    "ε between any two words", "ε between any two words, up to δ", "ε per unit of distance",
)  # fmt: skip
"""Titles and names in drawings, which are made in English: see `pages/shared/language.py`."""


RECORDED = (
    # Of the audits of packages: `data/audit/packages.json`.
    "ε ≥ {epsilon}, but for a chance of {error}: {best}; {allowed}.",
    "ε ≥ {epsilon}, δ ≥ {delta} at the claimed ε, but for a chance of {error}: {best}; {allowed}.",
    "The best of {events} events shows nothing: {best}; {allowed}.",
    "the promise allows a factor of e^{factor}",
    "the promise allows a factor of e^{factor} at their distance of {distance}",
    "“{word}” gives {event} in {count:,} of {draws:,} calls, “{other}” in {others:,} of {more:,}",
    "an output about as far from both words as {words}",
    "one of {count} outputs ({words})",
    "the output {word}",
    "not refuted ({pairs:,} pairs of words, {calls:,} calls; a factor above e^{factor} cannot be "
    "seen)",
    "What is no word of the lexicon comes through: {probes}.",
    "{kind} (“{text}”, {unchanged:d} of {calls:d} calls)",
    "a made-up word", "a made-up name", "a number", "a telephone number", "an e-mail address",
    "a made-up word with a hyphen", "a word with a capital letter", "a word in capital letters",
    "a word with a space before it", "two words with a space between",
    "Capital letters show in what comes out: in {capitals} of {calls} calls for “{word}”, in "
    "{fewer} for “{other}”.",
    "Words outside the vocabulary are told apart: the outputs of two made-up words differ by a "
    "factor of at least e^{factor}.",
    "{refused:,} of {tried:,} words of the lexicon were refused and left out ({refusal}).",
    "ε = {epsilon} per unit of {metric} distance",
    "ε = {epsilon} between any two words",
    "300 words of ours, 50 components", "the bundled lexicon {name}",
    # Of studies of words: `data/results/manifest.json`.
    "sample of {count:,}, stratified by frequency",
    "{count:,} of the {words:,} different words of: {selection}",
    "tokens of the corpus",
    "{count:,} independent runs at each epsilon",
    "Rao–Blackwell over {count:,} shared directions and others towards each word; Sw counted in "
    "{runs:,} runs",
)  # fmt: skip
"""Sentences of records that the code writes in parts, or wrote in other words, with their gaps."""


def sentences() -> dict[str, set[str]]:
    """Every sentence that a page may say, with its files."""
    where: dict[str, set[str]] = {}
    for path in sorted(path for room in ROOMS for path in (ROOT / room).rglob("*.py")):
        name = path.relative_to(ROOT).as_posix()
        for sentence in extracted(path):
            where.setdefault(sentence, set()).add(name)
    for sentence in sorted(engine_words() | hover_texts()):
        where.setdefault(sentence, set()).add("dpcore")
    return where


def extracted(path: Path) -> list[str]:
    """The sentences that a file of Python marks, in their order."""
    # Not by Babel, to which the inside of an f-string is no code before Python 3.12.
    calls = [
        node
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.args
    ]
    calls.sort(key=lambda call: (call.lineno, call.col_offset))
    messages = [call.args[0] for call in calls if call.func.id in KEYWORDS]  # type: ignore[attr-defined]
    return [str(each.value) for each in messages if isinstance(each, ast.Constant)]


def engine_words() -> set[str]:
    """Yield the texts of the engine that pages show and translate: short names, and the lesson."""
    from dpcore.attack.leak import STRANGERS, describe_stranger, scored_words
    from dpcore.audit.verdict import Outcome
    from dpcore.guarantee import Status
    from dpcore.learn.classifiers import TITLES as CLASSIFIERS
    from dpcore.learn.corpus import teaching_corpus
    from dpcore.lexicon.metric import Metric
    from dpcore.measure.density import STRATA
    from dpcore.measure.targets import OVER
    from dpcore.measure.words import Stratum
    from dpcore.mechanisms.candidates.diffractor import TOUR_DISTANCE
    from dpcore.mechanisms.exponential.budget import BUDGET_DISTANCE
    from dpcore.mechanisms.exponential.santext import COSINE
    from dpcore.papers.overview import PAPERS
    from dpcore.plots.attack.icons import OTHER
    from dpcore.plots.deniability.curves import BANDS
    from dpcore.plots.utility.curves import EXPLAINED, TITLES
    from dpcore.plots.utility.frontier import X_TITLES
    from dpcore.rewrite.languages import LANGUAGES
    from dpcore.rewrite.policy import Treatment, UnknownWordPolicy, describe
    from dpcore.rewrite.redact.redaction import NO_PROMISE, REDACTORS
    from dpcore.rewrite.tokens import CasePolicy
    from dpcore.rewrite.write.scores import FORMS
    from dpcore.rewrite.write.writers import WRITERS
    from dpcore.study.labelled_trial import QUANTITIES

    words: list[str] = [
        *NUMBERS,
        *HEADINGS,
        *DRAWN,
        *_mechanisms(),
        *_lesson(),
        *stages(),
        OTHER,
        *OVER,
        *BANDS,
    ]
    words += [*Status, *(status.partition(" ")[0] for status in Status), *Outcome]
    for stranger in (*STRANGERS, ""):
        words += [describe_stranger(stranger), scored_words(stranger)]
    words += [*FORMS]
    for writer in WRITERS:
        words += [writer.name, writer.title, writer.texts]
    words += [*STRATA, *Stratum, *UnknownWordPolicy, *CasePolicy]
    words += [describe(policy) for policy in UnknownWordPolicy]
    words += [language.name for language in LANGUAGES.values()]
    for case, language in product(CasePolicy, LANGUAGES.values()):
        words += Treatment(keep_stop_words=True, case=case).released(language)
    words += [*TITLES.values(), *EXPLAINED.values(), *X_TITLES.values(), *CLASSIFIERS.values()]
    words += [source.title for source in PAPERS.values()]
    words += [*Metric, TOUR_DISTANCE, BUDGET_DISTANCE, "regularised Mahalanobis", "hyperbolic"]
    words += [COSINE, *_claims(), *_comparisons(), *_studies(), *RECORDED, *QUANTITIES.values()]
    words += [NO_PROMISE]
    for redactor in REDACTORS:
        words += [redactor.title, redactor.summary]
    corpus = teaching_corpus()
    for label in (*corpus.sentiment, *corpus.topic):
        words += [label, f"probability of {label}"]
    return {str(word) for word in words if word}


def hover_texts() -> set[str]:
    """The parts with words of the figures' hover texts, as Plotly fills them: "class %{x}"."""
    return {
        part
        for path in (ROOT / "dpcore/plots").rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and "%{" in node.value
        for part in worded(node.value)
    }


def worded(template: str) -> list[str]:
    """The parts of a template of hover texts that hold a word, and so need a translation."""
    parts = hover_parts(template)[::2]  # between them are tags and marks
    return [part for part in parts if _WORD.search(_FILLED.sub("", part))]


_FILLED = re.compile(r"%\{[^}]*\}")


def english_on_hover(figure: go.Figure, spoken: str) -> set[str]:
    """The hover texts of a figure in English that have no translation into a language."""
    english: set[str] = set()
    for trace in figure.data:
        english.update(*map(worded, texts_of(trace.hovertemplate)))
        with speaking(spoken):
            texts = filter(_WORD.search, texts_of(trace.hovertext))
            english |= {text for text in texts if retold(text) == text}
    return english - set(_catalogue(spoken).sentences())


def texts_of(texts: str | Sequence[str] | None) -> Sequence[str]:
    """The texts of a trace, which has one for all its points, or one for each, or none."""
    return [texts] if isinstance(texts, str) else [] if texts is None else texts


def _claims() -> Iterator[str]:
    """Sentences of the audited claims, with their gaps, and names of the figures of verdicts."""
    from dpcore.papers.claim import facts
    from dpcore.papers.claims import read_recorded

    kept = {"paper", "uses", "headline", "cost", "repairs", "cited"}
    for claim in facts().values():
        for field, sentence in claim.items():
            if field not in kept:
                yield from _told(sentence)
    for verdict in read_recorded().verdicts:
        yield from filter(_WORD.search, (*verdict.numbers, *verdict.settings))


def _comparisons() -> Iterator[str]:
    """Sentences that compare the papers with measurements, with their gaps."""
    for path in sorted((ROOT / "dpcore/papers").glob("*/comparison.toml")):
        rows = read_toml(f"{path.parent.name}/{path.name}")
        for row in rows.values():
            yield from _told(list(row.values()) if isinstance(row, dict) else row)


def _told(sentences: str | list[str]) -> Iterator[str]:
    """Yield the sentences that say something besides their gaps."""
    for sentence in [sentences] if isinstance(sentences, str) else sentences:
        if _WORD.search("".join(piece for piece, *_ in Formatter().parse(sentence))):
            yield sentence


_WORD = re.compile(r"[^\W\d_]{2}")


def _studies() -> Iterator[str]:
    """Titles, sources and sizes of the recorded studies and corpora, and titles of figures."""
    from dpcore.papers.studies import EXPERIMENTS, STUDIES
    from dpcore.study.vocabularies import CORPORA

    yield from (corpus.title for corpus in CORPORA.values())
    for study in (STUDIES | EXPERIMENTS).values():
        yield from (study.title, study.source, study.sizes)
        yield from (panel.title for panel in study.panels)


def _mechanisms() -> Iterator[str]:
    """Titles, summaries and settings of the mechanisms that come along."""
    from dpcore.mechanisms.registry import MECHANISMS, package_of

    for kind in MECHANISMS.values():
        if package_of(kind) is None:
            yield from (
                text
                for text in (kind.title, kind.summary, kind.caution, kind.source)
                if isinstance(text, str)
            )
            for name, declared in kind.parameters().items():
                yield from (name.replace("_", " "), declared["help"])


def _lesson() -> Iterator[str]:
    for exercise in read_toml("lesson.toml").values():
        yield from (exercise["question"], *exercise.get("options", ()), exercise["truth"])


def stages() -> set[str]:
    """The stages that the engine reports its progress by: `progress("words", done, total)`."""
    names = set()
    for path in (ROOT / "dpcore").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and len(node.args) == 3:
                called = node.func.attr if isinstance(node.func, ast.Attribute) else ""
                called = node.func.id if isinstance(node.func, ast.Name) else called
                first = node.args[0]
                if called.endswith(("progress", "report")) and isinstance(first, ast.Constant):
                    names.add(str(first.value))
    return names


def catalogue(language: str) -> Path:
    """The catalogue of a language."""
    return LOCALE / language / "LC_MESSAGES" / f"{DOMAIN}.po"


def read(language: str) -> Catalog:
    """A catalogue as it is now."""
    with catalogue(language).open("rb") as file:
        return read_po(file, locale=language, domain=DOMAIN)


def compiled(translations: Catalog) -> bytes:
    """A catalogue as `gettext` reads it."""
    file = io.BytesIO()
    write_mo(file, translations)
    return file.getvalue()


def bring_up_to_date(language: str) -> list[str]:
    """Add what is new to a catalogue, drop what is gone, compile it; what lacks a translation."""
    old = read(language)
    new = Catalog(
        language,
        DOMAIN,
        HEADER.format(name=LANGUAGES[language]),
        project="Word Privacy Lab",
        version="1",
        msgid_bugs_address="see CONTRIBUTING.md",
        last_translator="see the history of this file",
        language_team=LANGUAGES[language],
        creation_date=old.creation_date,
        revision_date=old.creation_date,
        fuzzy=False,
    )
    missing = []
    for sentence, files in sentences().items():
        before = old.get(sentence)
        translation = "" if before is None else str(before.string)
        comments = [] if before is None else before.user_comments
        new.add(
            sentence,
            translation,
            locations=[(name, 0) for name in sorted(files)],
            user_comments=comments,
        ).flags.discard("python-format")  # ours are those of str.format; a per cent sign is one
        if not translation:
            missing.append(sentence)
    with catalogue(language).open("wb") as file:
        write_po(file, new, width=100, include_lineno=False, omit_header=False)
    catalogue(language).with_suffix(".mo").write_bytes(compiled(read(language)))
    return missing


if __name__ == "__main__":
    for spoken in LANGUAGES:
        if spoken != ENGLISH:
            untranslated = bring_up_to_date(spoken)
            print(f"{spoken}: {len(untranslated)} sentences lack a translation")
            sys.stdout.writelines(f"  {sentence!r}\n" for sentence in untranslated)
