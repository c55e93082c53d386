"""The command `tradeoff`: what mechanisms give away, and what they leave."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict

from click import option

from dpcore.attack.tradeoff import LEAKAGES, NEAR, UTILITIES, Tradeoff, tradeoff
from dpcore.cli import shared
from dpcore.cli.printer import Answer, table
from dpcore.cli.shell import Options, command

_OUTPUTS = 1_000
_NAMES = (*LEAKAGES, *UTILITIES)
_TABLE = "{epsilon:>10.4g|ε} " + " ".join(f"{{{name}:>9.4f|{name}}}" for name in _NAMES)


@command("tradeoff")
@shared.compared_options
@shared.settings_option
@shared.lexicon_option
@shared.number("--outputs", _OUTPUTS, "outputs that are looked at, of each mechanism")
@option("--all-outputs", is_flag=True, help="look at every output: exact where laws are")
@shared.number("--near", NEAR, "a word is near if it is among the N nearest, itself included")
@shared.number("--pairs", 60, "pairs of words that are told apart")
@shared.seed_option("of the drawing of words and outputs")
def tradeoff_command(options: Options) -> Answer:
    """How much mechanisms give away in six senses, and how much they leave in two."""
    mechanisms = shared.build_each(options, options.mechanism)
    grids = shared.epsilons_of_each(options.epsilon, mechanisms)
    answer = tradeoff(
        list(zip(mechanisms, grids, strict=True)),
        outputs=None if options.all_outputs else options.outputs,
        **shared.fields(options, "near pairs seed progress"),
    )
    return Answer(
        shared.lexicon_fields(mechanisms[0].lexicon)
        | {
            "mechanisms": [shared.settings_fields(mechanism) for mechanism in mechanisms],
            **shared.fields(options, "seed near pairs"),
            **shared.fields(answer, "known_kinds spread before"),
            "rows": [asdict(row) for row in answer.rows],
        },
        _lines(answer),
    )


def _lines(answer: Tradeoff) -> Iterator[str]:
    yield "Given away: " + ", ".join(LEAKAGES) + "; left: " + ", ".join(UTILITIES)
    before = [answer.before | {"epsilon": 0.0}]
    yield "Where the output has nothing to do with the word:"
    yield from table(_TABLE, before)
    rows: dict[str, dict[float, dict[str, float]]] = {}
    for row in answer.rows:
        of_one = rows.setdefault(row.mechanism, {}).setdefault(row.epsilon, {})
        of_one |= {"epsilon": row.epsilon, row.quantity: row.value}
    for mechanism, table_rows in rows.items():
        attackers = {row.attacker for row in answer.rows if row.mechanism == mechanism}
        repeats = " (he says what came out: at least this leaks)" if "repeats" in attackers else ""
        yield ""
        yield mechanism + repeats
        yield from table(_TABLE, list(table_rows.values()))
