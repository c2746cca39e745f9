"""Telling a server's error message that came in the place of a text from a text that speaks of errors."""

from __future__ import annotations

import re
from http import HTTPStatus

LONGEST_ERROR = 400
"""Characters; what is longer is no mere error message."""

_PHRASES = "|".join(re.escape(status.phrase) for status in HTTPStatus if status >= HTTPStatus.BAD_REQUEST)
_END = r"(?=\s*(?:[^\w\s]|$|(?:for|please|try|retry)\b))"
"""Behind an error's name the sentence ends, or says for whom: “429 birds”, “too many requests were sent” go on."""

_STATUS = (
    rf"\b(?:(?:http|status|code|error)\b\W{{0,3}}){{1,3}}[45]\d\d\b{_END}"
    rf"|\b[45]\d\d\W{{1,3}}(?:{_PHRASES}|client error|server error|rate.?limit\w*|overloaded|quota exceeded)\b"
)
_NAMED = (
    rf"(?:too many requests|rate.?limit\w*\W+(?:exceeded|reached|hit)|overloaded(?:_error)?|quota exceeded"
    rf"|context.?length.?exceeded){_END}|you exceeded your current quota|this model'?s maximum context length"
)
_ERROR = re.compile(
    rf"\W*(?:{_STATUS}|\b(?:{_NAMED})|[45]\d\d\W*$|['\"]?error['\"]?\s*:\s*\{{"
    rf"|(?:request\s+)?(?:error|exception|failed|failure)\b.{{0,80}}?(?:{_STATUS}|\b(?:{_NAMED})))",
    re.IGNORECASE | re.DOTALL,
)


def is_error_message(text: str) -> bool:
    """Whether a text is what a server says when it cannot answer."""
    text = text.strip()
    return len(text) <= LONGEST_ERROR and _ERROR.match(text) is not None
