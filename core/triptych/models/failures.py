"""What a failed request means, put into a ModelError whose values hold no secret."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

from triptych.models.base import ModelError

DETAIL_LIMIT = 300
"""The most characters of a server's own message that a reason carries."""

LONGEST_WAIT = 86_400.0
"""Seconds of the longest wait that is worth telling."""

# No two servers word it alike; the codes of OpenAI and llama.cpp match the first alternative too.
_CONTEXT_LENGTH = re.compile(
    r"context[ _-]?(length|size|window)"
    r"|prompt (is )?too long|maximum (prompt|model) length|prompt 超长|request too large|string_above_max_length"
    r"|max_tokens must be at least 1, got -|inputs` tokens \+ `max_new_tokens"
    r"|exceeded model token limit|input token count|range of input length"
    r"|reduce (the length of the messages|your message)",
    re.IGNORECASE,
)

_TEMPORARY = (408, 409)
"""Refusals that mean no more than a server that was busy."""
_QUOTA_CODES = ("insufficient_quota", "billing_hard_limit_reached")


def status_failure(
    status: int,
    body: object,
    headers: Mapping[str, str],
    *,
    model: str,
    host: str,
    secret: str | None,
    key_source: str = "",
) -> ModelError:
    """The failure that a status of 300 or more stands for, with what the body says of it."""
    said = detail(message_in(body), secret)
    match status:
        case 401 | 403 if not secret:
            return ModelError("model.key_missing", host=host, status=status)
        case 401 | 403:  # no detail: OpenAI's own message repeats parts of the key
            return ModelError("model.key_rejected", host=host, status=status, source=key_source)
        case 404:
            return ModelError("model.not_found", model=model, host=host, status=status, detail=said)
    if status < 400:
        target = detail(headers.get("location", ""), secret)
        return ModelError("model.redirected", host=host, status=status, target=target)
    if status == 413 or is_context_length(body):
        return ModelError("model.context_length", host=host, status=status, detail=said)
    if status == 402 or (status == 429 and _field(body, "code") in _QUOTA_CODES):
        return ModelError("model.no_quota", host=host, status=status, detail=said)
    values = {"host": host, "status": status, "retry_after": retry_after(headers), "detail": said}
    if status == 429:
        return ModelError("model.rate_limited", may_pass=True, **values)
    if status >= 500 or status in _TEMPORARY:
        return ModelError("model.server_error", may_pass=True, **values)
    return ModelError("model.refused", host=host, status=status, detail=said)


def stream_failure(body: object, *, model: str, host: str, secret: str | None, key_source: str = "") -> ModelError:
    """The failure that an error among the chunks of an answer stands for: by its code where that is an HTTP status."""
    code = _field(body, "code")
    if re.fullmatch("[45][0-9][0-9]", code):
        return status_failure(int(code), body, {}, model=model, host=host, secret=secret, key_source=key_source)
    said = detail(message_in(body), secret)
    if is_context_length(body):
        return ModelError("model.context_length", host=host, detail=said)
    return ModelError("model.stream_error", host=host, detail=said)


def is_context_length(body: object) -> bool:
    """Whether an error's code, type or message says that the request does not fit the context window."""
    words = " ".join([_field(body, "code"), _field(body, "type"), message_in(body)])
    return _CONTEXT_LENGTH.search(words) is not None


def message_in(body: object) -> str:
    """The message of an error body in its usual shapes: an object that holds it, or bare text."""
    return body if isinstance(body, str) else _field(body, "message") or _field(body, "detail")


def _field(body: object, key: str) -> str:
    value = body.get(key) if isinstance(body, Mapping) else None
    return str(value) if isinstance(value, (str, int)) else ""


def detail(text: str, secret: str | None) -> str:
    """A foreign message as a reason carries it: one line, cut, without the key some servers repeat."""
    if secret:
        text = text.replace(secret, "…")
    return " ".join(text.split())[:DETAIL_LIMIT]


def retry_after(headers: Mapping[str, str]) -> float | None:
    """Seconds to wait as the server asks for them, never negative; None where it does not say, or asks for days."""
    value = headers.get("retry-after", "")
    try:
        seconds = float(value)
    except ValueError:
        try:
            seconds = (parsedate_to_datetime(value) - datetime.now(UTC)).total_seconds()
        except (ValueError, TypeError, OverflowError):
            return None
    return max(seconds, 0.0) if seconds <= LONGEST_WAIT else None
