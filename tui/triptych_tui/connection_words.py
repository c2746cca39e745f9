"""What there is to say of connecting to a model."""

from __future__ import annotations

from collections.abc import Mapping

from triptych_tui.i18n import N_

CONNECTIONS: Mapping[str, str] = {
    "endpoint.refused": N_("Nothing listens at {host}. Start the server, or check the port."),
    "endpoint.no_such_host": N_("There is no host {host}. Check the base URL."),
    "endpoint.unreachable": N_("{host} cannot be reached[: {detail}]. Check the base URL."),
    "endpoint.slow": N_("{host} did not answer within {seconds:g} s. It may be starting; else check the base URL."),
    "endpoint.key_wanted": N_("{host} wants a key. Type it."),
    "endpoint.key_rejected": N_("{host} rejects the key. Type another one."),
    "endpoint.not_openai": N_("{host} answers, but not as an OpenAI-compatible endpoint. Most base URLs end in /v1."),
    "endpoint.model_unknown": N_(
        "{host} does not list the model {model}. Take one from its list, or connect anyway with Enter."
    ),
    "connect.no_model": N_("No model is chosen yet. Type its name, or take one from the list."),
    "offline.already": N_("The offline model answers already."),
    "usage.beginning_dropped": N_(
        "The server leaves out the beginning of the list: it reads at most {read:,} of about {expected:,} tokens. "
        "The session is kept; give the server a larger window (Ollama: num_ctx), or summarize old turns with F4."
    ),
}
