"""Small files of facts, each with an HMAC: only who knows the secret can have written them."""

from __future__ import annotations

import hmac
import json
from typing import TYPE_CHECKING

from dpcore.lexicon.cache import write_text

if TYPE_CHECKING:
    from pathlib import Path

    from dpcore.jobs.worker import Json


def canonical(facts: Json) -> bytes:
    """The bytes that stand for facts, in whatever order they were written."""
    return json.dumps(facts, sort_keys=True).encode()


def _seal(secret: bytes, facts: Json) -> str:
    """HMAC-SHA256 of facts under a key of its own, made from the secret."""
    key = hmac.digest(secret, b"seal", "sha256")
    return hmac.new(key, canonical(facts), "sha256").hexdigest()


def write_sealed(path: Path, secret: bytes, facts: Json) -> None:
    """Write facts with their seal, whole and lasting.

    Raises:
        OSError: the folder is gone or cannot be written.
    """
    sealed = {"seal": _seal(secret, facts), "facts": facts}
    write_text(path, json.dumps(sealed, ensure_ascii=False, indent=1) + "\n", lasting=True)


def read_facts(path: Path) -> Json:
    """The facts of a sealed file, not checked: when the secret has gone."""
    return dict(json.loads(path.read_text(encoding="utf-8"))["facts"])


def read_sealed(path: Path, secret: bytes) -> Json:
    """The facts of a sealed file.

    Raises:
        ValueError: as all of `FIELDS`: they are not what was sealed with this secret.
    """
    facts = read_facts(path)
    seal = json.loads(path.read_text(encoding="utf-8"))["seal"]
    if not hmac.compare_digest(str(seal).encode(), _seal(secret, facts).encode()):
        raise ValueError("another seal")
    return facts
