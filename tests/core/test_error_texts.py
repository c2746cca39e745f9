"""A server's error message is told from a text that begins like one."""

from __future__ import annotations

import pytest

from triptych.layers.error_texts import is_error_message


@pytest.mark.parametrize(
    "text",
    [
        "429 Too Many Requests",
        "429: too many requests",
        "**429** Too Many Requests",
        "503",
        "Error: 429",
        "Error 429: slow down",
        "Error generating summary: 429 Too Many Requests",
        "429 Client Error: Too Many Requests for url: http://localhost/v1/chat/completions",
        "500 Internal Server Error\n\nnginx",
        "HTTP 503: upstream overloaded",
        "HTTP status 502",
        "Error code: 429 - {'error': {'message': 'Rate limit reached'}}",
        "Request failed with status code 500",
        "Failed to fetch: status code 500",
        "Rate limit exceeded, try again in 20 s",
        "Rate limit reached for model-x in organization org-1 on tokens per min",
        "Too many requests. Please slow down.",
        "Overloaded",
        "overloaded_error: the server is busy",
        "Quota exceeded for metric requests",
        "You exceeded your current quota, please check your plan and billing details.",
        "This model's maximum context length is 8192 tokens.",
        '{"error": {"code": 429, "message": "slow down"}}',
        '{\n  "error": {"message": "Internal error"}\n}',
    ],
)
def test_an_error_message_is_known(text: str) -> None:
    assert is_error_message(text)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "429 birds were counted at the harbour, 12 of them herons.",
        "429 birds were counted; the request for a second count is open.",
        "404 pages were printed.",
        "500 internal letters were sent.",
        "Error 404 in the web server was mended; the tests are next.",
        "The error was found in line 3.",
        "Errors such as HTTP 429 are handled by the client now.",
        "Goal: handle HTTP errors such as 429 in the client.",
        "Too many requests were sent by the crawler, so it waits a second now.",
        "Overloaded operators were explained.",
        "Rate limits were discussed.",
        "Failed tests: 3 of 512.",
        "Failed 429 times before it worked.",
        "Status: the report is written, 450 words.",
        "Code 429 lines long was reviewed.",
        "目标: 修复错误 429",
        "Rate limit exceeded, " + "said the server, and it was mended. " * 20,
    ],
)
def test_a_text_that_speaks_of_errors_or_of_numbers_is_none(text: str) -> None:
    assert not is_error_message(text)
