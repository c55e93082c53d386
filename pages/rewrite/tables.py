"""Tables behind the figures and the CSV files, read from the bench, and the page's export."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np
import pandas as pd

from dpcore.mechanisms.mechanism import Mechanism
from dpcore.plots import law as law_plot
from dpcore.plots import strip as strip_plot
from dpcore.plots.attack import odds as odds_plot
from dpcore.rewrite.policy import DEFAULT_TREATMENT
from pages.rewrite.redactors import spans_table
from pages.rewrite.rows import likeliest
from pages.rewrite.scene import RewriteScene, row_draw
from pages.shared.language import later, say
from pages.shared.session import Bench
from pages.shared.taking import Takeaway, command_line, mechanism_words

OUTPUTS_SHOWN = 10


def grid_table(
    bench: Bench, mechanisms: list[Mechanism], epsilons: dict[str, float], seed: int, number: int
) -> pd.DataFrame:
    """Return every token of every shown row.

    Args:
        bench: the sentence.
        mechanisms: the rows.
        epsilons: ε by registry key.
        seed: seed of the draw.
        number: number of the draw.
    """
    rows = []
    for mechanism in mechanisms:
        epsilon = epsilons[mechanism.key]
        if epsilon not in mechanism.admissible:
            continue
        settings = " ".join(f"{name}={value}" for name, value in mechanism.settings().items())
        drawn = row_draw(bench, mechanism, seed, number, epsilon).at(epsilon)
        for position, token in enumerate(drawn.tokens):
            rows.append(
                {
                    "mechanism": mechanism.key,
                    "settings": settings,
                    "epsilon": epsilon,
                    "seed": seed,
                    "draw": number,
                    "position": position,
                    "input": token.input,
                    "output": token.output,
                    "role": str(token.role),
                    "changed": token.changed,
                }
            )
    return pd.DataFrame(rows)


def strip_table(
    bench: Bench, mechanisms: list[Mechanism], place: int, seed: int, number: int
) -> pd.DataFrame:
    """Return the pieces of one place under each mechanism (columns of `dpcore.plots.strip`)."""
    words, word = bench.lexicon.words, bench.word(place)
    rows = []
    for mechanism in mechanisms:
        drawn = bench.draw(mechanism, seed, number)
        pieces = drawn.pieces(place)
        far = _distances(bench, word, [piece.output for piece in pieces])
        rows += [
            (
                mechanism.key,
                mechanism.title,
                mechanism.meaning,
                bench.label(place),
                piece.from_epsilon,
                piece.to_epsilon,
                words[piece.output],
                distance,
                drawn.paths.exact,
            )
            for piece, distance in zip(pieces, far, strict=True)
        ]
    return pd.DataFrame(rows, columns=list(strip_plot.COLUMNS))


def law_table(bench: Bench, mechanism: Mechanism, place: int, epsilon: float) -> pd.DataFrame:
    """Return the most likely outputs of one place (columns of `dpcore.plots.law`)."""
    word = bench.word(place)
    law, top = likeliest(bench, mechanism, word, epsilon, OUTPUTS_SHOWN)
    name = bench.lexicon.words[word]
    rows = [
        (mechanism.key, name, epsilon, output, p, law.entry_error(p), distance, law.exact)
        for output, p, distance in top
    ]
    return pd.DataFrame(rows, columns=list(law_plot.COLUMNS))


def odds_table(
    bench: Bench,
    mechanisms: list[Mechanism],
    place: int,
    other: int,
    epsilons: dict[str, float],
    seed: int,
    number: int,
) -> pd.DataFrame:
    """Return the odds of the word against another, given each shown output.

    The columns are those of `dpcore.plots.attack.odds`.
    """
    words, word = bench.lexicon.words, bench.word(place)
    distance = bench.distance(word, [other])[0]
    rows = []
    for mechanism in mechanisms:
        epsilon = epsilons[mechanism.key]
        promise = bench.promise(mechanism, epsilon)
        if promise is None:
            continue
        paths = row_draw(bench, mechanism, seed, number, epsilon).paths
        output = int(paths.at(np.array([epsilon]))[place, 0])
        # Logarithms where the law is exact: a probability may underflow while the ratio is finite.
        if mechanism.exact_law:
            logs = [bench.log_probability(mechanism, w, output, epsilon) for w in (word, other)]
            ratio, most = 3 * (logs[0] - logs[1],), 2 * (math.nan,)
        else:
            pair = [bench.probability(mechanism, w, output, epsilon) for w in (word, other)]
            ratio, most = odds_plot.log_ratio(*pair), (pair[0][2], pair[1][2])
        rows.append(
            (
                mechanism.key,
                mechanism.title,
                words[word],
                words[other],
                words[output],
                *ratio,
                promise.euclidean_loss(distance),
                mechanism.exact_law,
                str(promise.status),
                *most,
            )
        )
    return pd.DataFrame(rows, columns=list(odds_plot.COLUMNS))


def _distances(bench: Bench, word: int, outputs: list[int]) -> list[float]:
    return [math.nan] * len(outputs) if word < 0 else bench.distance(word, outputs)


def tally_table(
    bench: Bench, mechanism: Mechanism, epsilon: float, seed: int, draws: int, places: Sequence[int]
) -> pd.DataFrame:
    """Count the outputs of some places over many draws, most frequent first."""
    words = bench.lexicon.words
    rows = []
    for place in places:
        paths = bench.redraw(mechanism, seed, draws, place, epsilon)
        outputs, counts = np.unique(paths.at(np.array([epsilon]))[:, 0], return_counts=True)
        # Stable: outputs that are equally frequent keep the order of the vocabulary in every run.
        order = np.argsort(-counts, kind="stable")
        rows += [(place, bench.label(place), words[int(outputs[j])], int(counts[j])) for j in order]
    return pd.DataFrame(rows, columns=["place", "word", "output", "count"])


def sentences_table(
    bench: Bench, mechanism: Mechanism, epsilon: float, seed: int, draws: int
) -> pd.DataFrame:
    """Return the rewritten text of each of many draws."""
    places = range(bench.sentence.protected)
    many = [bench.redraw(mechanism, seed, draws, place, epsilon) for place in places]
    columns = [paths.at(np.array([epsilon]))[:, 0] for paths in many]
    texts = [bench.sentence.write([int(c[i]) for c in columns]) for i in range(draws)]
    return pd.DataFrame(
        {
            "draw": range(1, draws + 1),
            "text": [rewrite.text for rewrite in texts],
            "changed": [rewrite.changed for rewrite in texts],
        }
    )


# Export of the Rewrite page: the rows as a table, a command and a Python cell.


def takeaway(scene: RewriteScene) -> Takeaway:
    """Return link, rows, command and cell of the current view."""

    def table() -> pd.DataFrame:
        return grid_table(
            scene.bench, list(scene.mechanisms), scene.epsilons, scene.seed, scene.number
        )

    tables: dict[str, Callable[[], pd.DataFrame]] = {later("All rows"): table}
    if scene.redactions:
        tables[later("What redactors black out")] = lambda: spans_table(scene.redactions)
    return Takeaway(
        python_cell(scene),
        # Mechanisms of one paper share its BibTeX entry.
        tuple(dict.fromkeys(key for kind in scene.mechanisms for key in kind.cited)),
        command="\n".join((*commands(scene), *redact_commands(scene))),
        prints=say("Each line prints one row, with the ε of that row."),
        text=scene.text,
        tables=tables,
        drawing="rewrites",
    )


def commands(scene: RewriteScene) -> list[str]:
    """Return a command for each row that is defined at its ε, which prints the same sentence."""
    treatment = scene.choices.treatment
    words = ["--seed", str(scene.seed), "--draw", str(scene.number)]
    words += ["--lexicon", scene.choices.lexicon]
    words += ["--unknown", str(treatment.unknown_words), "--case", str(treatment.case)]
    if treatment.keep_stop_words:
        words.append("--keep-stop-words")
    return [
        command_line("rewrite", *mechanism_words(mechanism, epsilon), *words, "--text", scene.text)
        for mechanism, epsilon in scene.defined_rows
    ]


def redact_commands(scene: RewriteScene) -> list[str]:
    """Return the commands that print the rows of the redactors."""
    return [
        command_line("redact", "--redactor", each.redactor, "--text", scene.text)
        for each in scene.redactions
    ]


def python_cell(scene: RewriteScene) -> str:
    """Return a self-contained Python cell that prints all defined rows and all redactors' rows."""
    choices, treatment = scene.choices, scene.choices.treatment
    name = "" if choices.lexicon == "default" else repr(choices.lexicon)
    imports, read = ["import numpy as np", "", "import dpcore as dp"], f"{scene.text!r}, lexicon"
    # Defaults are left out, so that the usual cell is short enough to read.
    if treatment != DEFAULT_TREATMENT:
        imports.append("from dpcore.rewrite.policy import Treatment")
        read += (
            f", Treatment({str(treatment.unknown_words)!r}, {treatment.keep_stop_words}, "
            f"{str(treatment.case)!r})"
        )
    rows = [
        f"    ({mechanism.short!r}, {_changed_settings(mechanism)!r}, {epsilon!r}),"
        for mechanism, epsilon in scene.defined_rows
    ]
    names = [each.redactor for each in scene.redactions]
    redactors = [
        f"for name in {names!r}:  # redactors: no epsilon, no guarantee",
        f"    print(name, dp.redact({scene.text!r}, name).named, sep=': ')",
    ]
    return "\n".join(
        (
            *imports,
            "",
            f"lexicon = dp.lexicon({name})",
            f"text = dp.read({read})",
            "rows = [  # mechanism, its settings, epsilon",
            *rows,
            "]",
            "for name, settings, epsilon in rows:",
            "    mechanism = dp.mechanism(name, lexicon, **settings)",
            f"    drawn = dp.draw(text, mechanism, seed={scene.seed}, number={scene.number}, "
            "epsilons=np.array([epsilon]))",
            "    print(name, drawn.at(epsilon).text, sep=': ')",
            *(redactors if names else ()),
        )
    )


def _changed_settings(mechanism: Mechanism) -> dict[str, object]:
    """Return the settings that differ from their defaults."""
    declared = mechanism.parameters()
    settings = mechanism.settings().items()
    return {name: value for name, value in settings if value != declared[name]["default"]}
