"""The command `triptych`: its default command `open`, and one place where every failure becomes one line."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from typing import Any, NoReturn

import click

from triptych.reasons import TriptychError
from triptych_tui.cli_support import (
    BROKEN_PIPE,
    CANCELLED,
    ENDPOINT,
    FILE,
    INTERNAL,
    STANDARD_INPUT,
    USAGE,
    Fault,
    keymap_of,
    naming,
    setting,
    settings_for,
    shown,
    standard_input,
)
from triptych_tui.i18n import N_, _, lend_catalogues, preferred_locale, set_language

_COMMANDS = {
    "apply": "triptych_tui.cli_apply",
    "check": "triptych_tui.cli_inspect",
    "compare": "triptych_tui.cli_compare",
    "config": "triptych_tui.cli_config",
    "context": "triptych_tui.cli_inspect",
    "policies": "triptych_tui.cli_lists",
    "run": "triptych_tui.cli_run",
    "sessions": "triptych_tui.cli_lists",
    "verify": "triptych_tui.cli_verify",
}
"""Where each command lives; a module is imported when its command is asked for, since `open` should start at once."""

HALF = 600
"""Characters at either end of a complaint that are said: what was given may have any length."""

_EXIT_CODES = {"parameter": USAGE, "policy": USAGE, "settings": USAGE, "workspace": USAGE, "model": ENDPOINT}
"""By what a reason is about; all others are about files."""


class Triptych(click.Group):
    """A first argument that equals a command's name is that command; anything else is meant for `open`."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return sorted(_COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name in _COMMANDS and cmd_name not in self.commands:
            command = getattr(import_module(_COMMANDS[cmd_name]), cmd_name)
            _translate_help(command)
            self.add_command(command)
        return super().get_command(ctx, cmd_name)

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        if not args or args[0] not in ("open", *_COMMANDS):
            args = ["open", *args]
        return super().parse_args(ctx, args)

    def main(self, args: Sequence[str] | None = None, *_given: Any, **extra: Any) -> NoReturn:
        """Run a command line and exit; what goes wrong is one line on standard error."""
        code = self._run(list(sys.argv[1:] if args is None else args))
        sys.exit(_flushed(code))

    def _run(self, args: list[str]) -> int:
        set_language(preferred_locale())
        try:
            args = _speak(args)
            lend_catalogues()
            _translate_help(self)
            with self.make_context("triptych", args) as ctx:
                self.invoke(ctx)
        except click.exceptions.Exit as done:
            return done.exit_code
        except click.ClickException as error:
            return _complain(USAGE, _usage(error))
        except Fault as fault:
            return _complain(fault.exit_code, fault.sentence)
        except TriptychError as error:
            from triptych_tui.wording import say

            about = error.reason.id.partition(".")[0]
            return _complain(_EXIT_CODES.get(about, FILE), say(error.reason))
        except BrokenPipeError:
            return BROKEN_PIPE
        except OSError as error:
            return _complain(FILE, _system_fault(error))
        except (KeyboardInterrupt, click.Abort):
            return _complain(CANCELLED, _("cancelled"))
        except Exception as error:
            said = f"{type(error).__name__}: {error}"
            return _complain(INTERNAL, _("a fault of the program, please report it: {said}").format(said=said))
        return 0


class Open(click.Command):
    """The default command; its help is the program's."""

    def format_usage(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        formatter.write_usage("triptych", _("[OPTIONS] [FILE]"))
        formatter.write_usage("triptych", _("COMMAND …"))

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        super().format_options(ctx, formatter)
        if ctx.parent is not None and isinstance(ctx.parent.command, click.Group):
            ctx.parent.command.format_commands(ctx.parent, formatter)


@click.group(cls=Triptych, add_help_option=False)
def main() -> None:
    pass


@main.command(
    "open",
    cls=Open,
    hidden=True,
    help=N_(
        "Open FILE in the workbench, or this user's own session. Without a model name the offline model answers: "
        "no key, no network."
    ),
)
@click.argument("file", metavar="FILE", required=False)
@setting("--model", metavar="M", help=N_("The model's name at the endpoint."))
@setting("--base-url", metavar="U", help=N_("The endpoint, for example http://localhost:11434/v1."))
@setting("--offline", is_flag=True, help=N_("Use the offline model."))
@setting("--policy", metavar="P", help=N_("Which layers run, and when; see `triptych policies list`."))
@setting("--limit", type=int, metavar="N", help=N_("Layer 1: characters kept of a tool result."))
@setting("--keep", type=int, metavar="N", help=N_("Layer 2: newest tool results kept."))
@setting("--keep-turns", type=int, metavar="N", help=N_("Layer 3: newest user turns kept."))
@setting("--system", metavar="TEXT", help=N_("The system message of a new session."))
@setting("--window", type=int, metavar="N", help=N_("The model's context window in tokens."))
@setting("--workspace", metavar="DIR", type=click.Path(path_type=Path), help=N_("The folder that tools may read."))
@setting("--lang", metavar="L", help=N_("The interface's language: en, zh-Hans or zh-Hant."))
@setting("--theme", metavar="T", help=N_("The look: dark, light, high-contrast or monochrome."))
@setting("--ascii", is_flag=True, help=N_("Draw with ASCII signs only."))
@setting("--read-only", is_flag=True, help=N_("Never write the file."))
@click.option("--new", metavar="FILE", envvar="TRIPTYCH_NEW", help=N_("Create FILE and open it."))
@click.version_option(package_name="triptych", prog_name="triptych", message="%(prog)s %(version)s")
@click.pass_context
def open_workbench(ctx: click.Context, /, file: str | None, new: str | None, **flags: Any) -> None:
    from triptych_tui.launch import Launch, open_session

    if file is not None and new is not None:
        raise Fault(USAGE, _("FILE and --new exclude each other; give one of them"))
    name = new if file is None else file
    data = standard_input() if file == STANDARD_INPUT else None
    path = Path(name) if name is not None and data is None else None
    settings = settings_for(**flags)
    keymap = keymap_of(settings)
    launch = Launch(settings, path, is_new=new is not None, data=data)
    with naming(name or ""):
        opened = open_session(launch, os.environ, before_writing=lambda: require_terminal(piped=data is not None))
    from triptych_tui.app import run_workbench

    ctx.exit(run_workbench(opened, keymap))


def require_terminal(*, piped: bool) -> None:
    """Make sure that keys can be read and a screen be drawn; what standard input was, is read by now when `piped`."""
    drawn = all(stream is not None and stream.isatty() for stream in (sys.stdout, sys.stderr))
    typed = sys.stdin is not None and sys.stdin.isatty()
    if drawn and piped:
        try:
            os.dup2(os.open("/dev/tty", os.O_RDWR), 0)
        except OSError:
            typed = False
        else:
            typed = True
    if not drawn or not typed:
        raise Fault(
            USAGE, _("the workbench needs a terminal; without one use a command such as `triptych context FILE`")
        )


def _speak(args: list[str]) -> list[str]:
    """Speak the language that is asked for from here on: `--lang` stands anywhere. Returns the other arguments."""
    from triptych.settings import default_config_path, preferred_language

    wanted, others, rest = None, [], iter(args)
    for argument in rest:
        if argument == "--":
            others += [argument, *rest]
        elif argument.startswith("--lang="):
            wanted = argument.partition("=")[2]
        elif argument != "--lang":
            others.append(argument)
        elif (wanted := next(rest, None)) is None:
            others.append(argument)  # what it lacks is told where the line is read
    if language := preferred_language(wanted, os.environ, default_config_path()):
        set_language(language)
    return others


def _usage(error: click.ClickException) -> str:
    """What is wrong with a command line, and where its right form is told."""
    ctx = error.ctx if isinstance(error, click.UsageError) else None
    path = ctx.command_path.removesuffix(" open") if ctx is not None else "triptych"
    sentence = error.format_message().rstrip(".。")
    return _("{sentence}; see {help}").format(sentence=sentence, help=f"{path} --help")


def _complain(exit_code: int, sentence: str) -> int:
    """Say a failure in one line on standard error."""
    said = " ".join(sentence.split())
    if len(said) > 2 * HALF:
        said = f"{said[:HALF]} … {said[-HALF:]}"
    with suppress(OSError):  # where nobody listens, the exit code still says it
        click.echo(f"triptych: {shown(said)}", err=True)
    return exit_code


def _flushed(exit_code: int) -> int:
    """Write out what is buffered; whoever closed the pipe has read enough and gets no error."""
    try:
        if sys.stdout is not None:
            sys.stdout.flush()
    except OSError as error:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # else the interpreter tries again, and complains
        if isinstance(error, BrokenPipeError):
            return BROKEN_PIPE
        return exit_code or _complain(FILE, _system_fault(error))
    return exit_code


def _system_fault(error: OSError) -> str:
    # What cannot be missing is standard output: then it is the present folder, which relative names need.
    place = error.filename or (os.curdir if isinstance(error, FileNotFoundError) else _("standard output"))
    return _("{place}: {error}").format(place=place, error=error.strerror or type(error).__name__)


def _translate_help(command: click.Command) -> None:
    for each in _with_subcommands(command):
        each.help = _(each.help) if each.help else each.help
        each.short_help = _(each.short_help) if each.short_help else each.short_help
        each.options_metavar = _("[OPTIONS]")
        if isinstance(each, click.Group):
            each.subcommand_metavar = _("COMMAND [ARGS]...")
        for parameter in each.params:
            if isinstance(parameter, click.Option) and parameter.help:
                parameter.help = _(parameter.help)


def _with_subcommands(command: click.Command) -> Iterator[click.Command]:
    yield command
    if isinstance(command, click.Group):
        for each in command.commands.values():
            yield from _with_subcommands(each)
