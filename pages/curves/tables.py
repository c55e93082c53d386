"""Tables behind figures and views of the page Curves, and its drawer of files and commands."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import pandas as pd
import streamlit as st

from dpcore.measure.deniability import summarise
from dpcore.measure.pair import crossings
from dpcore.measure.words import Stratum
from dpcore.mechanisms.mechanism import Mechanism
from dpcore.plots.deniability import equal_nw
from dpcore.plots.deniability.curves import COLUMNS, WORD_COLUMNS
from pages.curves.choosing import LIST, SAMPLE, TEXT, WORDS
from pages.curves.scene import CurvesScene
from pages.shared import link
from pages.shared.language import later, say
from pages.shared.taking import Takeaway, command_line, mechanism_words, take_it_with_you
from pages.shared.words import pair_is_typed

if TYPE_CHECKING:
    from pages.curves.curves import Curve


_QUANTITIES = ("nw", "sw", "effective")
_ROLES = ("word", "other")


def curve_table(curves: list[Curve], quantity: str) -> pd.DataFrame:
    """Return one quantity of all curves at all measured ε, the columns `COLUMNS`."""
    parts = []
    for curve in curves:
        measured = curve.measured
        s = summarise(measured, quantity)
        names = measured.selection.names
        columns = {
            "mechanism": measured.mechanism,
            "epsilon": measured.epsilons,
            "mean": s.mean,
            "standard_error": s.mean_error,
            "mean_low": s.mean_low,
            "mean_high": s.mean_high,
            "standard_deviation": s.deviation,
            "q05": s.bands[0],
            "q95": s.bands[-1],
            "median": s.median,
            "worst": s.worst,
            "worst_word": [names[i] for i in s.worst_word.tolist()],
            "words": len(names),
            "method": str(measured.method),
            "runs": measured.runs,
        }
        parts.append(pd.DataFrame(columns))
    return pd.concat(parts, ignore_index=True)[list(COLUMNS)]


def line_table(curves: list[Curve], pinned: Sequence[str], every: bool) -> pd.DataFrame | None:
    """Return Nw and Sw of single words, the columns `WORD_COLUMNS`; None if no word is requested.

    Args:
        curves: curves of one group.
        pinned: up to two words, the first and the second of a comparison.
        every: True to include all measured words.
    """
    parts = []
    for curve in curves:
        names = [name for name in curve.measured.selection.names if every and name not in pinned]
        for name, role in [*((name, "") for name in names), *zip(pinned, _ROLES, strict=False)]:
            place = curve.place(name)
            if place is not None:
                part, i = place
                values = {"nw": part.figures.nw[i], "sw": part.figures.sw[i]}
                head = {"mechanism": part.mechanism, "epsilon": part.epsilons}
                parts.append(pd.DataFrame(head | {"word": name, "role": role} | values))
    return pd.concat(parts, ignore_index=True)[list(WORD_COLUMNS)] if parts else None


def table_at(curves: list[Curve], pinned: Sequence[str], epsilon: float) -> pd.DataFrame:
    """Return all quantities at one ε for display: mean, median, worst and pinned words."""
    rows = []
    for curve in curves:
        # Nothing at an ε where the mechanism is not defined: such a mechanism has no row.
        places = (curve.measured.epsilons == epsilon).nonzero()[0]
        if places.size:
            rows += _rows_at(curve, pinned, int(places[0]))
    return pd.DataFrame(rows)


def _rows_at(curve: Curve, pinned: Sequence[str], e: int) -> list[dict[str, Any]]:
    names = curve.measured.selection.names
    of = {quantity: summarise(curve.measured, quantity) for quantity in _QUANTITIES}

    def row(which: str, values: Any, errors: Any = None, words: str = "") -> dict[str, Any]:
        nw, sw, effective = values
        low, high, sw_error = (None, None, None) if errors is None else errors
        return {
            "mechanism": curve.mechanism.short,
            "of": which,
            "Nw": nw,
            "Nw at least": low,
            "Nw at most": high,
            "Sw": sw,
            "± Sw": sw_error,
            "effective number": effective,
            "which word": words,
        }

    def each(name: str) -> list[float]:
        return [float(getattr(of[quantity], name)[e]) for quantity in _QUANTITIES]

    # The worst word may differ between quantities; one name is enough where it does not.
    worst = dict.fromkeys(names[int(of[quantity].worst_word[e])] for quantity in _QUANTITIES)
    nw = of["nw"]
    errors = [float(a[e]) for a in (nw.mean_low, nw.mean_high, of["sw"].mean_error)]
    rows = [
        row(
            say("mean of {count}", count=len(names)) if len(names) > 1 else say("one word"),
            each("mean"),
            errors,
        ),
        row(say("median"), each("median")),
        row(say("worst"), each("worst"), words=" / ".join(worst)),
    ]
    for name in pinned:
        place = curve.place(name)
        if place is not None:
            figures, i = place[0].figures, place[1]
            values = [float(getattr(figures, quantity)[i, e]) for quantity in _QUANTITIES]
            errors = [float(a[i, e]) for a in (figures.nw_low, figures.nw_high, figures.sw_error)]
            kind = say("pinned") if name == pinned[0] else say("compared")
            rows.append(row(kind, values, errors, name))
    return rows


def word_table(
    curves: list[Curve], epsilons: dict[str, float], pinned: Sequence[str]
) -> pd.DataFrame:
    """Return every word under every mechanism at its ε (by registry key), pinned words first."""
    rows = []
    for curve in curves:
        epsilon = epsilons[curve.measured.mechanism]
        for part in (curve.more, curve.measured):
            if part is not None:
                rows += part.rows(epsilon)
    table = pd.DataFrame(rows)
    if table.empty:
        return table
    # A stable order: pinned words come first, the others stay as they were measured.
    table.insert(3, "pinned", table["word"].isin(list(pinned)))
    return table.sort_values("pinned", ascending=False, kind="stable", ignore_index=True)


def equal_table(curves: Sequence[Curve]) -> pd.DataFrame:
    """Return mean Nw, mean Sw and median effective number of all curves, for their comparison."""
    parts = []
    for curve in curves:
        measured = curve.measured
        columns = {
            "mechanism": measured.mechanism,
            "epsilon": measured.epsilons,
            "nw": summarise(measured, "nw").mean,
            "sw": summarise(measured, "sw").mean,
            "effective": summarise(measured, "effective").median,
        }
        parts.append(pd.DataFrame(columns))
    return pd.concat(parts, ignore_index=True)[list(equal_nw.COLUMNS)]


def read_table(
    curves: Sequence[Curve], reference: Curve, epsilon: float
) -> tuple[pd.DataFrame, float]:
    """Return the ε at which each curve has the mean Nw of a reference at its ε, and that Nw.

    Args:
        curves: all curves that are compared, including the reference.
        reference: the curve whose ε is given.
        epsilon: its ε, one that is measured.
    """
    place = int((reference.measured.epsilons == epsilon).nonzero()[0][0])
    nw = float(summarise(reference.measured, "nw").mean[place])
    rows: list[tuple[Any, ...]] = []
    for curve in curves:
        key = curve.measured.mechanism
        met = crossings(curve.measured, nw)
        rows += [(key, c.epsilon, c.low, c.high, c.sw, c.effective) for c in met]
        if not met:
            # An empty row says that the mechanism never has this Nw; a missing one would say
            # nothing.
            rows.append((key, None, None, None, None, None))
    columns = list(equal_nw.READ_COLUMNS)
    # A column of `None` alone would be of objects, and its format would not apply.
    return pd.DataFrame(rows, columns=columns).astype(dict.fromkeys(columns[1:], "float64")), nw


# Drawer of the page Curves: link, curves, words at ε, commands, Python, BibTeX.


_FILE = "FILE.txt"


def take(scene: CurvesScene) -> None:
    """Draw the drawer."""
    take_it_with_you(lambda: _takeaway(scene))


def _takeaway(scene: CurvesScene) -> Takeaway:
    curves, epsilons = list(scene.curves), scene.epsilons()
    at = [
        (curve.mechanism, epsilons[curve.mechanism.key])
        for curve in curves
        if epsilons[curve.mechanism.key] in curve.mechanism.admissible
    ]
    prints = say("One command per mechanism: it prints the numbers of the table at the chosen ε.")
    if scene.words.source == TEXT:
        prints = f"{prints} {say('Save the text as {file} first.', file=_FILE)}"
    return Takeaway(
        python_cell(scene, at),
        tuple(dict.fromkeys(key for curve in curves for key in curve.mechanism.cited)),
        "\n".join(_command(scene, mechanism, epsilon) for mechanism, epsilon in at),
        prints,
        typed=scene.words.source != SAMPLE or pair_is_typed(),
        tables={
            later("Curves"): lambda: _curves(scene),
            later("Words"): lambda: word_table(curves, epsilons, scene.pinned),
        },
        address=_with_words(scene),
    )


def _with_words(scene: CurvesScene) -> str | None:
    """Return the link with the typed words if the user asks for it, else None."""
    # Typed words enter a link only at the user's request.
    if scene.words.source != LIST or not st.toggle(
        say("Put my words into the link"),
        key="link_words",
        help=say(
            "Anyone with the link, and every server and history that it passes, can read them."
        ),
    ):
        return None
    st.warning(say("This link contains your words."), icon=":material/visibility:")
    return link.permalink(scene.words.text, WORDS)


def _curves(scene: CurvesScene) -> pd.DataFrame:
    """Return Nw and Sw of all mechanisms over ε in one long table."""
    parts = {quantity: curve_table(list(scene.curves), quantity) for quantity in ("nw", "sw")}
    return pd.concat(parts, names=["quantity", None]).reset_index("quantity")


def python_cell(scene: CurvesScene, at: list[tuple[Mechanism, float]]) -> str:
    """Return a Python cell that prints mean Nw and mean Sw of each mechanism at its ε.

    Args:
        scene: state with the measured words.
        at: mechanisms, each with an ε at which it is defined.
    """
    words, how = scene.words, scene.how
    # A sample can be drawn again by anyone; words of a text are not copied into the cell.
    if words.source == SAMPLE:
        by = "" if words.by == Stratum.FREQUENCY else f", {str(words.by)!r}"
        imported = ["from dpcore.measure.words import sample"]
        rng = f'generator({how.seed}, "sample of words")'
        chosen = [f"words = sample(lexicon, {words.count}, {rng}{by})"]
    elif words.source == TEXT:
        imported = [
            "from pathlib import Path",
            "from dpcore.measure.words import corpus, subsample",
        ]
        rng = f'generator({how.seed}, "words of a text")'
        chosen = [
            f'text = Path("{_FILE}").read_text(encoding="utf-8")',
            f"words = subsample(corpus(lexicon, text), {words.count}, {rng})",
        ]
    else:
        imported = []
        chosen = [f"words = {list(scene.selection.names)!r}"]
    if words.source != LIST:
        imported.append("from dpcore.noise.streams import generator")
    lexicon = "dp.lexicon()" if how.lexicon == "default" else f"dp.lexicon({how.lexicon!r})"
    rows = [f"    ({m.short!r}, {_changed(m)!r}, {epsilon!r})," for m, epsilon in at]
    return "\n".join(
        (
            "import dpcore as dp",
            "from dpcore.measure.deniability import summarise",
            *imported,
            "",
            f"lexicon = {lexicon}",
            *chosen,
            "for name, settings, epsilon in [",
            *rows,
            "]:",
            "    mechanism = dp.mechanism(name, lexicon, **settings)",
            "    measured = dp.deniability(",
            f"        mechanism, words, epsilon, runs={how.runs}, seed={how.seed}",
            "    )",
            '    nw, sw = (summarise(measured, name).mean[0] for name in ("nw", "sw"))',
            "    print(mechanism.short, epsilon, nw, sw)",
        )
    )


def _changed(mechanism: Mechanism) -> dict[str, object]:
    """Return the settings that differ from their defaults."""
    declared = mechanism.parameters()
    return {
        name: value
        for name, value in mechanism.settings().items()
        if value != declared[name]["default"]
    }


def _command(scene: CurvesScene, mechanism: Mechanism, epsilon: float) -> str:
    """Return the command line that measures the same words under one mechanism."""
    words, how = scene.words, scene.how
    if words.source == SAMPLE:
        chosen = ["--sample", str(words.count)]
        if words.by != Stratum.FREQUENCY:
            chosen += ["--stratify", words.by]
    elif words.source == TEXT:
        chosen = ["--corpus", _FILE, "--at-most", str(words.count)]
    else:
        chosen = ["--words", ",".join(scene.selection.names)]
    measured = ["--runs", str(how.runs), "--seed", str(how.seed), "--lexicon", how.lexicon]
    return command_line("deniability", *chosen, *mechanism_words(mechanism, epsilon), *measured)
