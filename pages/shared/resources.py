"""What all sessions share: lexicons and mechanisms, which are public and immutable.

Keys are names, fingerprints and settings; nothing that a person typed is ever part of one, and
nothing is shared of vectors that a person uploaded. The rule of `budget` is a setting that is
typed: only one that the mechanism accepts gets so far, which is names of kinds of words, and
numbers.
"""

from __future__ import annotations

from functools import wraps
from typing import TYPE_CHECKING, Any, TypeVar

import streamlit as st

from dpcore.lexicon.cache import only_in_memory
from pages.shared.language import Waiting
from pages.shared.memo import session_memo
from pages.shared.own_vectors import NAME, own_lexicon

if TYPE_CHECKING:
    from collections.abc import Callable

    from dpcore.lexicon.lexicon import Lexicon
    from dpcore.mechanisms.additive.shared import SharedDirections
    from dpcore.mechanisms.mechanism import Mechanism

T = TypeVar("T")
Settings = tuple[tuple[str, Any], ...]
Identity = tuple[str, str, Settings]


def of_lexicon(**options: Any) -> Callable[[Callable[..., T]], Callable[..., T]]:
    """`st.cache_resource` for a function whose first argument is a lexicon's fingerprint.

    What is made of vectors that a person uploaded is kept in that session alone.

    Args:
        options: of `st.cache_resource`.
    """

    def decorate(function: Callable[..., T]) -> Callable[..., T]:
        shared: Callable[..., T] = st.cache_resource(**options)(function)

        @wraps(function)
        def call(fingerprint: str, *rest: Any) -> T:
            if not only_in_memory(fingerprint):
                return shared(fingerprint, *rest)
            slot = f"own {function.__module__}.{function.__qualname__}"
            return session_memo(slot, (fingerprint, *rest), lambda: function(fingerprint, *rest))

        return call

    return decorate


@st.cache_resource(max_entries=4, show_spinner=Waiting("Loading the lexicon…"))
def catalogued(name: str) -> Lexicon:
    """A lexicon of the catalogue, for all sessions.

    Raises:
        LexiconError: it is unknown or damaged.
    """
    from dpcore.lexicon.catalogue import load

    return load(name)


def lexicon(name: str) -> Lexicon:
    """A lexicon of the catalogue, by name, or the one that this session brought along.

    Raises:
        LexiconError: it is unknown or damaged.
    """
    mine = own_lexicon() if name == NAME else None
    return catalogued(name) if mine is None else mine


@of_lexicon(max_entries=64, show_spinner=Waiting("Preparing a mechanism…"))
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


def identity(mechanism: Mechanism) -> Identity:
    """What tells a mechanism from all others: its lexicon's fingerprint, its key, its settings.

    A key for what is kept of a mechanism: the mechanism itself as a key would keep its lexicon.
    """
    settings = tuple(sorted(mechanism.settings().items()))
    return mechanism.lexicon.fingerprint, mechanism.key, settings


@st.cache_data(ttl=60, show_spinner=False)
def lexicon_names() -> list[str]:
    """Names of the lexicons of the catalogue; looked up again after a minute."""
    from dpcore.lexicon.catalogue import available

    return [entry.name for entry in available()]


@of_lexicon(max_entries=2, show_spinner=False)
def directions(fingerprint: str) -> SharedDirections:  # noqa: ARG001 - the key of the cache
    """Public noise directions that estimate the laws of a lexicon's words, for all sessions."""
    from dpcore.mechanisms.additive.shared import SharedDirections

    return SharedDirections()
