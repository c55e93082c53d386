"""Uploaded vectors: checked, and kept in this session only."""

from __future__ import annotations

from dataclasses import dataclass

import streamlit as st

from dpcore.errors import DpcoreError
from dpcore.lexicon.catalogue import only_here
from dpcore.lexicon.lexicon import ENGLISH, Lexicon
from dpcore.lexicon.readers import ReadReport, read_uploaded
from dpcore.limits import MAX_OWN_VECTOR_BYTES
from dpcore.rewrite.documents import lexicon_caution
from dpcore.rewrite.languages import LANGUAGES
from pages.shared.language import later, say
from pages.shared.messages import note, refuse

NAME = "yours"
"""Name in the list of lexicons and in links; in any other session they lead to the bundled one."""

_OWN = "own_vectors"
_ANOTHER = "und"  # undetermined, in ISO 639
_OF_NONE = later("Another language")


@dataclass(frozen=True, eq=False)
class _Brought:
    """Result of reading one file.

    Attributes:
        file: its id.
        language: chosen language of its words.
        lexicon: None if it was refused.
        report: report on reading it.
        refused: reason of the refusal.
    """

    file: str
    language: str = ENGLISH
    lexicon: Lexicon | None = None
    report: ReadReport | None = None
    refused: DpcoreError | None = None

    def is_not(self, file: str, language: str) -> bool:
        """Return True if another file is there, or another language was chosen for it."""
        return self.file != file or (self.lexicon is not None and self.language != language)


def own_lexicon() -> Lexicon | None:
    """Return the lexicon that was uploaded in this session, if any."""
    brought: _Brought | None = st.session_state.get(_OWN)
    return None if brought is None else brought.lexicon


def choose_own() -> None:
    """Draw the upload and the results of the checks."""
    with st.popover(say("Your own vectors"), icon=":material/upload_file:", width="stretch"):
        file = st.file_uploader(
            say("A file of word vectors"),
            type=["txt", "vec", "bin"],
            key="own_vectors_file",
            help=say(
                "A word and its numbers on each line (GloVe, word2vec, fastText .vec), or "
                "word2vec binary, not packed, up to {most:,} bytes. For larger "
                "ones: `python -m dpcore lexicon add FILE`.",
                most=MAX_OWN_VECTOR_BYTES,
            ),
        )
        spoken = st.selectbox(
            say("Language of the words"),
            [*LANGUAGES, _ANOTHER],
            format_func=lambda code: say(LANGUAGES[code].name if code in LANGUAGES else _OF_NONE),
            key="own_vectors_language",
            help=say(
                "Determines capital letters, contractions and function words; there are none "
                "of the latter for Turkish or for languages not in the list. Word frequencies, "
                "context and kinds exist for English only."
            ),
        )
        note(
            say(
                "Words and vectors must be public: they are not protected. They stay in this "
                "session's memory, are never written to disk, and are forgotten with it."
            )
        )
        brought: _Brought | None = st.session_state.get(_OWN)
        if file is not None and (brought is None or brought.is_not(file.file_id, spoken)):
            with st.spinner(say("Reading and checking the vectors…")):
                st.session_state[_OWN] = _read(file.file_id, spoken, file.name, file.getvalue())
            st.rerun()  # the list of lexicons now contains it
        if brought is not None:
            _checked(brought)


def _checked(brought: _Brought) -> None:
    if brought.refused is not None:
        refuse(say("These vectors cannot be used."), brought.refused)
        return
    words, report = brought.lexicon, brought.report
    if words is None or report is None:
        return
    left_out = say(", left out: {dropped}", dropped=report.dropped) if report.dropped.total else ""
    # st.text: text from a file is not Markdown.
    st.text(
        say(
            "{format}: {rows:,} rows read, {count:,} words of {dimension} dimensions "
            "kept{left_out}. Every number is finite, every word and every vector distinct. "
            "Fingerprint {fingerprint}. Choose “{name}” as lexicon.",
            format=report.format,
            rows=report.rows,
            count=len(words),
            dimension=words.dimension,
            left_out=left_out,
            fingerprint=words.fingerprint[:12],
            name=NAME,
        )
    )
    if caution := lexicon_caution(words):
        st.warning(say("**Texts will not match these words.**"), icon=":material/warning:")
        st.text(caution)
    st.button(
        say("Forget these vectors"),
        key="own_vectors_forget",
        icon=":material/delete:",
        on_click=_forget,
        args=(brought.file,),
        help=say("Removes them from this session."),
    )


def _forget(file: str) -> None:
    """Keep only the file's id: it may still be in the field, and must not be read again."""
    st.session_state[_OWN] = _Brought(file)


def _read(file: str, language: str, label: str, data: bytes) -> _Brought:
    try:
        lexicon, report = read_uploaded(data, label, NAME)
    except DpcoreError as error:
        return _Brought(file, language, refused=error)
    return _Brought(file, language, only_here(lexicon.with_language(language)), report)
