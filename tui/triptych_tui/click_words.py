"""What click says for the program, named for the catalogues, where click finds it (see `i18n.lend_catalogues`)."""

from __future__ import annotations

from triptych_tui.i18n import N_


def NN_(singular: str, plural: str) -> tuple[str, str]:
    """Marks a counted pair, as `N_` marks one sentence."""
    return singular, plural


WORDS = (
    N_("Usage:"),
    N_("Options"),
    N_("Commands"),
    N_("Show this message and exit."),
    N_("Show the version and exit."),
    N_("Missing command."),
    N_("Missing argument"),
    N_("Missing option"),
    N_("Invalid value: {message}"),
    N_("Invalid value for {param_hint}: {message}"),
    N_("No such option {name!r}."),
    N_("No such command {name!r}."),
    N_("{value!r} is not a valid {number_type}."),
    N_("Option {name!r} does not take a value."),
    NN_("Option {name!r} requires an argument.", "Option {name!r} requires {nargs} arguments."),
    NN_("Got unexpected extra argument ({args})", "Got unexpected extra arguments ({args})"),
    NN_("Did you mean {possibility}?", "(Did you mean one of: {possibilities}?)"),
    NN_("{value!r} is not {choice}.", "{value!r} is not one of {choices}."),
)
