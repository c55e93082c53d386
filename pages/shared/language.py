"""Language of a session, English or German: its translated sentences and number format.

The English sentence in the code is the key of the catalogue, `pages/locale/<language>/`; where it
has no translation, English is shown. Links, files and the session state are the same in all
languages: translation happens only when something is drawn.
"""

from __future__ import annotations

import gettext
import re
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from numbers import Real
from pathlib import Path
from typing import TYPE_CHECKING, Any

import streamlit as st
from streamlit.runtime.scriptrunner import get_script_run_ctx

from dpcore.written import Filled, Gaps, Named, Numeral, Templates

if TYPE_CHECKING:
    import plotly.graph_objects as go


ENGLISH = "en"
LANGUAGES = {ENGLISH: "English", "de": "Deutsch"}
"""Name in links -> name of the language in itself; the first is the default."""

LANGUAGE = "lang"
"""Key of the choice, and its name in the link."""

DOMAIN = "pages"
LOCALE = Path(__file__).parents[1] / "locale"

_LOCALES = {ENGLISH: "en-US", "de": "de-DE"}
_POINT = re.compile(r"(?<=\d)[.,](?=\d)")  # in a number, and not in a name
_EXCHANGED = {",": ".", ".": ","}
_PERCENT = re.compile(r"(?<=\d)%")
_WORDS = re.compile(r"(?<![\w-])[A-Za-z]+(?: [A-Za-z]+)*(?![\w-])")  # not in a mechanism's name
_of_run = threading.local()  # .context, .language: of the script run of this thread; .file


def language() -> str:
    """Return the language of this session; English where there is none, in a thread of the server.

    It is looked up once in a script run: a field that changes it begins another one.
    """
    spoken = getattr(_of_run, "file", None)
    if spoken is not None:
        return str(spoken)
    context = get_script_run_ctx(suppress_warning=True)
    if context is None:
        return ENGLISH
    if getattr(_of_run, "context", None) is not context:
        begin_language()
    return str(_of_run.language)


def begin_language() -> None:
    """Look up the language at the beginning of a run: the last choice, else that of the link."""
    _of_run.context = get_script_run_ctx(suppress_warning=True)
    wanted = st.session_state.get(LANGUAGE) or st.query_params.get(LANGUAGE, ENGLISH)
    _of_run.language = wanted if wanted in LANGUAGES else ENGLISH


def say(sentence: str, /, **values: Any) -> str:
    """Translate a sentence of ours into the language of this session.

    Args:
        sentence: in English, as in the catalogue, or a sentence of the engine that knows its own
            gaps.
        values: values of its gaps, as for `str.format`; numbers are written as the language does.
    """
    spoken = language()
    if spoken == ENGLISH:
        return sentence.format(**values) if values else sentence
    if isinstance(sentence, Filled):
        told = translated(sentence.template, spoken)
        return _Numbers().format(told, **sentence.values)
    if isinstance(sentence, Numeral):
        return numeral(sentence)
    if isinstance(sentence, Named):
        return lettering(sentence)
    told = translated(sentence, spoken)
    return _Numbers().format(told, **values) if values else told


def retold(text: str) -> str:
    """Translate a text of the engine that has lost its gaps: of a verdict, a record, a guarantee.

    Its template is found in the catalogue by its words.
    """
    spoken = language()
    return text if spoken == ENGLISH else say(_templates(spoken).read(str(text)))


@contextmanager
def speaking(spoken: str) -> Iterator[None]:
    """Run a block in this language: for a file that is made while no page is drawn."""
    before = getattr(_of_run, "file", None)
    _of_run.file = spoken
    try:
        yield
    finally:
        _of_run.file = before


def later(sentence: str) -> str:
    """Mark a sentence for the catalogue that is defined at import; `say` it where it is drawn."""
    return sentence


class Waiting(str):
    """Sentence that Streamlit draws by itself, such as that of a spinner of a cache.

    It is translated when it is converted to a string.
    """

    __slots__ = ()

    def __str__(self) -> str:
        """Return the sentence in the language of the waiting session."""
        return say(self[:])


def numeral(text: str) -> str:
    """Convert a number in English, "1,200.5" or "at most 0.3", to the format of this language."""
    spoken = language()
    if spoken == ENGLISH:
        return text
    whole = translated(text, spoken)
    if whole != text:
        return whole
    return _WORDS.sub(lambda match: _words(match[0], spoken), _exchanged(text))


def _words(text: str, spoken: str) -> str:
    """Translate the words beside a number: all of them, or the longest beginning that is known."""
    words = text.split(" ")
    for end in range(len(words), 0, -1):
        beginning = " ".join(words[:end])
        translation = translated(beginning, spoken)
        if translation != beginning:
            break
    else:
        end, translation = 1, words[0]
    return " ".join(
        (translation, *([_words(" ".join(words[end:]), spoken)] if words[end:] else []))
    )


def _exchanged(number: str) -> str:
    """Write a comma before the decimals, points between the thousands, and 5 %."""
    exchanged = _POINT.sub(lambda match: _EXCHANGED[match[0]], number)
    return _PERCENT.sub("\N{NO-BREAK SPACE}%", exchanged)


def for_component(sentences: Mapping[str, str]) -> dict[str, Any]:
    """Return sentences of a component for its data: see `spoken.js`.

    Args:
        sentences: in English, by the name that the component uses; the component fills the gaps.
    """
    return {
        "words": {name: say(sentence) for name, sentence in sentences.items()},
        "locale": _LOCALES[language()],
    }


def translated(sentence: str, spoken: str) -> str:
    """Translate a sentence from English; return it unchanged if the catalogue lacks it."""
    return _catalogue(spoken).gettext(sentence) if sentence else ""  # the header is stored under ""


class _Catalogue(gettext.GNUTranslations):
    """Catalogue that names its sentences."""

    _catalog: dict[str, str]  # of the base class, which does not declare it

    def sentences(self) -> Iterator[str]:
        """Yield the English sentences."""
        return iter(self._catalog)


@cache
def _catalogue(spoken: str) -> _Catalogue:
    """Return the catalogue of a language, read at the first request."""
    return gettext.translation(DOMAIN, str(LOCALE), [spoken], _Catalogue)


@cache
def _templates(spoken: str) -> Templates:
    """Return the sentences of a catalogue as templates, compiled at the first request."""
    return Templates(_catalogue(spoken).sentences())


class _Numbers(Gaps):
    """Formatter of numbers with a comma before the decimals and points between the thousands."""

    def format_field(self, value: Any, format_spec: str) -> str:
        """Format one value; only numbers change: a plain text may be a word with a point in it."""
        if isinstance(value, Numeral):
            return say(value)
        if isinstance(value, Filled | Named):
            value = say(value)
        text = str(super().format_field(value, format_spec))
        if isinstance(value, bool) or not isinstance(value, Real):
            return text
        return _exchanged(text)


# Text in a drawing, in the language of the page: axes, curves, marks, numbers.


_NUMBER = re.compile(r"\d[\d,.]*")
_BOLD = re.compile(r"<b>(.*?)</b>")
_NUMERAL = re.compile(r"[\d,.]*\d[×%]?")
_BETWEEN = ", "
_ON_HOVER = re.compile(r"(<[^>]*>|[:,] )")  # between the parts of a template of hover texts


def spoken(figure: go.Figure) -> go.Figure:
    """Return a figure for display: a copy in another language than English, else the figure itself.

    Args:
        figure: from `dpcore.plots`, in English; it may be shared between sessions.
    """
    if language() == ENGLISH:
        return figure
    # Late: the server imports this module before it listens, and plotly takes half a second.
    import plotly.graph_objects as go

    shown = go.Figure(figure)
    shown.update_layout(separators=",.")
    for trace in shown.data:
        if trace.name:
            trace.name = lettering(trace.name)
        # Words of a text are in `customdata` and `meta`, sentences of ours in `hovertext`.
        for place, tell in (("hovertemplate", _hover), ("hovertext", retold)):
            texts = trace[place]
            if texts is not None:
                alone = isinstance(texts, str)
                trace[place] = tell(texts) if alone else [tell(text) for text in texts]
        if trace.type == "bar":
            trace.y = [_ours(name) if isinstance(name, str) else name for name in trace.y]
            # A number with words beside it; a text without a space may be a word of the lexicon.
            if trace.text is not None:
                trace.text = [retold(text) if " " in text else text for text in trace.text]
    for part, name in _titles(shown.layout):
        part[name] = lettering(part[name])
    for axis in (*shown.select_xaxes(), *shown.select_yaxes()):
        if axis.ticktext is not None:
            axis.ticktext = [_tick(text) for text in axis.ticktext]
    return shown


def hover_parts(template: str) -> list[str]:
    """Return the parts of a template of hover texts, and between them its tags and marks."""
    return _ON_HOVER.split(template)


def _hover(template: str) -> str:
    return "".join(translated(part, language()) for part in hover_parts(template))


def _tick(text: str) -> str:
    return numeral(text) if _NUMERAL.fullmatch(text) else _ours(text)


def _ours(text: str) -> str:
    """Say words of ours, which are bold; others are words of a text, or of a file."""
    return _BOLD.sub(lambda bold: f"<b>{lettering(bold[1])}</b>", text)


def _titles(layout: Any) -> Iterator[tuple[Any, str]]:
    """Yield the places of a drawing that hold words outside its curves."""
    axes = [layout[name] for name in layout if re.fullmatch(r"[xy]axis\d*|coloraxis", name)]
    for axis in axes:
        title = axis.colorbar.title if hasattr(axis, "colorbar") else axis.title
        if title.text:
            yield title, "text"
    for note in layout.annotations:
        if note.text:
            yield note, "text"


def lettering(text: str) -> str:
    """Translate a text of a drawing: whole, with a number in it or gaps, or part by part."""
    to = language()
    whole = translated(text, to)
    if whole != text:
        return whole
    number = _NUMBER.search(text)
    if number is not None:
        template = text.replace(number[0], "{number}", 1)
        told = translated(template, to)
        if told != template:
            return told.replace("{number}", numeral(number[0]))
    sentence = _templates(to).sentence(text)
    if sentence is not None:
        return say(sentence)
    return _BETWEEN.join(translated(part, to) for part in text.split(_BETWEEN))
