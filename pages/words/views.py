"""Views below the panes: facts, map, true distances, lists of words, comparison, export."""

from __future__ import annotations

from functools import partial

import streamlit as st

from dpcore.mechanisms.mechanism import Mechanism
from dpcore.plots.maps.distances import distance_caption, noise_mark
from dpcore.plots.pair import pair_alt, pair_caption, pair_mark
from pages.shared.dial import group_of
from pages.shared.epsilon_dial import epsilon_of
from pages.shared.figure import csv_button, still_figure
from pages.shared.language import later, say
from pages.shared.messages import note
from pages.shared.once import once
from pages.shared.table import show_table
from pages.shared.taking import Takeaway, command_line, mechanism_words, python_beginning
from pages.shared.words import pair_is_typed
from pages.words.bench import NEIGHBOURS, RUNS, SEED
from pages.words.density import density_of, density_or_button
from pages.words.maps import choose_projection, choose_slot, misreading, show_map
from pages.words.measuring import found_so_far
from pages.words.panes import pane_table
from pages.words.scene import WordsScene, readings
from pages.words.tables import extremes_table, noise_table, noisy, pair_table
from pages.words.words import facts, neighbour_lists, selectable

_LISTED = 40


def facts_view(scene: WordsScene) -> None:
    """Draw the crowding around the two words, and the nearest words of both."""
    facts(scene.bench, density_of(scene.bench.pair.lexicon))
    neighbour_lists(scene.bench)


def map_view(scene: WordsScene) -> None:
    """Draw the outputs on a map of the whole vocabulary."""
    projection = choose_projection()
    mechanism = scene.mechanism
    epsilons, texts = readings([mechanism])
    epsilon = epsilons[mechanism.key]
    if epsilon not in mechanism.admissible:
        note(
            say(
                "{short} is not defined at this ε: only the words are drawn.", short=mechanism.short
            )
        )
    show_map(scene.bench, projection, mechanism, epsilon, texts[mechanism.key])


def distances_view(scene: WordsScene) -> None:
    """Draw the true distances on one axis, and the length of the noise of each mechanism."""
    mechanisms = scene.together
    strip = scene.bench.strip(noisy(mechanisms))
    noise = noise_table(mechanisms, readings(mechanisms)[0])
    # The axis stands still; only the marks of the noise move with ε.
    place = still_figure(strip.figure, strip.alt, scene.bench.distances(), "distances")
    place.show(distance_caption(strip, noise if strip.titles else None), noise_mark(strip, noise))
    note(
        say(
            "Noise is added in all dimensions at once, so that it may be longer than every "
            "distance and still leave the word where it is: only what it moves *towards another "
            "word* counts. An arrow at an end of the axis stands for noise beyond it."
        )
    )


def extremes_view(scene: WordsScene) -> None:
    """Draw the densest and the sparsest words; a click chooses one."""
    words = scene.bench.pair.lexicon
    density = density_or_button(words)
    if density is None:
        return
    note(
        say(
            "Ordinary words only: alphabetic, among the {count:,} most frequent. Hubness: the "
            "number of words that have it among their nearest {k}. Stratum: its third of the "
            "vocabulary by the distance to the nearest word.",
            count=min(len(words), 10_000),
            k=density.k,
        )
    )
    # The same choice as on the map, under the same key: it is one question.
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


def misreading_view(scene: WordsScene) -> None:
    """Draw how much each map preserves."""
    misreading(scene.bench)


def takeaway(scene: WordsScene) -> Takeaway:
    """Return the commands that print the numbers of the page, and a Python cell."""
    names = scene.bench.pair.names
    # The default radius of the facts, which the command has to repeat.
    lines = _word_commands(names, scene.lexicon, max(scene.bench.pair.gaps))
    epsilons, _ = readings(scene.together)
    for mechanism in scene.together:
        epsilon = epsilons[mechanism.key]
        if epsilon in mechanism.admissible:
            lines.append(_mechanism_command(mechanism, epsilon, names, scene.lexicon))
    return Takeaway(
        python_cell(scene),
        tuple(key for mechanism in scene.together for key in mechanism.cited),
        "\n".join(lines),
        say("They print the facts, the neighbours, and, by `attack`, the table at the chosen ε."),
        typed=pair_is_typed(),
        tables={later("Words"): partial(pane_table, scene.bench, scene.mechanism)},
        drawing="words",
    )


def python_cell(scene: WordsScene) -> str:
    """Return a Python cell that prints how often each word stays, and its likeliest outputs."""
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
    """Return commands for the neighbours of each word, and the density around both."""
    where, near = ("--lexicon", lexicon), ("--k", str(NEIGHBOURS), "--radius", repr(radius))
    lines = [command_line("neighbours", "--word", name, *near, *where) for name in names]
    both = [word for name in names for word in ("--word", name)]
    return [*lines, command_line("density", *both, "--hubness", *where)]


def _mechanism_command(
    mechanism: Mechanism, epsilon: float, names: tuple[str, str], lexicon: str
) -> str:
    """Return the command for Nw, Sw, effective number, distance of the output and attacker."""
    # With the equals sign, since a word of a lexicon may begin with a dash.
    words = [f"--words={','.join(names)}", *mechanism_words(mechanism, epsilon)]
    words += ["--runs", str(RUNS), "--seed", str(SEED), "--lexicon", lexicon]
    return command_line("attack", *words)


# Two words under every compared mechanism: a table at the chosen ε, and curves over all ε.


_MARK = later("The mechanism's mark and colour, as in the figures.")
# Name: label, width in pixels, explanation.
_COLUMNS = {
    "word": ("word", 78, None),
    "mechanism": ("mechanism", 140, None),
    "epsilon": ("ε", 60, later("The ε of the slider of its group.")),
    "nw": (
        "Nw",
        146,
        later(
            "Probability that the word stays; with its 95 % interval where it is estimated, from "
            "the noise directions of the panes."
        ),
    ),
    "attack_nearest": (
        later("attacker: nearest"),
        174,
        later(
            "How often an attacker can tell the word from its nearest neighbour; in brackets the "
            "most that the mechanism's guarantee allows, “refuted” where it does not hold."
        ),
    ),
    "attack": (
        later("attacker: the two"),
        174,
        later("How often an attacker can tell the first word from the second, likewise."),
    ),
    "distance": (
        later("distance"),
        84,
        later("Expected distance of the output from the word, in the unit of the vectors."),
    ),
    "relative": (
        "÷ δ",
        62,
        later("The same distance, divided by δ: the distance to the nearest word."),
    ),
    "sw": ("Sw", 72, later("Different outputs in 200 runs, on average.")),
    "effective": (
        later("effective"),
        76,
        later("Number of equally likely outputs with which two runs would agree as often."),
    ),
}


def comparison_view(scene: WordsScene) -> None:
    """Draw Nw, Sw, distance of the output and success of an attacker at the chosen ε."""
    measured = found_so_far(scene.bench, scene.compared)
    if not measured:
        return
    here = pair_table(measured, readings(scene.compared)[0])
    if len(here):
        show_table(
            here,
            say(
                "Nw, Sw, distance of the output and success of an attacker for both words under "
                "each mechanism at the chosen ε"
            ),
            column_config={
                # In sight while one scrolls to the right, as on a phone.
                "mark": st.column_config.ImageColumn(
                    say("sign"), width=44, help=say(_MARK), pinned=True
                ),
                **{
                    name: st.column_config.TextColumn(
                        say(label),
                        width=width,
                        help=None if explained is None else say(explained),
                        pinned=name == "word",
                    )
                    for name, (label, width, explained) in _COLUMNS.items()
                },
            },
        )
    everything = scene.bench.together(measured)
    csv_button(say("All ε as CSV"), "two_words", lambda: everything, key="csv_pair")
    note(
        say(
            "**Attacker**: sees one output, knows that it came from one of two words, each as "
            "likely as the other before, and picks the more probable one; 0.5 is guessing. A range "
            "is what the estimate leaves: its lower end is an attacker who learnt from one half "
            "of the noise directions, tried on the other half; its upper end is right or too "
            "high on average. Intervals have level 95 %; ± is two standard errors."
        )
    )


def curves_view(scene: WordsScene) -> None:
    """Draw the same over all ε."""
    measured = found_so_far(scene.bench, scene.compared)
    if not measured:
        return
    epsilons, _ = readings(scene.compared)
    everything = scene.bench.together(measured)
    figure = scene.bench.pair_figure(measured)
    place = still_figure(figure, pair_alt(everything), everything, "staying")
    place.show(pair_caption(everything, epsilons), pair_mark(everything, epsilons))
