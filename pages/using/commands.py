"""Command lines that give the numbers of a run of one's own."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING

from pages.using.uploading import UPLOAD

if TYPE_CHECKING:
    from dpcore.study.live import Live


def commands(live: Live, corpus: str) -> list[str]:
    """One line a mechanism; a table of one's own stands in it as FILE.csv.

    Args:
        live: what was run.
        corpus: key of `pages.using.uploading.CORPORA`.
    """
    source = ["--labels", corpus]
    if corpus == UPLOAD:
        source = ["--file", "FILE.csv", "--text-column", "TEXT", "--label-column", "LABEL"]
    common = [*source, "--texts", str(len(live.texts)), "--trials", str(live.seeds)]
    common += ["--classifier", live.learner]
    if live.attack:
        common.append("--attack")
    if live.lexicon != "default":
        common += ["--lexicon", live.lexicon]
    return [
        shlex.join(
            [
                "python", "-m", "dpcore", "utility", "--mechanism", arm.mechanism,
                "--epsilon", ",".join(f"{epsilon:g}" for epsilon in arm.epsilons),
                *(part for name, value in arm.settings for part in ("--set", f"{name}={value}")),
                *common,
            ]
        )
        for arm in live.arms
    ]  # fmt: skip
