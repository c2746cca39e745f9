"""Any endpoint that speaks OpenAI's chat completions: OpenAI itself, Ollama, llama.cpp, vLLM and the rest."""

from __future__ import annotations

import asyncio
import gc
import importlib
import sys
from collections.abc import AsyncGenerator, Iterator
from typing import TYPE_CHECKING, Any, cast

from triptych.messages import text_of
from triptych.models.base import (
    Delta,
    Finish,
    FinishReason,
    ModelError,
    ReasoningDelta,
    Request,
    TextDelta,
    ToolCallDelta,
    UsageReport,
)
from triptych.models.failures import detail, status_failure, stream_failure
from triptych.models.keys import OPENAI_URL, host_of, usable_key

if TYPE_CHECKING:
    from openai import APIError, AsyncOpenAI, AsyncStream
    from openai.types.chat import ChatCompletionChunk

CONNECT_TIMEOUT = 10.0
"""Seconds a connection may take to come about, where `timeout` is not shorter."""

_NO_KEY = "none"  # what a server without keys is sent, since the client insists on one
_FINISH_REASONS: dict[str, FinishReason] = {
    "tool_calls": "tool_calls",
    "length": "length",
    "content_filter": "content_filter",
}


class OpenAIModel:
    """A chat model behind an OpenAI-compatible endpoint.

    `base_url` None is OpenAI itself; `api_key` is sent to that endpoint as it is, so ask `keys.key_for` first;
    `key_source` is what is said of where a key comes from that the endpoint rejects. `window` is the context window in
    tokens; `timeout` is how many seconds the endpoint may be silent.
    Raises ModelError when the base URL or the key can be none. One request is made a stream, and none is repeated.
    """

    offline = False

    def __init__(
        self,
        *,
        name: str,
        base_url: str | None = None,
        api_key: str | None = None,
        key_source: str = "",
        window: int | None = None,
        timeout: float = 300.0,
    ) -> None:
        self.name = name
        self.window = window
        self.timeout = timeout
        self._base_url = base_url or OPENAI_URL
        self.host = host_of(self._base_url)
        self._api_key = usable_key(api_key, self.host)
        self._key_source = key_source

    def __repr__(self) -> str:
        return f"{type(self).__name__}(name={self.name!r}, host={self.host!r})"

    async def stream(self, request: Request) -> AsyncGenerator[Delta, None]:
        """Answer piece by piece. Closing the generator, or cancelling its task, closes the connection."""
        # Importing takes half a second, reading certificates a tenth; in a thread the screen stays alive meanwhile.
        await asyncio.to_thread(_import_library)
        from openai import APIError

        failure = ModelError("model.cut_off", may_pass=True, host=self.host)
        begun = finished = False
        async with await asyncio.to_thread(self._connect) as client:
            chunks = await self._open(client, request)
            try:
                async for chunk in chunks:
                    begun = True
                    for delta in _deltas(chunk):
                        finished = finished or isinstance(delta, Finish)
                        yield delta
            except APIError as error:
                failure = self._stream_failure(error)
            except (ValueError, RecursionError):
                failure = ModelError("model.bad_stream", host=self.host)
            else:
                if not begun and not _is_stream(chunks):  # a web page, or a server that does not stream
                    failure = ModelError("model.bad_stream", host=self.host)
            finally:
                await chunks.close()
        if not finished:  # an answer that is complete stays so, however its connection ends
            raise failure

    # Failures are raised outside the except blocks: the exceptions they come from hold the request and so the key,
    # and not even `from None` would let go of them.

    def _connect(self) -> AsyncOpenAI:
        from openai import AsyncOpenAI, DefaultAsyncHttpxClient, Timeout

        try:
            client = AsyncOpenAI(
                api_key=self._api_key or _NO_KEY,
                base_url=self._base_url,
                max_retries=0,
                # Without this, an Authorization in OPENAI_CUSTOM_HEADERS would go to any endpoint.
                default_headers={"Authorization": f"Bearer {self._api_key or _NO_KEY}"},
                http_client=DefaultAsyncHttpxClient(
                    follow_redirects=False, timeout=Timeout(self.timeout, connect=min(self.timeout, CONNECT_TIMEOUT))
                ),
            )
        except Exception as error:  # a proxy or an address of a kind the HTTP library cannot use
            said = detail(str(error), self._api_key)
        else:
            if self._api_key is None:  # these come from the environment and are for OpenAI
                client.organization = client.project = None
            return client
        raise ModelError("model.no_connection", host=self.host, detail=said)

    async def _open(self, client: AsyncOpenAI, request: Request) -> AsyncStream[ChatCompletionChunk]:
        from openai import APIError, omit

        try:
            return await client.chat.completions.create(
                model=self.name,
                messages=[],
                # Not as the parameter: of that the client looks through every value, a second for 5,000 messages.
                extra_body={"messages": list(request.messages)},
                stream=True,
                stream_options={"include_usage": True},
                tools=cast(Any, list(request.tools)) if request.tools else omit,
            )
        except APIError as error:
            failure = self._request_failure(error)
        except (ValueError, RecursionError):
            failure = ModelError("model.unsendable", host=self.host)
        except Exception as error:  # what breaks while the body of a refusal is read comes as it is
            failure = self._unreachable(error)
        raise failure

    def _request_failure(self, error: APIError) -> ModelError:
        from openai import APIStatusError, APITimeoutError

        if isinstance(error, APITimeoutError):
            return ModelError("model.timeout", may_pass=True, host=self.host, seconds=self.timeout)
        if isinstance(error, APIStatusError):
            return status_failure(
                error.status_code,
                error.body,
                error.response.headers,
                model=self.name,
                host=self.host,
                secret=self._api_key,
                key_source=self._key_source,
            )
        return self._unreachable(error.__cause__ or error)

    def _unreachable(self, cause: BaseException) -> ModelError:
        said = detail(str(cause) or type(cause).__name__, self._api_key)
        return ModelError("model.unreachable", may_pass=True, host=self.host, detail=said)

    def _stream_failure(self, error: APIError) -> ModelError:
        from openai import APIConnectionError, APITimeoutError

        if isinstance(error, APITimeoutError):
            return ModelError("model.timeout", may_pass=True, host=self.host, seconds=self.timeout)
        if isinstance(error, APIConnectionError):
            return ModelError("model.cut_off", may_pass=True, host=self.host)
        return stream_failure(
            error.body, model=self.name, host=self.host, secret=self._api_key, key_source=self._key_source
        )


def _is_stream(chunks: AsyncStream[ChatCompletionChunk]) -> bool:
    return str(chunks.response.headers.get("content-type", "")).startswith("text/event-stream")


def _import_library() -> None:
    if "openai" not in sys.modules:
        importlib.import_module("openai.resources.chat.completions")  # or the client would, at the first request
        gc.freeze()  # its 80,000 objects stay; looking through them for garbage would hold up what streams


def _deltas(chunk: object) -> Iterator[Delta]:
    """The pieces that one chunk holds. Shapes that are none are passed over: servers send many."""
    choices = getattr(chunk, "choices", None)
    choice = choices[0] if isinstance(choices, list) and choices else None
    delta = getattr(choice, "delta", None)
    if thought := _reasoning_in(delta):
        yield ReasoningDelta(thought)
    if text := text_of({"content": getattr(delta, "content", None)}):
        yield TextDelta(text)
    calls = getattr(delta, "tool_calls", None)
    for position, call in enumerate(calls if isinstance(calls, list) else ()):
        yield _call_delta(call, position)
    reason = getattr(choice, "finish_reason", None)
    if reason and isinstance(reason, str):
        yield Finish(_FINISH_REASONS.get(reason, "stop"))
    usage = getattr(chunk, "usage", None)
    prompt_tokens = _count(getattr(usage, "prompt_tokens", None))
    if prompt_tokens is not None:
        yield UsageReport(prompt_tokens, _count(getattr(usage, "completion_tokens", None)) or 0)


def _reasoning_in(delta: object) -> str:
    """A piece of reasoning, by the name that vLLM, llama.cpp and DeepSeek or that Ollama and OpenRouter give it."""
    values = (getattr(delta, name, None) for name in ("reasoning_content", "reasoning"))
    return next((value for value in values if isinstance(value, str) and value), "")


def _count(value: object) -> int | None:
    """A number of tokens, None for what can be none."""
    return value if isinstance(value, int) and 0 <= value < 1_000_000_000 else None


def _call_delta(call: object, position: int) -> ToolCallDelta:
    index, call_id = getattr(call, "index", None), getattr(call, "id", None)
    function = getattr(call, "function", None)
    name, arguments = getattr(function, "name", None), getattr(function, "arguments", None)
    return ToolCallDelta(
        index=index if isinstance(index, int) else position,
        id=call_id if isinstance(call_id, str) else None,
        name=name if isinstance(name, str) else None,
        arguments=arguments if isinstance(arguments, str) else "",
    )
