"""What is taken along from the Rewrite page: the rows as a table, a command and a Python cell."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dpcore.rewrite.policy import DEFAULT_TREATMENT
from pages.rewrite.redactors import spans_table
from pages.rewrite.tables import grid_table
from pages.shared.language import later, say
from pages.shared.reproducing import command_line, mechanism_words
from pages.shared.taking import Takeaway

if TYPE_CHECKING:
    from collections.abc import Callable

    import pandas as pd

    from dpcore.mechanisms.mechanism import Mechanism
    from pages.rewrite.scene import Scene


def takeaway(scene: Scene) -> Takeaway:
    """Link, rows, command and cell of what is shown."""

    def table() -> pd.DataFrame:
        return grid_table(
            scene.bench, list(scene.mechanisms), scene.epsilons, scene.seed, scene.number
        )

    tables: dict[str, Callable[[], pd.DataFrame]] = {later("All rows"): table}
    if scene.redactions:
        tables[later("What redactors black out")] = lambda: spans_table(scene.redactions)
    return Takeaway(
        python_cell(scene),
        tuple(dict.fromkeys(key for kind in scene.mechanisms for key in kind.cited)),
        command="\n".join((command(scene), *redact_commands(scene))),
        prints=say(
            "It prints the row of the chosen mechanism; choose a word of another row for it."
        ),
        text=scene.text,
        tables=tables,
    )


def command(scene: Scene) -> str:
    """The command line that prints the same rewritten sentence as the row of the chosen word."""
    choices = scene.choices
    words = mechanism_words(scene.chosen, scene.epsilon)
    words += ["--seed", str(scene.seed), "--draw", str(scene.number), "--lexicon", choices.lexicon]
    treatment = choices.treatment
    words += ["--unknown", str(treatment.unknown_words), "--case", str(treatment.case)]
    if treatment.keep_stop_words:
        words.append("--keep-stop-words")
    return command_line("rewrite", *words, "--text", scene.text)


def redact_commands(scene: Scene) -> list[str]:
    """The command lines that print the rows of the redactors."""
    return [
        command_line("redact", "--redactor", each.redactor, "--text", scene.text)
        for each in scene.redactions
    ]


def python_cell(scene: Scene) -> str:
    """A cell that prints every row that is defined at its ε, and every redactor's, as it stands."""
    choices, treatment = scene.choices, scene.choices.treatment
    name = "" if choices.lexicon == "default" else repr(choices.lexicon)
    imports, read = ["import numpy as np", "", "import dpcore as dp"], f"{scene.text!r}, lexicon"
    if treatment != DEFAULT_TREATMENT:
        imports.append("from dpcore.rewrite.policy import Treatment")
        read += (
            f", Treatment({str(treatment.unknown_words)!r}, {treatment.keep_stop_words}, "
            f"{str(treatment.case)!r})"
        )
    rows = [
        f"    ({mechanism.short!r}, {_changed_settings(mechanism)!r}, {epsilon!r}),"
        for mechanism in scene.mechanisms
        if (epsilon := scene.epsilons[mechanism.key]) in mechanism.admissible
    ]
    names = [each.redactor for each in scene.redactions]
    redactors = [
        f"for name in {names!r}:  # redactors: no epsilon, no promise",
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
    """Those settings that are not the usual ones."""
    declared = mechanism.parameters()
    settings = mechanism.settings().items()
    return {name: value for name, value in settings if value != declared[name]["default"]}
