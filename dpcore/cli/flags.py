"""Options that several commands share, each declared once."""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce
from pathlib import Path
from typing import Any

import click
from click import Choice, option

from dpcore.cli import fields
from dpcore.cli.shell import F, Options, one_of
from dpcore.learn.training import Training
from dpcore.limits import MAX_SEED

Declared = Callable[[F], F]

EPSILON_VALUES = "a list 1,2,5 or a geometric grid LOW:HIGH:COUNT"
_A_MECHANISM = "a name from `mechanisms`"


def several(*declared: Declared[Any]) -> Declared[Any]:
    """Return one decorator of several options, in this order."""
    # Decorators apply from the last to the first, and help lists options in the order of reading.
    return lambda function: reduce(lambda inner, declare: declare(inner), declared[::-1], function)


def number(
    flag: str,
    default: int | None,
    text: str = "",
    *,
    least: int | None = None,
    most: int | None = None,
) -> Declared[Any]:
    """Declare an option that takes a whole number, within limits if there are any."""
    limited = least is not None or most is not None
    kind = click.IntRange(least, most) if limited else click.INT
    return option(flag, type=kind, default=default, metavar="N", help=text)


def file(flag: str, text: str = "", metavar: str = "FILE", **more: Any) -> Declared[Any]:
    """Declare an option that names a file or a folder."""
    # Not `click.Path`: whether a file is there is said by the code that opens it, in our words.
    return option(flag, type=Path, metavar=metavar, help=text, **more)


def seed(meaning: str, default: int | None = 0) -> Declared[Any]:
    """Declare the option --seed, with its meaning for this command."""
    return number("--seed", default, f"0 to {MAX_SEED}: {meaning}")


class Pair(click.ParamType):  # type: ignore[type-arg]  # older releases take none
    """NAME=VALUE, as two texts without white space around them."""

    name = "pair"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> tuple[str, str]:
        """Cut at the first equals sign."""
        # At the first equals sign: a value may have one, such as a rule of `budget`.
        name, equals, text = (part.strip() for part in value.partition("="))
        if not (name and equals):
            # Cut: what was typed may be long, and the message is one line.
            self.fail(f"{value[:60]!r} is not {param and param.metavar}", param, ctx)
        return name, text


def pairs(flag: str, text: str) -> Declared[Any]:
    """Declare a repeatable option NAME=VALUE: a dictionary, for each name the last value."""
    return option(
        flag, type=Pair(), multiple=True, metavar="NAME=VALUE", help=f"{text}; repeatable",
        # The last value of a name wins, as with options that are not repeatable.
        callback=lambda _, __, given: dict(given),
    )  # fmt: skip


def names(text: str) -> list[str]:
    """Convert A,B,C to a list, as the type of an option."""
    return text.split(",")


language: Declared[Any] = option(
    "--language", help="of the words, such as de  [default: what the lexicon says]"
)
workers = one_of(
    {
        "--workers": {
            "type": int, "default": 1, "metavar": "N", "help": "processes of this machine",
        },
        "--scheduler": {"metavar": "URL", "help": "a Dask scheduler, tcp://127.0.0.1:8786"},
    },
    needed=False,
)  # fmt: skip
lexicon = several(
    option("--lexicon", help="a name from `lexicon list`, or a path  [default: ours]"),
    language,
)
settings = pairs("--set", "a parameter of a mechanism")
mechanism: Declared[Any] = option("--mechanism", required=True, help=_A_MECHANISM)
epsilon: Declared[Any] = option("--epsilon", required=True, help="the privacy parameter")
word: Declared[Any] = option("--word", required=True)
runs = number("--runs", 1000, "R of Sw")
device: Declared[Any] = option("--device", default="cpu", help="or cuda, auto")


def training(epochs: int, batch: int, rate: float, patience: int | None) -> Declared[Any]:
    """Declare the options of commands that train a network, with their defaults."""
    return several(
        number("--epochs", epochs),
        number("--batch", batch),
        option("--rate", default=rate),
        number("--patience", patience, "epochs without gain"),
        file("--out", metavar="FILE.safetensors", required=True),
        option("--resume", is_flag=True, help="go on where training stopped"),
    )


def training_of(options: Options, **more: Any) -> Training:
    """Return the settings of training, by `training` and --seed."""
    chosen = fields.some(options, "epochs batch rate patience seed")
    return Training(**chosen, **more)


one_mechanism = several(mechanism, settings, lexicon)
"""Options of every command that needs one mechanism; ε, where needed, is `epsilon`."""

compared = several(
    option("--mechanism", multiple=True, required=True, help=f"{_A_MECHANISM}; repeatable"),
    option(
        "--epsilon",
        multiple=True,
        required=True,
        metavar="[MECHANISM=]VALUES",
        help=f"a number, {EPSILON_VALUES}; MECHANISM=VALUES for one of several mechanisms; "
        "repeatable",
    ),
)
"""Options of every command that compares mechanisms, each at several ε."""

rewriting = several(
    option(
        "--unknown",
        default="replace",
        type=Choice(["replace", "mask", "drop", "reject"]),
        help="treatment of words outside the vocabulary",
    ),
    option("--keep-stop-words", is_flag=True, help="release function words unchanged"),
    option(
        "--case",
        default="keep",
        type=Choice(["keep", "sentence"]),
        help="capital letters: keep their pattern, or only at sentence beginnings",
    ),
)
"""Treatment of unknown words, function words and capital letters."""
