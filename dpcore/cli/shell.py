"""Commands on click: functions that take their options as one namespace and return an answer.

The command `<name>` is `<name>_command` in a file of this folder, which `Commands` looks up by
name. The file is imported when its command is run, and not for the list of all commands.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping
from types import SimpleNamespace
from typing import Any, TypeVar

import click

from dpcore import __version__
from dpcore.cli.printer import Answer, progress_bars

Options = SimpleNamespace
"""Options of a command, each under its name with _ for -, and `progress` to report to.

`uncertified` takes the commands that compute the certificates missing from the answer, by
mechanism.
"""
Handler = Callable[[Options], Answer | None]
F = TypeVar("F", bound=Callable[..., Any])

_SETTINGS = {"help_option_names": ["-h", "--help"], "show_default": True, "max_content_width": 100}


class _Command(click.Command):
    """A command with `--json`, which prints the answer of its function."""

    def __init__(self, *arguments: Any, **more: Any) -> None:
        super().__init__(*arguments, **more)
        self.params.append(click.Option(["--json"], is_flag=True, help="print one JSON object"))

    def invoke(self, context: click.Context) -> int:
        # One namespace in place of up to twenty parameters: helpers of a command pass it on whole.
        # The bars end before the answer is printed: on a terminal both would share a line.
        with progress_bars() as progress:
            options = Options(**context.params, progress=progress, uncertified={})
            answer: Answer | None = self.callback(options) if self.callback else None
        if answer is None:
            return 0
        if options.uncertified:
            answer = answer.uncertified(options.uncertified)
        return answer.show(as_json=options.json)


def command(name: str, group: click.Group | None = None) -> Callable[[Handler], click.Command]:
    """Make a command of a function, whose docstring becomes the help.

    Args:
        name: of the command in the shell.
        group: the command of which it is an action.
    """

    def declare(handler: Handler) -> click.Command:
        declared = click.command(name, cls=_Command, context_settings=_SETTINGS)(handler)
        if group is not None:
            group.add_command(declared)
        return declared

    return declare


def group(name: str, text: str) -> click.Group:
    """Make a command that consists of actions, such as `lexicon add`."""
    return click.Group(
        # A missing action is a refusal of one sentence, and not a page of help.
        name, help=text, no_args_is_help=False, subcommand_metavar="ACTION …",
        context_settings=_SETTINGS,
    )  # fmt: skip


class _Alternative(click.Option):
    """One of several options that exclude each other."""

    def __init__(self, *arguments: Any, flags: tuple[str, ...], needed: bool, **more: Any) -> None:
        super().__init__(*arguments, **more)
        self.flags, self.needed = flags, needed

    def handle_parse_result(
        self, ctx: click.Context, opts: Mapping[str, Any], args: list[str]
    ) -> tuple[Any, list[str]]:
        # The tuple of flags is one object for all members, and so tells groups of a command apart.
        members = [
            parameter
            for parameter in ctx.command.params
            if isinstance(parameter, _Alternative) and parameter.flags is self.flags
        ]
        # `opts` contains only typed options: `--labels` has a default and may be left out.
        given = [member.opts[0] for member in members if member.name in opts]
        if len(given) > 1:
            raise click.UsageError(
                f"{' and '.join(given)} exclude each other: give one of them", ctx
            )
        if self.needed and not given:
            raise click.UsageError(f"give one of {', '.join(self.flags)}", ctx)
        return super().handle_parse_result(ctx, opts, args)


def one_of(options: Mapping[str, Mapping[str, Any]], *, needed: bool = True) -> Callable[[F], F]:
    """Declare options of which a command takes one alone.

    Args:
        options: arguments of `click.option`, by flag; "--in file" stores the value as `file`.
        needed: True if one has to be given.
    """
    flags = tuple(flag.split()[0] for flag in options)

    def declare(function: F) -> F:
        # Decorators apply from the last to the first, and help lists them in the order of reading.
        for flag, more in reversed(list(options.items())):
            function = click.option(
                *flag.split(), cls=_Alternative, flags=flags, needed=needed, **more
            )(function)
        return function

    return declare


class Commands(click.Group):
    """The commands by name, imported when they are asked for.

    Args:
        commands: name -> its file in this folder, and one line about it. The lines are given here
            and not in the files, whose imports take a second.
        text: about all of them.
    """

    def __init__(self, commands: Mapping[str, tuple[str, str]], text: str) -> None:
        super().__init__(
            help=text, no_args_is_help=False, subcommand_metavar="COMMAND …",
            context_settings=_SETTINGS,
        )  # fmt: skip
        self.names, self._listed = tuple(commands), dict(commands)
        click.version_option(__version__, prog_name="dpcore", message="%(prog)s %(version)s")(self)

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names, in the order in which they are shown."""
        return list(self._listed)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import the command of a name; None if there is none."""
        if cmd_name not in self._listed:
            return None
        file, _ = self._listed[cmd_name]
        module: Any = importlib.import_module(f"dpcore.cli.{file}")
        # By name, so that a new command is one line in `main` and one function.
        declared: click.Command = getattr(module, f"{cmd_name.replace('-', '_')}_command")
        return declared

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the names with a line each."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, about) for name, (_, about) in self._listed.items()])
