"""A class that reads logs: the files of a failed checkout, and what a model says of them, in English and in Chinese."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

SCRIPT = Sequence[Mapping[str, Any]]


class Incident(NamedTuple):
    """questions: one a turn. answers: the model's, in order, as `support_openai_server.Script` takes them, the last
    one without an end. begun: the last words that are said of it."""

    system: str
    questions: tuple[str, str, str, str]
    answers: SCRIPT
    begun: str
    upstream: str


def _calls(*calls: tuple[str, dict[str, str]]) -> dict[str, Any]:
    return {"tool_calls": [{"name": name, "arguments": arguments} for name, arguments in calls]}


_CONF, _LOG, _WORKER = {"path": "conf/gateway.toml"}, {"path": "logs/app.log"}, {"path": "logs/worker.log"}

ENGLISH = Incident(
    system="You are a careful log analyst. Answer only from the files of the workspace, and name the file and the "
    "line each fact comes from. Say so when the files do not tell.",
    questions=(
        "Why did checkout fail on 2 March?",
        "What does the gateway allow? Order 7731 must not be charged twice.",
        "Which service logged the first timeout?",
        "Did the worker retry that order?",
    ),
    answers=(
        _calls(("list_files", {})),
        _calls(("read_file", {"path": "notes/oncall.md"}), ("search_files", {"query": "7731", **_LOG})),
        {"text": "The notes blame the payments upstream: it stopped answering at 11:04, and checkout gave up."},
        _calls(("read_file", _CONF), ("list_files", {"path": "logs"})),
        {"text": "The gateway allows 800 ms; the bank needs up to 1,200 ms at peak."},
        _calls(("read_file", _LOG)),
        {
            "summary": "Goal: find out why checkout failed on 2 March.\n"
            "Facts: payments stopped answering at 11:04 (notes/oncall.md).\n"
            "Open: was the card of order 7731 charged twice?",
        },
        {
            "summary": "Goal: find out why checkout failed on 2 March.\n"
            "Facts: payments logged the first timeout at 11:04:07 (logs/app.log). The gateway allows 800 ms "
            "(conf/gateway.toml); the bank needs up to 1,200 ms at peak.\n"
            "Decision: the gateway limit, not the bank, is the first suspect.\n"
            "Open: did the worker charge the card twice?\n"
            "Next: read logs/worker.log."
        },
        {"text": "payments, at 11:04:07. It waited 800 ms for the gateway, then gave up."},
        _calls(("search_files", {"query": "retry", **_WORKER})),
        {"text": "Yes. The worker retried order 7731 five times between 11:04:09 and", "stall": True},
    ),
    begun="11:04:09 and",
    upstream="payments upstream timeout after",
)

CHINESE = Incident(
    system="你是一名严谨的日志分析员。只依据工作区里的文件回答，并说明每个事实出自哪个文件的哪一行。文件里没有的，就直说没有。",
    questions=(
        "3 月 2 日的结账为什么失败？",
        "网关允许多长时间？订单 7731 不能重复扣款。",
        "最早报超时的是哪个服务？",
        "worker 有没有重试那笔订单？",
    ),
    answers=(
        _calls(("list_files", {})),
        _calls(("read_file", {"path": "notes/oncall.md"}), ("search_files", {"query": "7731", **_LOG})),
        {"text": "值班记录说是支付上游的问题：它从 11:04 起不再应答，结账随后放弃。"},
        _calls(("read_file", _CONF), ("list_files", {"path": "logs"})),
        {"text": "网关只允许 800 毫秒，而银行在高峰期最多需要 1200 毫秒。"},
        _calls(("read_file", _LOG)),
        {
            "summary": "目标：查明 3 月 2 日结账失败的原因。\n"
            "事实：支付上游从 11:04 起不再应答（notes/oncall.md）。\n"
            "未决：订单 7731 是否重复扣款？"
        },
        {"text": "是 payments，11:04:07。它等网关 800 毫秒后放弃。"},
        _calls(("search_files", {"query": "retry", **_WORKER})),
        {"text": "有。worker 在 11:04:09 到 11:04:41 之间对订单 7731 重试了五次，", "stall": True},
    ),
    begun="重试了五次，",
    upstream="payments 上游超时",
)


def write_files(folder: Path, incident: Incident) -> Path:
    """The files the model asks for; returns their folder."""
    files = {
        "logs/app.log": _app_log(incident.upstream),
        "logs/worker.log": _worker_log(),
        "conf/gateway.toml": _gateway(),
        "notes/oncall.md": "# On call, 2 March\n\n" + "11:04 payments does not answer, checkout gives up.\n" * 12,
    }
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "utf-8")
    return folder


def _app_log(upstream: str) -> str:
    lines = [f"2026-03-02 11:04:07 ERROR {upstream} 800 ms order=7731"]
    lines += [
        f"2026-03-02 11:0{4 + n // 60}:{n % 60:02} INFO  checkout order={7700 + n} total=42.00" for n in range(8, 290)
    ]
    return "\n".join([*lines, "2026-03-02 11:09:55 WARN  worker retry queue is empty", ""])


def _worker_log() -> str:
    lines = [
        f"2026-03-02 11:04:{9 + 8 * n:02} WARN retry {n + 1}/5 order=7731 in {2.0 * (n + 1):.1f} s" for n in range(5)
    ]
    quiet = [f"2026-03-02 11:{n:02}:00 INFO queue length 0" for n in range(5, 30)]
    retried = [f"2026-03-02 11:3{n // 6}:{n % 6}0 INFO retry 1/5 order={8000 + n} done" for n in range(24)]
    return "\n".join([*lines, *quiet, *retried, ""])


def _gateway() -> str:
    services = ("payments", "stock", "mail", "search", "login", "prices", "images", "returns")
    tables = [f'[{name}]\ntimeout_ms = 800\nretries = 5\nbackoff_s = 2.0\nhost = "{name}-03"\n' for name in services]
    return "# raised from 500 on 12 February\n" + "\n".join(tables * 2)
