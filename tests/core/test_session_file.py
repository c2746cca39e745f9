"""The session file: exact bytes, what stands on disk, and whole or not at all."""

from __future__ import annotations

import errno
import hashlib
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import threading
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given

from tests.support_session_files import ANSWER, LIST, SYSTEM, USER, dumped, leftovers
from tests.support_strategies import chat_lists, junk_lists
from triptych.entries import Entry, entries_from
from triptych.messages import Message
from triptych.storage.atomic import replace_file
from triptych.storage.layout import file_pieces, message_chunk
from triptych.storage.session_file import OnDisk, SessionFile
from triptych_assets import FOLDER

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
SAVES = json.loads((FOLDER / "conformance" / "lesson_vectors.json").read_bytes())["save"]


def lessons_load(path: Path) -> list[Message]:
    """The lesson's own loader, from its description."""
    with path.open(encoding="utf-8") as file:
        history: Any = json.load(file)
    if not isinstance(history, list) or not history or history[0].get("role") != "system":
        raise ValueError("会话文件必须包含以 system 消息开头的消息列表")
    return history


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "session.json"


# Exact bytes


@pytest.mark.parametrize("case", SAVES, ids=range(len(SAVES)))
def test_a_saved_file_is_what_the_lesson_saves(case: dict[str, Any], path: Path) -> None:
    SessionFile(path).save(entries_from(case["messages"]))
    assert path.read_bytes() == case["text"].encode()
    assert lessons_load(path) == case["messages"]


@given(junk_lists())
def test_any_list_is_written_byte_for_byte_as_json_dumps_writes_it(messages: list[Message]) -> None:
    chunks = [message_chunk(message)[0] for message in messages]
    assert b"".join(file_pieces(chunks)) == dumped(messages)


@given(chat_lists())
def test_what_is_saved_is_loaded_again(messages: list[Message]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "session.json"
        saved = SessionFile(path).save(entries_from(messages))
        loaded = SessionFile(path).load()
        assert path.read_bytes() == dumped(messages)
        assert json.dumps(loaded.reading.messages) == json.dumps(messages)
        assert loaded.ours
        assert loaded.on_disk == saved.on_disk
        assert lessons_load(path) == messages


def test_many_messages_are_written_in_order(path: Path) -> None:
    messages = [SYSTEM, *({"role": "user", "content": str(number)} for number in range(2000))]
    SessionFile(path).save(entries_from(messages))
    assert path.read_bytes() == dumped(messages)


def test_an_empty_list_is_written_and_has_lines(path: Path) -> None:
    on_disk = SessionFile(path).save(()).on_disk
    assert path.read_bytes() == b"[]"
    assert [*on_disk.lines()] == ["[]"]


def test_a_lone_surrogate_is_replaced_and_counted_once(path: Path) -> None:
    file, entries = SessionFile(path), entries_from([SYSTEM, {"role": "user", "content": "a\ud83d\udfff \u00e9"}])
    assert file.save(entries).replaced_characters == 2
    assert json.loads(path.read_bytes())[1]["content"] == "a\ufffd\ufffd \u00e9"
    assert file.save(entries).replaced_characters == 0
    assert SessionFile(path).load().ours


def test_saving_again_writes_what_was_added_replaced_and_removed(path: Path) -> None:
    file, entries = SessionFile(path), entries_from(LIST)
    file.save(entries)
    changed = (entries[0], Entry(1, {"role": "user", "content": "other"}), Entry(9, USER))
    file.save(changed)
    assert path.read_bytes() == dumped([entry.message for entry in changed])
    file.save(entries)
    assert path.read_bytes() == dumped(LIST)


def test_an_entry_is_made_into_text_once(path: Path) -> None:
    """The very same text objects are seen again, so that a pane knows what did not change."""
    file, entries = SessionFile(path), entries_from(LIST)
    first = file.save(entries).on_disk.chunks
    second = file.save((*entries, Entry(9, USER))).on_disk.chunks
    assert all(one is other for one, other in zip(first, second[:3], strict=True))


# What stands on disk


def assert_stands(on_disk: OnDisk, path: Path) -> None:
    data = path.read_bytes()
    assert "\n".join(on_disk.lines()) == data.decode()
    assert (on_disk.path, on_disk.size) == (path, len(data))
    assert on_disk.sha256 == hashlib.sha256(data).hexdigest()
    assert on_disk.modified.tzinfo is UTC
    assert (on_disk.modified - EPOCH) // timedelta(microseconds=1) == path.stat().st_mtime_ns // 1000


def test_every_message_has_its_lines(path: Path) -> None:
    saved = SessionFile(path).save(entries_from(LIST)).on_disk
    loaded = SessionFile(path).load().on_disk
    for on_disk in (saved, loaded):
        assert_stands(on_disk, path)
        assert [json.loads(chunk) for chunk in on_disk.chunks] == LIST
        assert on_disk.other_text == ""


@pytest.mark.parametrize(
    "data",
    [
        json.dumps(LIST).encode(),
        json.dumps(LIST, indent=4).encode(),
        dumped(LIST) + b"\n",
        dumped([SYSTEM, USER]).replace(b"  },\n  {\n", b"  },  {\n"),
        dumped([USER, ANSWER]),
        b'{"messages": [{"role": "user"}]}',
    ],
    ids=["compact", "4 spaces", "newline at the end", "one line less", "not ours", "object"],
)
def test_a_file_of_another_layout_or_program_has_plain_lines(data: bytes, path: Path) -> None:
    path.write_bytes(data)
    on_disk = SessionFile(path).load().on_disk
    assert_stands(on_disk, path)
    assert on_disk.chunks == ()


def test_a_sound_file_with_escapes_is_shown_as_it_stands_and_written_exactly(path: Path) -> None:
    path.write_bytes(json.dumps(LIST, indent=2).encode())
    file = SessionFile(path)
    loaded = file.load()
    assert_stands(loaded.on_disk, path)
    assert len(loaded.on_disk.chunks) == 3
    file.save(entries_from(loaded.reading.messages))
    assert path.read_bytes() == dumped(LIST)


# Whole or not at all

SAVES_IN_A_LOOP = """
import os, sys, threading
from pathlib import Path
from triptych.entries import entries_from
from triptych.storage.session_file import SessionFile

lists = [entries_from([{"role": "system", "content": word * 40}] * 3000) for word in ("old", "new")]
file = SessionFile(Path(sys.argv[1]))
file.save(lists[0], overwrite=True)

def save_for_ever():
    while True:
        for entries in lists:
            file.save(entries)

threading.Thread(target=save_for_ever).start()
while True:
    os.write(1, bytes(1000))
"""


def test_killed_at_any_moment_of_saving_the_file_is_whole(path: Path) -> None:
    whole = {dumped([{"role": "system", "content": word * 40}] * 3000) for word in ("old", "new")}
    moments = random.Random(7)
    for _ in range(20):
        command = [sys.executable, "-c", SAVES_IN_A_LOOP, str(path)]
        with subprocess.Popen(command, stdout=subprocess.PIPE) as child:
            assert child.stdout is not None
            child.stdout.read(moments.randint(1, 2_000_000))
            child.send_signal(signal.SIGKILL)
        assert path.read_bytes() in whole
    SessionFile(path).load()
    assert leftovers(path.parent) == []


def test_a_reader_sees_only_whole_files(path: Path) -> None:
    lists = [[SYSTEM, *[USER] * count] for count in (1, 4000)]
    whole = {dumped(messages) for messages in lists}
    replace_file(path, dumped(lists[0]))

    def save_often() -> None:
        for _ in range(15):
            for messages in lists:
                replace_file(path, dumped(messages))

    writer = threading.Thread(target=save_often)
    writer.start()
    while writer.is_alive():
        assert path.read_bytes() in whole
    writer.join()


FULL_DISK = """
import resource, sys
from pathlib import Path
from triptych.entries import entries_from
from triptych.storage.session_file import SessionFile, SessionFileError

resource.setrlimit(resource.RLIMIT_FSIZE, (10_000, 10_000))
file = SessionFile(Path(sys.argv[1]))
messages = list(file.load().reading.messages)
for count in (1_000, 0):
    try:
        file.save(entries_from([*messages, *[{"role": "user", "content": "more"}] * count]))
    except SessionFileError as error:
        print(error.reason.id, error.reason.values["path"] == sys.argv[1], error.reason.values["error"])
    else:
        print("saved")
"""


def test_on_a_full_disk_the_old_file_stays_and_saving_goes_on_when_there_is_room(path: Path) -> None:
    SessionFile(path).save(entries_from(LIST))
    run = subprocess.run([sys.executable, "-c", FULL_DISK, str(path)], capture_output=True, text=True, check=True)
    assert run.stdout.splitlines() == [f"file.not_writable True {os.strerror(errno.EFBIG)}", "saved"]
    assert path.read_bytes() == dumped(LIST)
    assert leftovers(path.parent) == []


def test_leftovers_of_dead_processes_and_old_ones_are_swept_and_nothing_else(path: Path) -> None:
    with subprocess.Popen([sys.executable, "-c", ""]) as child:
        child.wait()
    SessionFile(path).save(entries_from(LIST))
    names = {
        "dead": f".triptych-{child.pid}-0123456789abcdef.tmp",
        "alive": f".triptych-{os.getpid()}-0123456789abcdef.tmp",
        "old": f".triptych-{os.getpid()}-fedcba9876543210.tmp",
        "foreign": ".other-1-0123456789abcdef.tmp",
        "like": f".triptych-{child.pid}-0123456789abcdef.tmp.bak",
    }
    for name in names.values():
        path.with_name(name).write_text("part")
    os.utime(path.with_name(names["old"]), (0, 0))
    SessionFile(path).load()
    assert {each.name for each in path.parent.iterdir()} == {path.name, names["alive"], names["foreign"], names["like"]}
