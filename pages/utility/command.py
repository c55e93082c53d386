"""The command line that gives the numbers of a run of one's own."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING

from pages.utility.uploading import UPLOAD

if TYPE_CHECKING:
    from dpcore.study.live import Live


def command(live: Live, corpus: str) -> str:
    """One line; a table of one's own stands in it as FILE.csv with TEXT and LABEL.

    Args:
        live: what was run.
        corpus: key of `pages.utility.uploading.CORPORA`.
    """
    words = ["python", "-m", "dpcore", "utility"]
    if corpus == UPLOAD:
        words += ["--file", "FILE.csv", "--text-column", "TEXT", "--label-column", "LABEL"]
    else:
        words += ["--labels", corpus]
    for arm in live.arms:
        values = ",".join(f"{epsilon:.6g}" for epsilon in arm.epsilons)
        words += ["--mechanism", arm.mechanism, "--epsilon", f"{arm.mechanism}={values}"]
    settings = dict.fromkeys(f"{name}={value}" for arm in live.arms for name, value in arm.settings)
    words += [word for setting in settings for word in ("--set", setting)]
    words += ["--texts", str(len(live.texts)), "--trials", str(live.seeds)]
    words += ["--classifier", live.learner]
    if live.attack:
        words.append("--attack")
    if live.lexicon != "default":
        words += ["--lexicon", live.lexicon]
    return shlex.join(words)
