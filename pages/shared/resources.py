"""What all sessions share: lexicons and mechanisms, which are public and immutable.

Keys are names, fingerprints and settings; nothing that a person typed is ever part of one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import streamlit as st

if TYPE_CHECKING:
    from dpcore.lexicon.lexicon import Lexicon
    from dpcore.mechanisms.additive.shared import SharedDirections
    from dpcore.mechanisms.mechanism import Mechanism

Settings = tuple[tuple[str, Any], ...]


@st.cache_resource(max_entries=4, show_spinner="Loading the lexicon…")
def lexicon(name: str) -> Lexicon:
    """A lexicon of the catalogue, by name.

    Raises:
        LexiconError: it is unknown or damaged.
    """
    from dpcore.lexicon.catalogue import load

    return load(name)


@st.cache_resource(max_entries=64, show_spinner="Preparing a mechanism…")
def _mechanism(
    fingerprint: str,  # noqa: ARG001 - stands for the lexicon in the key of the cache
    key: str,
    settings: Settings,
    _lexicon: Lexicon,
) -> Mechanism:
    from dpcore.mechanisms.registry import create

    return create(key, _lexicon, dict(settings))


def mechanism(words: Lexicon, key: str, settings: Settings = ()) -> Mechanism:
    """A mechanism over a lexicon, made once for all sessions.

    Raises:
        DpcoreError: the key or a setting is refused.
    """
    return _mechanism(words.fingerprint, key, settings, words)


@st.cache_data(ttl=60, show_spinner=False)
def lexicon_names() -> list[str]:
    """Names of the lexicons that can be chosen; looked up again after a minute."""
    from dpcore.lexicon.catalogue import available

    return [entry.name for entry in available()]


@st.cache_resource(max_entries=2, show_spinner=False)
def directions(fingerprint: str) -> SharedDirections:  # noqa: ARG001 - the key of the cache
    """Public noise directions that estimate the laws of a lexicon's words, for all sessions."""
    from dpcore.mechanisms.additive.shared import SharedDirections

    return SharedDirections()
