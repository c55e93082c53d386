"""Normal, augmented and certified training of networks for texts: recorded (Xu et al. 2021)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pandas as pd
import streamlit as st

from dpcore.mechanisms.registry import resolve
from dpcore.plots.robust.shares import ends_caption, lines_figure
from dpcore.plots.style import SCALES
from dpcore.study.robust_curves import constant_line, training_curves
from pages.robustness.recorded_frame import recorded_view
from pages.shared.figure import show_figure
from pages.shared.fragments import fragment
from pages.shared.language import later, say
from pages.shared.linking import choose_one
from pages.shared.messages import note
from pages.shared.table import PERCENT, numbers, show_table

if TYPE_CHECKING:
    from dpcore.study.recorded import Recorded
    from pages.robustness.recorded_frame import Parts

_MEASURED = {
    "paper": later("after the paper's attack"),
    "stronger": later("after a stronger attack"),
    "rewritten": later("on texts that were rewritten once"),
    "clean": later("on texts as they are"),
    "certified": later("certified: right whatever is substituted"),
}
_FIRST = ("truncated-gumbel", "madlib")


def training_view() -> None:
    """Draw what is compared, and the record."""
    note(
        say(
            "Three ways to train the same network: as usual; on four more copies of every text "
            "that the mechanism rewrote (augmented); and so that interval bounds stay right for "
            "every allowed substitution (IBP, Jia et al. 2019). The attack tries words that the "
            "mechanism drew for each word at ε, as Xu et al. 2021 do in their Tables 2 and 3; a "
            "word that every draw gave back is left alone."
        )
    )
    fragment(
        recorded_view,
        ("xu2021-tables-2-3-",),
        "training",
        _parts,
        say(
            "`pip install -r requirements-learn.txt`, then `python -m dpcore robust train "
            "--help` says how a network is trained on texts of your own."
        ),
    )


def _parts(record: Recorded) -> Parts:
    return {
        later("Accuracy against ε"): lambda: _curves(record),
        later("All numbers"): lambda: _numbers(record),
    }


def _mechanisms(record: Recorded) -> list[str]:
    there = set(record.table["label"])
    return [name for name in _FIRST if name in there]


def _curves(record: Recorded) -> None:
    names = _mechanisms(record)
    with st.container(horizontal=True):
        mechanism = choose_one(
            st.selectbox,
            say("Mechanism"),
            {name: resolve(name).title for name in names},
            "training_mechanism",
            width=300,
            help=say(
                "Whose words the attack tries, and that rewrote the copies of augmented training."
            ),
        )
        measured = choose_one(
            st.selectbox,
            say("Accuracy"),
            _MEASURED,
            "training_measured",
            width=360,
            help=say(
                "After an attack: share of texts that stay right. Certified: share that no "
                "substitution of the lists can change, whatever an attack tries."
            ),
        )
    table = training_curves(record, mechanism, measured)
    if not len(table):
        note(say("This was not measured for this mechanism."))
        return
    if measured != "certified":
        table = pd.concat((table, constant_line(record, table)), ignore_index=True)
    axis = SCALES[resolve(mechanism).meaning].axis
    unit = "ln ε" if axis.startswith("ln") else "ε"
    logarithm = unit == "ε"
    show_figure(
        lines_figure(table, axis, "accuracy", logarithm=logarithm),
        ends_caption(table, f"Accuracy {_MEASURED[measured]}", unit),
        table,
        f"{record.entry.name}_{mechanism}_{measured}",
    )
    note(
        say(
            "Bands are 95 % intervals over the attacked texts, where a record has them; these "
            "are few, so where nothing moves their accuracy need not be that of all test texts. "
            "A network that was trained without the mechanism has the same clean and certified "
            "accuracy at every ε. **No attack changes a constant answer**: a network at the "
            "line of the largest class may be robust because it reads nothing; compare its "
            "accuracy on texts as they are."
        )
    )


def _numbers(record: Recorded) -> None:
    """One table a mechanism: every training and every measure at every ε."""
    for mechanism in _mechanisms(record):
        st.header(say(resolve(mechanism).title), anchor=False)
        parts = []
        for measured, title in _MEASURED.items():
            table = training_curves(record, mechanism, measured)
            parts.append(table.assign(accuracy=title))
        table = pd.concat(parts, ignore_index=True)
        wide = table.pivot_table(
            index=["accuracy", "curve"], columns="x", values="mean", sort=False
        ).reset_index()
        wide.columns = [str(name) if isinstance(name, str) else f"{name:.3g}" for name in wide]
        show_table(
            wide.rename(columns={"curve": "training"}),
            say("Accuracy of each training at every ε of {mechanism}", mechanism=mechanism),
            spoken=["accuracy"],
            column_config=numbers(wide.columns[2:], PERCENT),
        )
