"""What goes wrong with requests to a model: whole sentences, and the few words of the row above the prompt."""

from __future__ import annotations

from collections.abc import Mapping

from triptych_tui.i18n import N_

MODELS: Mapping[str, str] = {
    "model.empty": N_("{model} answered nothing. The session is kept; try again."),
    "model.empty_cut_off": N_(
        "{model} came to its length limit before it said anything. "
        "The session is kept; summarize old turns, or choose another model."
    ),
    "model.empty_filtered": N_(
        "The endpoint's content filter stopped {model} before it said anything. The session is kept; ask differently."
    ),
    "model.bad_base_url": N_(
        "The base URL {base_url} is none. Nothing was sent; give one like http://localhost:11434/v1."
    ),
    "model.key_unusable": N_("The key for {host} holds characters that no key has. Nothing was sent; set it again."),
    "model.key_rejected": N_(
        "{host} rejected the key ({status})[; it came from {source}]. "
        "The session is kept; set another key, or choose another model."
    ),
    "model.key_missing": N_(
        "{host} asks for a key ({status}), and none was sent. The session is kept; set a key, or choose another model."
    ),
    "model.not_found": N_(
        "{host} does not know the model {model}[: {detail}]. "
        "The session is kept; check the model's name and the base URL."
    ),
    "model.rate_limited": N_(
        "{host} allows no more requests for now[: {detail}]. The session is kept; try again[ in {retry_after:.0f} s]."
    ),
    "model.no_quota": N_(
        "The account at {host} has nothing left to spend ({status})[: {detail}]. "
        "The session is kept; choose another model."
    ),
    "model.context_length": N_(
        "The request does not fit the context window[: ~{tokens} tokens > {window}][: {host} says {detail}]. "
        "The session is kept; summarize old turns, then ask again."
    ),
    "model.calls_used_up": N_("All {calls:,} summaries that were allowed are written."),
    "model.server_error": N_(
        "{host} failed ({status})[: {detail}]. The session is kept; try again[ in {retry_after:.0f} s]."
    ),
    "model.refused": N_(
        "{host} refused the request ({status})[: {detail}]. The session is kept; choose another model."
    ),
    "model.redirected": N_(
        "{host} sends on to another address ({status})[, {target}]. "
        "Nothing was sent there; give that base URL yourself."
    ),
    "model.stream_error": N_("{host} broke off its answer with an error[: {detail}]. The session is kept; try again."),
    "model.bad_stream": N_("{host} sent an answer that cannot be read. The session is kept; check the base URL."),
    "model.unsendable": N_(
        "This request cannot be written as JSON for {host}. The session is kept; undo the last step."
    ),
    "model.cut_off": N_("The connection to {host} ended before the answer did. The session is kept; try again."),
    "model.timeout": N_("{host} was silent for {seconds:g} s. The session is kept; try again."),
    "model.unreachable": N_(
        "{host} cannot be reached[: {detail}]. The session is kept; check that it runs, and the base URL."
    ),
    "model.no_connection": N_(
        "No connection to {host} can be made[: {detail}]. "
        "The session is kept; check the base URL and the proxy variables."
    ),
}

IN_SHORT: Mapping[str, str] = {
    "model.empty": N_("An empty answer — {model} neither said nor called anything"),
    "model.empty_cut_off": N_("An empty answer — {model} came to its length limit before it said anything"),
    "model.empty_filtered": N_("An empty answer — the content filter stopped {model} before it said anything"),
    "model.key_rejected": N_("{status} from {host} — the key was rejected[; it came from {source}]"),
    "model.key_missing": N_("{status} from {host} — it asks for a key, and none was sent"),
    "model.not_found": N_("{status} from {host} — it does not know the model {model}[: {detail}]"),
    "model.rate_limited": N_("{status} from {host} — it allows no more requests for now[: {detail}]"),
    "model.no_quota": N_("{status} from {host} — the account has nothing left to spend[: {detail}]"),
    "model.context_length": N_(
        "Too long — the request does not fit the context window[: ~{tokens} tokens > {window}][: {host} says {detail}]"
    ),
    "model.server_error": N_("{status} from {host} — the fault is the server's[: {detail}]"),
    "model.refused": N_("{status} from {host} — it refuses this request[: {detail}]"),
    "model.redirected": N_("{status} from {host} — it sends on to another address[, {target}]; nothing was sent there"),
    "model.stream_error": N_("An error from {host} — it broke off its answer[: {detail}]"),
    "model.bad_stream": N_("Nonsense from {host} — its answer cannot be read; check the base URL"),
    "model.cut_off": N_("Cut off — the connection to {host} ended before the answer did"),
    "model.timeout": N_("No answer — {host} was silent for {seconds:g} s"),
    "model.unreachable": N_("No connection — {host} cannot be reached[: {detail}]"),
    "model.no_connection": N_("No connection — check the base URL and the proxy variables[: {detail}]"),
}
"""A dash parts what happened from whose fault it is, in every language."""
