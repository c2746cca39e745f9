"""What the offline model understands of a user's words, in English and both Chinese scripts.

All rules read simplified text (`simplified` keeps every character in its place); what is taken out is the original.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Literal

from triptych.models.offline_language import CJK, simplified

Kind = Literal["read", "again", "list", "search", "question", "statement", "other"]


@dataclass(frozen=True, slots=True)
class Wish:
    """What a text asks for.

    paths: the files meant (for list and search at most one: where). query: the words to search for. asks: it holds a
    question, beside what is to be read. every: all of several, not only the newest.
    """

    kind: Kind
    paths: tuple[str, ...] = ()
    query: str = ""
    asks: bool = False
    every: bool = False


_I = re.IGNORECASE
_LONGEST = 4000
"""Characters of a message that are understood: its beginning and its end."""


def _any(english: str, chinese: str = "") -> re.Pattern[str]:
    """A pattern of alternatives: whole English words, and Chinese words wherever they stand."""
    return re.compile(rf"\b(?:{english})\b" + (f"|{chinese}" if chinese else ""), _I)


# Files

_EXTENSION = r"\.(?:[a-z][a-z0-9]{0,7}|[A-Z]{2,5})(?![A-Za-z0-9])"
_QUOTED_PATH = re.compile(rf"[“\"'`「『《]([^“”\"'`「」『』《》\n]{{1,120}}?{_EXTENSION})[”\"'`」』》]")
_BARE_PATH = re.compile(rf"[\w~][\w./\\~+-]{{0,150}}?{_EXTENSION}|\b(?:README|LICENSE|Makefile|Dockerfile)\b")
# Paths that start outside or hidden are named as they are, for the tool to refuse. "and/or", "24/7" and addresses
# start none. A name without an extension ends where Chinese words run into it.
_OUTSIDE_PATH = re.compile(
    rf"(?:(?<![\w./\\:~-])|(?<=[{CJK}]))"
    r"(?:(?:\.\.[\\/])+|~[\\/]|[A-Za-z]:[\\/]|\.[A-Za-z][\w-]{0,40}[\\/]|/(?=[\w.]))"
    rf"(?:[\w./\\~+-]{{0,150}}?{_EXTENSION}(?![\\/]|\.\w)"
    r"|(?:[\w.+~-]{1,80}[\\/]){0,20}[A-Za-z0-9_.+~-]{0,80}[A-Za-z0-9_]"
    r"|(?<=\.\.[\\/])(?:\.\.)?)"
)
_PLAIN_WORDS = frozenset({"e.g", "i.e"})
_FOLDER = re.compile(
    r"(?<![\w./])((?:[\w-]+/)+)(?![\w.])"
    r"|(?<=\s)(\.\.)(?![^\s?？])"
    r"|\b([a-z0-9_][\w-]*)\s+(?:folder|directory)\b"
    r"|\b(?:folder|directory)\s+(?:called\s+|named\s+)?(?!is\b|has\b|do\b)([\w-]+)"
    rf"|(?:^|[\s在{CJK}])([A-Za-z0-9_][\w-]*?|(?<=\s)[{CJK}]+?|(?<=在)[{CJK}]+?)\s*(?:这个)?(?:目录|文件夹|资料夹)",
    _I,
)
_NO_FOLDER = re.compile(
    "the|this|that|your|my|our|current|same|whole|a|in|which|what|list|show|这个|那个|工作|当前", _I
)
# Words that run into a Chinese file name without a space.
_RUN_IN = re.compile(
    "(?:请|麻烦|帮我|给我|你|能不能|能|可以|可否|再|重新|先|然后|接着|去|把|将|从|在|对|读一下|读一读|读取|阅读|读|"
    "看一下|看一看|看看|查看|看|打开|浏览|显示|检查|总结|概括|一次|一遍|一下|文件|档案|的|叫|名为)+"
)
_JOINED = re.compile(r"(?:和|与|跟|及|以及|还有|或)+")
_MOST_PATHS = 8


def paths_named(text: str, known: Sequence[str]) -> tuple[str, ...]:
    """The files that a text names with their extension, each once, in order.

    A name without its folder means the `known` path that ends so, where there is just one.
    """
    found: list[tuple[int, str]] = [(match.start(1), match[1]) for match in _QUOTED_PATH.finditer(text)]
    found += [(match.start(), match[0]) for match in _OUTSIDE_PATH.finditer(text) if not _overlaps(match, found)]
    taken = tuple(found)
    end_before = -1
    for match in _BARE_PATH.finditer(text):
        if _overlaps(match, taken) or match[0] in _PLAIN_WORDS:
            continue
        name = _without_run_in_words(match[0], text[: match.start()], match.start() == end_before, known)
        end_before = match.end()
        found.append((match.start(), name))
    return tuple(dict.fromkeys(_resolved(path, known) for _, path in sorted(found)))[:_MOST_PATHS]


def _overlaps(match: re.Match[str], taken: Sequence[tuple[int, str]]) -> bool:
    return any(start < match.end() and match.start() < start + len(path) for start, path in taken)


def _may_be_folder_outside(path: str) -> bool:
    return bool(_OUTSIDE_PATH.fullmatch(path)) and not PurePosixPath(path).suffix


def _without_run_in_words(run: str, before: str, joined: bool, known: Sequence[str]) -> str:
    for path in sorted({path for whole in known for path in (whole, PurePosixPath(whole).name)}, key=len, reverse=True):
        if run.endswith(path):
            return path
    plain = simplified(run)
    start = 0
    if joined and (match := _JOINED.match(plain)):
        start = match.end()
    if not before or not before[-1].isspace() or not before.strip():
        match = _RUN_IN.match(plain, start)
        if match and match.end() < len(run) and run[match.end()] != ".":
            start = match.end()
    return run[start:]


def _resolved(path: str, known: Sequence[str]) -> str:
    if path in known:
        return path
    ending = [other for other in known if other.endswith("/" + path)]
    return ending[0] if len(ending) == 1 else path


def paths_meant(text: str, known: Sequence[str]) -> tuple[str, ...]:
    """The `known` files whose name stands in the text without its extension ("the radio log", 渡輪時刻表)."""
    plain = simplified(text).lower()
    words = set(re.findall(r"[^\W_]+", plain))
    meant = []
    for path in known:
        stem = simplified(PurePosixPath(path).stem).lower()
        parts = re.findall(r"[^\W_]+", stem)
        if parts and (set(parts) <= words or (re.search(f"[{CJK}]", stem) and len(stem) > 1 and stem in plain)):
            meant.append(path)
    return tuple(meant[:_MOST_PATHS])


# Kinds of sentences

_READ = _any(
    "re-?read|read|open|show|view|look|check|cat|load|display|print|get|fetch|see|inspect|examine|call|summari[sz]e|"
    "go through|contents? of",
    "读|看|打开|浏览|显示|查阅|检查|念|总结|概括|调用",
)
_READ_FILES = _any("read|open", "读|打开")
_FILE = _any("files?|documents?|read|open", "文件|档案|读|打开")
_FILES = _any("files|documents|everything", "文件|档案")
_AGAIN = _any("again|re-?read|once more|another look", "再|重新|重读")
_CLEARED = _any("cleared|pruned", "清理|清除|裁剪")
_THAT = _any("it|them|(?:that|those|these|both)(?!\\s+(?!file|result|one)\\w)", "它|那个|那份|这个|这份|刚才")
_EVERY = _any("all|every|everything|each|them|those|these|both", "所有|全部|每个|每一个|都|它们|那些|这些")
_MESSAGE = re.compile(r"\bmessage\s+#?(\d{1,6})\b|(?:消息|讯息)\s*#?(\d{1,6})", _I)
_POLITE = re.compile(
    r"^\W*(?:(?:can|could|would|will)\s+(?:you|we|i)\b|please\b|(?:请|麻烦)*你?(?:能不能|可不可以|能否|可否|能|可以))",
    _I,
)

_LIST = re.compile(
    r"\b(?:which|what|how many)\s+(?:\w+\s+){0,2}?(?:files|documents|folders)\b"
    r"|\b(?:list|show|see)\b.*\b(?:files|documents|folders?|directory|workspace|everything)\b"
    r"|\bwhat(?:['’]s|\s+is|\s+are)?\b.*\b(?:in|inside)\s+(?:\S+\s+){0,2}?(?:folder|directory|workspace)\b"
    r"|\bwhat(?:['’]s|\s+is)\s+(?:in|inside)\s+(?:\w+/)+"
    r"|\bare\s+there\s+(?:any\s+)?(?:other\s+|more\s+)?files\b|^\s*(?:ls|dir|tree|list)\b"
    r"|(?:哪些|哪几个|什么|多少|几个|所有|全部|列出|列一下|列举|显示|查看|看看|有)(?:的|有|一下){0,2}(?:\S{0,4}?)"
    r"(?:文件|档案|目录|文件夹|资料夹)(?!里|中|的|内)"
    r"|(?:目录|文件夹|资料夹|工作区)(?:里|中|下|里面|内)?(?:都)?(?:有|是)?(?:些)?(?:什么|哪些|几个|多少)"
    r"|(?:文件|档案)(?:列表|清单)|^列",
    _I,
)
_ABOUT_THE_PAST = _any(r"(?:did|have|has)\s+(?:you|we|i)", "读过|看过|读了|看了")
_SEARCH = re.compile(
    r"(?:^|[.!?;,:，。；：]\s*|\b(?:please|you|and|then|to|let['’]s|now|me)\s+)"
    r"(?:search\s+(?P<where>[\w./-]+/?)\s+for"
    r"|search(?:\s+(?:through\s+)?(?:the|all|every)?\s*(?:files?|workspace|folder))?(?:\s+for)?"
    r"|look\s+(?:for|up)|grep(?:\s+for)?|find(?!\s+(?:out|my)\b))\s+(?P<query>.+)"
    r"|\b(?:which|what)\s+(?:files?|documents?)\s+(?:do\s+|does\s+)?"
    r"(?:mention|contain|include|say|hold|speak of|talk about)s?\s+(?P<query2>.+)"
    r"|\bwhere\s+(?:is|are|does|do)\s+(?P<query3>.+?)\s+(?:mentioned|appear|occur)\b"
    r"|(?:搜索|搜寻|搜一下|搜一搜|搜|查找|寻找|检索|找一下|找找|找一找|查一下|查查)(?:一下|包含|含有)?\s*(?P<query4>.+)"
    r"|(?:哪些|哪个|哪一个|哪几个|什么|哪份)(?:文件|档案)(?:里|中|里面)?(?:有)?"
    r"(?:提到|提及|包含|含有|出现|写到|说到|有)(?:了|过)?\s*(?P<query5>.+)"
    r"|(?:哪里|哪儿|什么地方)(?:有)?(?:提到|提及|出现)(?:了|过)?\s*(?P<query6>.+)",
    _I,
)
_QUERY_HEAD = re.compile(
    r"^(?:(?:the\s+)?(?:words?|terms?|phrase|text|string|name)\s+|(?:any|every|all)?\s*mentions?\s+of\s+"
    r"|lines?\s+(?:with|about)\s+|the\s+|an?\s+|关于|关键词|关键字|单词|词语|字符串|文字)+[:：]?\s*",
    _I,
)
_QUERY_TAIL = re.compile(
    r"(?:\s+(?:in|through|across|inside|under)\s+\S.*|\s+(?:please|for me)"
    r"|\s*(?:这个词|这个字|这几个字|这个名字|在哪里?|在哪儿|的地方|的内容|的文件|的行|吗))\s*$",
    _I,
)
_QUERY_QUOTED = re.compile(r"[“\"'`「『‘]([^”\"'`」』’\n]{1,80})[”\"'`」』’]")
_EDGES = " \t\r\n,.;:!?，。；：！？、…\"'`“”‘’「」『』"
_LONGEST_QUERY = 200

_QUESTION_WORD = (
    r"(?!do(?:n['’]t| not)\b)(?:what|who|whom|whose|which|where|when|why|how|is|are|was|were|am|do|does|did|can|could|"
    r"will|would|should|may|has|have)(?:['’]?s|['’]re|n['’]t)?"
)
_QUESTION = re.compile(
    rf"[?？]|^[^\w\n]*(?:(?:and|but|so|then|now|ok|okay|please|hello|hi)\W+)*{_QUESTION_WORD}\s"
    r"|\b(?:tell me|do you know|(?:want|need|like) to know|wonder|can you say|find out|say)\s+(?:again\s+)?"
    r"(?:what|who|whose|which|where|when|why|how|if|whether|about|my|the|everything|all|more|anything|something)\b"
    r"|什么|甚么|谁|哪[里儿个些一位份天年]|哪(?=[^\s])|多少|多大|多久|多高|多远|多长|几[点号岁时年月]|第几|吗"
    r"|怎么|怎样|如何|为何|是否|何时|何地|是不是|有没有|告诉我|想知道|呢\s*$",
    _I | re.MULTILINE,
)
_REMEMBER = _any(
    "remember|note|keep in mind|don['’]t forget|do not forget|make a note|for the record",
    "记住|记下|记着|记得|别忘|请注意|备忘",
)
_TELLS = re.compile(
    r"^\W*(?:(?:hi|hello|hey|by the way|also|and|okay|ok|你好|您好|嗨|另外|还有|顺便)\W*+)*+"
    r"(?:(?:i|i['’]m|i['’]ve|my|we|our|the|this|that|there)\b(?!['’]?\s*(?:want|would|['’]?d|need|like)\b)"
    r"|(?:我们|我|咱|本人)(?!想|要|需要|希望|们))",
    _I,
)
_STATES = _any(
    "i|i['’]m|my|we|our|is|are|was|were|am|has|have|had|must|should|cannot|can['’]t|will|won['’]t|never|always|"
    "from now on|decided|agreed",
    "我|咱|是|叫|姓|有|在|不能|不要|必须|应该|会|已|对|喜欢|住|决定|约定|以后|改为|改成|只",
)
_LONG_ENOUGH = re.compile(rf"\b\w+\W+\w+\W+\w+\W+\w|[{CJK}]{{5}}")
_COMMAND = re.compile(
    r"^\W*(?:(?:please|can you|could you|now|then)\s+)*(?:write|translate|make|run|delete|create|explain|draw|sing|"
    r"compute|calculate|say|give|generate|help|tell|compose|play|count|stop|continue|go|execute|send|buy|fix|edit|"
    r"rename|move|print|let|compare|describe|analy[sz]e|review|try|repeat|rewrite|suggest|plan|build|test|download)\b"
    r"|^\W*(?:请|麻烦|你|帮我|帮忙|给我|能不能|再)*"
    r"(?:写|翻译|画|运行|执行|删除|创建|解释|计算|算|讲|唱|生成|继续|停|发送|修改|改写|编辑|帮)",
    _I,
)
_GREETING = re.compile(
    r"^\W*(?:(?:hi|hello|hey|thank you|thanks?|okay|ok|yes|no|bye|good (?:morning|evening|day|night)|there|very much|"
    r"a lot|你好|您好|谢谢[你您]?|多谢了?|好的|好|嗯|再见|嗨|早上好|早安|晚安|晚上好)\W*+)++$",
    _I,
)
_ABOUT_ITSELF = re.compile(
    r"\bwho are you\b|\bwhat are you\b|\bwhat can you\b|\bhow do you work\b|\bwhat do you do\b|^\W*help\W*$"
    r"|你是谁|你是什么|你叫什么|你能做什么|你会做什么|你会什么|你能干什么|你可以做什么|^\W*帮助\W*$|^\s*/\w+\s*$",
    _I,
)


def understand(text: str, known: Sequence[str] = ()) -> Wish:
    """What a user message asks for; `known` are the paths that its context speaks of."""
    if len(text) > _LONGEST:
        text = text[: _LONGEST // 2] + "\n" + text[-_LONGEST // 2 :]
    plain = simplified(text)
    paths = paths_named(text, known)
    asks = is_question(plain)
    if _ABOUT_ITSELF.search(plain) or _GREETING.match(plain):
        return Wish("other")
    if not asks and (_REMEMBER.search(plain) or _TELLS.match(plain)):
        return Wish("statement")
    searched = _search(text, plain, paths)
    if searched:
        return searched
    if all(map(_may_be_folder_outside, paths)) and _LIST.search(plain) and not _ABOUT_THE_PAST.search(plain):
        reads_all = _READ_FILES.search(plain) and _EVERY.search(plain)
        if not (reads_all and known):
            return Wish("list", paths[:1] or _folder(text, plain))
    return _reading(plain, paths, asks, known) or _telling(plain, paths, asks)


def is_question(text: str) -> bool:
    """Whether a text asks something."""
    return bool(_QUESTION.search(simplified(text)))


def message_named(text: str) -> int | None:
    """The index of the message that a text speaks of ("message 3", 訊息 3)."""
    match = _MESSAGE.search(simplified(text))
    return int(match[1] or match[2]) if match else None


def _asks_more(sentence: str) -> bool:
    """Whether a sentence asks something beside whether one can read."""
    request = _POLITE.sub("", sentence)
    return is_question(request.rstrip(" ?？吗") if request != sentence else sentence)


def _reading(plain: str, paths: tuple[str, ...], asks: bool, known: Sequence[str]) -> Wish | None:
    if not _READ.search(plain):
        return None
    polite = not asks or _POLITE.match(plain)
    asks = any(map(_asks_more, re.split(r"(?<=[.!?])\s+|(?<=[。！？])", plain)))
    if paths:
        return Wish("read", paths, asks=asks)
    every = bool(_EVERY.search(plain))
    pointed = _AGAIN.search(plain) or _THAT.search(plain) or _MESSAGE.search(plain)
    meant = paths_meant(plain, known)
    if _CLEARED.search(plain) and not meant:
        return Wish("again", asks=asks, every=True)
    if meant and polite:
        return Wish("read", meant, asks=asks)
    if not polite and not _AGAIN.search(plain):
        return None
    if every and known and _FILES.search(plain):
        return Wish("read", tuple(known[:_MOST_PATHS]), asks=asks)
    if pointed:
        return Wish("again", asks=asks, every=every)
    return Wish("read", asks=asks) if _FILE.search(plain) else None


def _telling(plain: str, paths: tuple[str, ...], asks: bool) -> Wish:
    if asks:
        return Wish("question", paths, asks=True)
    if _COMMAND.match(plain):
        return Wish("other")
    if _STATES.search(plain) or _LONG_ENOUGH.search(plain):
        return Wish("statement")
    return Wish("read", paths) if paths else Wish("other")


def _search(text: str, plain: str, paths: tuple[str, ...]) -> Wish | None:
    match = _SEARCH.search(plain)
    if match is None:
        return None
    name = next(name for name, value in match.groupdict().items() if name.startswith("query") and value)
    query = text[match.start(name) : match.end(name)]
    if quoted := _QUERY_QUOTED.search(query):
        query = quoted[1]
    else:
        query = query[:_LONGEST_QUERY]
        for _ in range(3):  # each cut may bare another
            query = query.strip(_EDGES)
            plain_query = simplified(query)
            head, tail = _QUERY_HEAD.match(plain_query), _QUERY_TAIL.search(plain_query)
            query = query[head.end() if head else 0 : tail.start() if tail else len(query)]
        query = query.strip(_EDGES)
    if not query or any(query.endswith(path.rsplit("/", 1)[-1]) for path in paths):
        return None
    where = match["where"]
    return Wish("search", paths[:1] or ((where.rstrip("/"),) if where else _folder(text, plain)), query)


def _folder(text: str, plain: str) -> tuple[str, ...]:
    match = _FOLDER.search(plain)
    if match is None:
        return ()
    group = match.lastindex or 0
    folder = text[match.start(group) : match.end(group)].rstrip("/")
    return () if not folder or _NO_FOLDER.fullmatch(simplified(folder)) else (folder,)
