"""The lessons' functions as a reader might type them: right ones, sharing no code with the program."""

import json

LIMIT = 80
PLACEHOLDER = "[旧工具结果已清理, 如有需要请重新调用工具]"
DEFAULT_KEEP_TURNS = 3


def cut_tool_result(text, limit=LIMIT):
    if limit < 0:
        raise ValueError("limit 不能小于 0")
    if len(text) <= limit:
        return text
    head = limit // 2
    tail = limit - head
    end = text[-tail:] if tail else ""
    return text[:head] + f"\n...中间省略{len(text) - limit}个字...\n" + end


def clean_old_tool_result(messages, keep):
    results = [message for message in messages if message["role"] == "tool"]
    old = results[:-keep] if keep > 0 else results
    for message in old:
        message["content"] = PLACEHOLDER


def classify_old_and_kept_msgs(messages, keep_turns):
    if keep_turns <= 0:
        raise ValueError("keep_turns 必须大于 0")
    users = [index for index, message in enumerate(messages) if message["role"] == "user"]
    if len(users) <= keep_turns:
        return None
    cut = users[-keep_turns]
    return messages[1:cut], messages[cut:]


def render_for_summary(msgs):
    lines = []
    for message in msgs:
        if message.get("content"):
            lines.append(f"[{message['role']}] {message['content']}")
        for call in message.get("tool_calls") or []:
            lines.append(f"[assistant 调用工具] {call['function']['name']}({call['function']['arguments']})")
    return "\n".join(lines)


def rebuild(messages, keep_turns, summary):
    parts = classify_old_and_kept_msgs(messages, keep_turns)
    if parts is None or not summary or not summary.strip():
        return messages
    return [
        messages[0],
        {"role": "user", "content": f"[以下是此前对话的摘要]\n{summary}"},
        {"role": "assistant", "content": "好的，我已了解之前的进展，继续。"},
        *parts[1],
    ]


def compact(messages, complete):
    parts = classify_old_and_kept_msgs(messages, DEFAULT_KEEP_TURNS)
    if parts is None:
        return messages
    request = [
        {"role": "system", "content": "Summarize."},
        {"role": "user", "content": render_for_summary(parts[0])},
    ]
    summary = complete(request)
    print("summarized")
    return rebuild(messages, DEFAULT_KEEP_TURNS, summary)


def save_session(history, path):
    path.write_text(json.dumps(history, indent=2, ensure_ascii=False), encoding="utf-8")


def load_session(path):
    history = json.loads(path.read_text(encoding="utf-8"))
    if not isinstance(history, list) or not history or history[0].get("role") != "system":
        raise ValueError("会话文件必须包含以 system 消息开头的消息列表")
    return history


def estimate_token(text):
    cjk = sum(
        "\u4e00" <= character <= "\u9fff" or "\u3000" <= character <= "\u303f" or "\uff00" <= character <= "\uffef"
        for character in text
    )
    return int(cjk * 1.3 + (len(text) - cjk) / 3.5)


def images_token(images=None):
    return 800 * len(images) if images else 0


def _turn_separation(history_messages):
    return [
        index
        for index, message in enumerate(history_messages)
        if message["role"] == "user" and not message["content"].startswith("<tool_response>")
    ]


def pruner_tool_text(history_messages, keep_turns=2):
    import re

    block = re.compile(r"<tool_response>\s*\[工具\s*(\w+)\s*執行結果\]：\n(.*?)\n</tool_response>", re.DOTALL)
    turns = _turn_separation(history_messages)
    boundary = turns[-keep_turns] if len(turns) >= keep_turns else 0
    pruned = []
    for index, message in enumerate(history_messages):
        content = message["content"]
        found = None
        if index < boundary and message["role"] == "user" and content.startswith("<tool_response>"):
            found = block.match(content)
        if found and "... [省略前期工具" not in found[2]:
            name, body = found[1], found[2]
            notice = f"... [省略前期工具 {name} 的部分輸出]"
            lines = body.split("\n")
            if len(lines) > 6:
                body = "\n".join([*lines[:3], notice, *lines[-2:]])
            elif len(body) > 300:
                body = f"{body[:50]} {notice} {body[-50:]}"
            if body != found[2]:
                content = f"<tool_response>\n[工具 {name} 執行結果]：\n{body}\n</tool_response>"
        pruned.append({**message, "content": content})
    return pruned


if __name__ == "__main__":
    while True:
        input("> ")
