"""The views below the table: lists of words, how to misread the map, link and commands."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import streamlit as st

from pages.neighbourhoods.bench import NEIGHBOURS, RUNS, SEED
from pages.neighbourhoods.density import density_or_button
from pages.neighbourhoods.maps import misreading
from pages.neighbourhoods.moving import AT_EPSILON, OPEN_VIEW, readings
from pages.neighbourhoods.session import follow
from pages.neighbourhoods.tables import extremes_table
from pages.neighbourhoods.words import selectable
from pages.shared import link
from pages.shared.messages import note
from pages.shared.once import once
from pages.shared.pair import pair_is_typed
from pages.shared.reproducing import command_line, mechanism_words, show_line
from pages.shared.tabs import tabs

if TYPE_CHECKING:
    from dpcore.mechanisms.mechanism import Mechanism
    from pages.neighbourhoods.board import Scene

_LISTED = 40


def views(scene: Scene) -> None:
    """Draw the tabs; only the open one is computed."""
    follow(scene.bench)
    kinds = {
        "Dense and sparse words": _extremes_view,
        "How to misread the map": _misreading_view,
        AT_EPSILON: _files_view,
    }
    tabs(kinds, OPEN_VIEW, scene)


def _extremes_view(scene: Scene) -> None:
    words = scene.bench.pair.lexicon
    density = density_or_button(words)
    if density is None:
        return
    note(
        f"Among the ordinary words: alphabetic, of the {min(len(words), 10_000):,} most frequent. "
        "A click chooses the word that is set above the map under *A click chooses the*. Hubness: "
        f"of how many words it is among the nearest {density.k}. Stratum: in which third of the "
        "vocabulary it is by the distance to its nearest word."
    )
    titles = ("Densest: another word is near", "Sparsest: no word is near")
    for end, (column, title) in enumerate(zip(st.columns(2), titles, strict=True)):
        table = once(
            "extremes",
            (words.fingerprint, end),
            partial(extremes_table, words, density, _LISTED, end),
            8,
        )
        with column:
            st.markdown(f"**{title}**")
            selectable(
                table,
                scene.view.slot,
                key=f"extreme_{end}_{words.fingerprint[:12]}",
                alt=f"{title}: word, distance to its nearest word, hubness, stratum",
                label="",
            )


def _misreading_view(scene: Scene) -> None:
    misreading(scene.bench, scene.view)


def _files_view(scene: Scene) -> None:
    names = scene.bench.pair.names
    st.subheader("Link", anchor=False)
    if pair_is_typed():
        note(
            "A word of your own text is not put into the link: whoever opens it sees the word that "
            "a fresh visit begins with. Search for the word above to have it in the link."
        )
    show_line(link.permalink())
    st.subheader("Commands", anchor=False)
    lines = _word_commands(names, scene.lexicon, max(scene.bench.pair.gaps))
    epsilons, _ = readings(list(scene.mechanisms))
    for mechanism in scene.mechanisms:
        epsilon = epsilons[mechanism.key]
        if epsilon in mechanism.admissible:
            lines += _mechanism_commands(mechanism, epsilon, names, scene.lexicon)
    show_line("\n".join(lines))
    note(
        "They print the facts, the neighbours, and the table at the chosen ε: `deniability` Nw, Sw "
        "and effective number, `attack` the distance of the output and the attacker."
    )


def _word_commands(names: tuple[str, str], lexicon: str, radius: float) -> list[str]:
    """Neighbours of each word, and how dense it is around both."""
    where, near = ("--lexicon", lexicon), ("--k", str(NEIGHBOURS), "--radius", repr(radius))
    lines = [command_line("neighbours", "--word", name, *near, *where) for name in names]
    both = [word for name in names for word in ("--word", name)]
    return [*lines, command_line("density", *both, "--hubness", *where)]


def _mechanism_commands(
    mechanism: Mechanism, epsilon: float, names: tuple[str, str], lexicon: str
) -> list[str]:
    """Nw, Sw and effective number of both words; distance of the output and attacker."""
    # With the sign, since a word of a lexicon may begin with a dash.
    words = [f"--words={','.join(names)}", *mechanism_words(mechanism, epsilon)]
    words += ["--runs", str(RUNS), "--seed", str(SEED), "--lexicon", lexicon]
    return [command_line(name, *words) for name in ("deniability", "attack")]
