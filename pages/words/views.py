"""The views below the panes: facts, map, true distances, lists of words, what to take along."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import streamlit as st

from dpcore.plots.maps.distances import distance_caption, noise_mark
from pages.shared.epsilon_dial import epsilon_of
from pages.shared.figure import still_figure
from pages.shared.groups import group_of
from pages.shared.language import later, say
from pages.shared.messages import note
from pages.shared.once import once
from pages.shared.pair import pair_is_typed
from pages.shared.reproducing import command_line, mechanism_words, python_beginning
from pages.shared.taking import Takeaway
from pages.words.bench import NEIGHBOURS, RUNS, SEED
from pages.words.density import density_of, density_or_button
from pages.words.maps import choose_slot, choose_view, misreading, show_map
from pages.words.moving import readings
from pages.words.panes import pane_table
from pages.words.tables import extremes_table, noise_table, noisy
from pages.words.words import facts, neighbour_lists, selectable

if TYPE_CHECKING:
    from dpcore.mechanisms.mechanism import Mechanism
    from pages.words.scene import Scene

_LISTED = 40


def facts_view(scene: Scene) -> None:
    """How crowded it is around the two words, and the nearest words of both."""
    facts(scene.bench, density_of(scene.bench.pair.lexicon))
    neighbour_lists(scene.bench)


def map_view(scene: Scene) -> None:
    """Where the outputs fall on a map of the vocabulary or of the surroundings."""
    view = choose_view()
    mechanism = scene.mechanism
    epsilons, texts = readings([mechanism])
    epsilon = epsilons[mechanism.key]
    if epsilon not in mechanism.admissible:
        note(
            say(
                "{short} is not defined at this ε: only the words are drawn.", short=mechanism.short
            )
        )
    show_map(scene.bench, view, mechanism, epsilon, texts[mechanism.key])


def distances_view(scene: Scene) -> None:
    """The true distances on one axis, and the length of the noise of each mechanism."""
    mechanisms = scene.together
    strip = scene.bench.strip(noisy(mechanisms))
    noise = noise_table(mechanisms, readings(mechanisms)[0])
    place = still_figure(strip.figure, strip.alt, scene.bench.distances(), "distances")
    place.show(distance_caption(strip, noise if strip.titles else None), noise_mark(strip, noise))
    note(
        say(
            "Noise is added in all dimensions at once, so that it may be longer than every "
            "distance and still leave the word where it is: only what it moves *towards another "
            "word* counts. An arrow at an end of the axis stands for noise beyond it."
        )
    )


def extremes_view(scene: Scene) -> None:
    """The densest and the sparsest words; a click chooses one."""
    words = scene.bench.pair.lexicon
    density = density_or_button(words)
    if density is None:
        return
    note(
        say(
            "Among the ordinary words: alphabetic, of the {count:,} most frequent. Hubness: of "
            "how many words it is among the nearest {k}. Stratum: in which third of the "
            "vocabulary it is by the distance to its nearest word.",
            count=min(len(words), 10_000),
            k=density.k,
        )
    )
    slot = choose_slot()
    titles = (say("Densest: another word is near"), say("Sparsest: no word is near"))
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
                slot,
                key=f"extreme_{end}_{words.fingerprint[:12]}",
                alt=say(
                    "{title}: word, distance to its nearest word, hubness, stratum", title=title
                ),
                label="",
            )


def misreading_view(scene: Scene) -> None:
    """What each map keeps of the truth."""
    misreading(scene.bench, choose_view(clicks=False))


def takeaway(scene: Scene) -> Takeaway:
    """The commands that print the numbers of the page, and a Python cell."""
    names = scene.bench.pair.names
    lines = _word_commands(names, scene.lexicon, max(scene.bench.pair.gaps))
    epsilons, _ = readings(scene.together)
    for mechanism in scene.together:
        epsilon = epsilons[mechanism.key]
        if epsilon in mechanism.admissible:
            lines += _mechanism_commands(mechanism, epsilon, names, scene.lexicon)
    return Takeaway(
        python_cell(scene),
        tuple(key for mechanism in scene.together for key in mechanism.cited),
        "\n".join(lines),
        say(
            "They print the facts, the neighbours, and the table at the chosen ε: `deniability` "
            "Nw, Sw and effective number, `attack` the distance of the output and the attacker."
        ),
        typed=pair_is_typed(),
        tables={later("Words"): partial(pane_table, scene.bench, scene.mechanism)},
    )


def python_cell(scene: Scene) -> str:
    """A cell that prints how often each word stays, and its likeliest outputs."""
    epsilon = epsilon_of(group_of(scene.mechanism.meaning))
    return "\n".join(
        (
            *python_beginning(scene.mechanism, scene.lexicon),
            f"for word in {list(scene.bench.pair.names)!r}:",
            f"    law = mechanism.law(word, {epsilon!r})",
            "    print(word, law.probability(word), law.top(5))",
        )
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
