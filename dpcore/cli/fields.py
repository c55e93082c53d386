"""Fields with which the JSON of several commands begins."""

from __future__ import annotations

from typing import Any

from dpcore import __version__
from dpcore.cli.shell import Options
from dpcore.lexicon.lexicon import Lexicon
from dpcore.measure.words import Selection
from dpcore.mechanisms.mechanism import Mechanism


def some(record: Any, names: str) -> dict[str, Any]:
    """Return some attributes of a record by their names, in this order."""
    return {name: getattr(record, name) for name in names.split()}


def of_lexicon(public: Lexicon) -> dict[str, Any]:
    """Return the first fields of a result about a lexicon."""
    return {"lexicon": public.name, "fingerprint": public.fingerprint, "version": __version__}


def of_settings(mechanism: Mechanism) -> dict[str, Any]:
    """Return the name of the mechanism, with its parameters."""
    return {"mechanism": mechanism.key, "parameters": mechanism.settings()}


def of_mechanism(mechanism: Mechanism) -> dict[str, Any]:
    """Return the first fields of a result about one mechanism."""
    return of_settings(mechanism) | of_lexicon(mechanism.lexicon)


def of_selection(options: Options, public: Lexicon, selection: Selection) -> dict[str, Any]:
    """Return the first fields of a result about measured words."""
    return {
        **of_lexicon(public),
        **some(options, "runs seed"),
        "selection": {
            "description": selection.description,
            "words": len(selection),
            "tokens": selection.tokens,
            "unknown_tokens": selection.unknown,
        },
    }
