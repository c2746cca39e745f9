"""What a question of the offline model's user is about, and which sentence answers it best."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import PurePosixPath

from triptych.models.offline_language import CJK, simplified
from triptych.models.offline_recall import Sentence, sentences_of
from triptych.models.offline_requests import is_question

_I = re.IGNORECASE

_STOP_WORDS = """
a about according actually again all already also am an and answer any anything are as at be been before by can
context could did do document documents does doing done each every everything exactly file files find for from get
give got had happen happened happens has have having he her here him his how i if in into is it its just kind know
let like line lines long look many may me mean means mention mentioned mentions message messages might mine much must
my need no not note noted notes number of on once one or our out please question read recall remember remind result
results said same say says see shall she should show so some something sort still such tell text than that the their
them then there these they thing things this those time to told too tool us use used uses very was we were what when
where which while who whom whose why will with would yes you your
"""
_STOP = frozenset(_STOP_WORDS.split())
# Question words and other words that are no topic. Of those of one character only such as are rarely part of another.
_STOP_CJK = re.compile(
    "什么时候|什么|甚么|谁|哪(?:些|个|里|儿|位|天|年|一天|一个)?|多少[钱个位人次]?|多[大久长高远]|第几|"
    "几(?:个|点|号|岁|年|天|位|次|只|条|颗|张)?|吗|呢|吧|啊|呀|怎么样|怎么办|怎么|怎样|如何|为什么|为何|是否|"
    "是不是|有没有|能不能|会不会|可不可以|请问|请|告诉|记得|知道|一下|刚才|刚刚|里面|(?<![公海])里|写了|写着|写|"
    "说了|说到|说|提到|关于|的人|文件|档案|内容|消息|讯息|编号|号码|数字|"
    f"(?<=[{CJK}][{CJK}])号(?=是|为|$)|[的了是在有个这那也和把被还你您们要]"
)
_NAME_CJK = re.compile("名字|姓名|全名|名叫|叫做|叫作|称呼|叫|姓(?=[^名氏])")
_ASKED = re.compile("tell me|let me know|find out|告诉我|想知道", _I)
_REMEMBER_CJK = re.compile("记住|记下|记得|别忘了?")
_NUMBER_CJK = re.compile("[零〇一二两三四五六七八九十百千万]+[年月日号点]")

# Who is spoken of.
_ME = re.compile(r"\b(?:i|me|my|mine|myself|i['’]m|i['’]ve)\b|我|咱|本人", _I)
_MINE = re.compile(r"\b(?:my|mine)\b|\b(?:am i|i am)\b|我(?:的|叫|姓|是|住|对|有|喜欢|爱|生日|家)|叫我", _I)
_YOU = re.compile(r"\b(?:you|your|yours|the user)\b|你|您|用户", _I)
_OTHERS = re.compile(r"\w['’]s\b|\b(?:his|her|their|its)\b|[^我]的", _I)
_MY_NAME = re.compile(
    r"\bmy (?:\w+ )?name\b|\bwho (?:am i|i am)\b|\bam i called\b|我(?:的名字|的姓名|的全名|叫|姓|是谁|名字)|称呼我", _I
)
_INTRODUCES = re.compile(
    r"\b[Mm]y (?:\w+ )?name\b|\b(?:I am|I['’]m|[Cc]all me)\s+[A-Z]|\b[Uu]ser(?:['’]s name| is called)"
    r"|我(?:的名字|的姓名|叫|姓|是)|叫我|用户(?:的名字|名叫|叫|姓)"
)

# What an answer should hold.
_WHO = re.compile(r"\bwho(?:m|se)?\b|谁|哪位", _I)
_NAME = re.compile(
    rf"(?<=[a-z,;] )[A-Z][a-z]|^(?!(?:The|A|An|It|In|On|At|This|That|He|She|They|We)\b)[A-Z][a-z]|[{CJK}]{{2}}"
)
_HOW_MANY = re.compile(
    r"\bhow\s+(?:many|much|old|long|far|tall|high|deep)\b|\bwhen\b|\bwhat\s+time\b|\bnumber\b"
    r"|多少|几|编号|号码|多[大久长高远]|什么时候|何时",
    _I,
)
_AMOUNT = re.compile(
    r"\d|\b(?:one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|dozen|twenty|thirty|forty|fifty|sixty|"
    r"hundred|thousand|noon|midnight|morning|evening|dusk|dawn|today|tomorrow|yesterday|\w+day|spring|summer|autumn|"
    r"winter)\b|[一二三四五六七八九十百千万两半零〇]|今天|明天|昨天|早上|中午|晚上",
    _I,
)

_TOKEN = re.compile(rf"\d+(?:[.,:]\d+)*|[^\W\d_{CJK}]+(?:['’][^\W\d_{CJK}]+)?|[{CJK}]+")
_CJK_RUN = re.compile(rf"[{CJK}]+")
_POSSESSIVE = re.compile(r"['’].*$")
_SUFFIX = re.compile(r"(?:ing|ed|es|s|e|y)$")
_STEM_LENGTH = 6
_INTRODUCED = "(name of the user)"

_THRESHOLD = 0.67
"""The share of a topic that a sentence must cover to be quoted."""
_ONE_CHARACTER = 0.75
_APART = 0.5
_ADJECTIVE = 0.3
_OTHER_TENSE = 0.3
_SOURCE = 0.6
_HEADED = 0.9
_UNEXPECTED = 0.7
_OWN_ANSWER = 0.05

_PAST = {
    form: verb
    for verb, forms in {
        "break": "broke broken",
        "bring": "brought",
        "build": "built",
        "buy": "bought",
        "come": "came",
        "find": "found",
        "give": "gave given",
        "hold": "held",
        "keep": "kept",
        "leave": "left",
        "lose": "lost",
        "make": "made",
        "name": "called named",
        "pay": "paid",
        "sell": "sold",
        "send": "sent",
        "take": "took taken",
        "write": "wrote written",
    }.items()
    for form in forms.split()
}
_PAST_MARK = "+"


def _stem(word: str) -> str:
    """A Latin word without its ending; the past tense has a mark, for "repaired" is no mere "repair"."""
    word = _POSSESSIVE.sub("", word.lower())
    past = _PAST_MARK if word in _PAST or (word.endswith("ed") and len(word) > 4) else ""
    word = _PAST.get(word, word)
    stem = _SUFFIX.sub("", word)
    return (stem if len(stem) >= 3 else word)[:_STEM_LENGTH] + past


@dataclass(frozen=True, slots=True)
class Topic:
    """What a question is about: its words with their weights.

    mine: the weight of its being about the user. expected: what an answer should hold, a name or an amount.
    """

    weights: Mapping[str, float]
    mine: float
    expected: re.Pattern[str] | None


def topic_of(question: str, leaving_out: Sequence[str] = ()) -> Topic:
    """The topic of a question; `leaving_out` are paths in it that say where to look, not what for."""
    plain = _asking(simplified(question))
    for path in map(simplified, leaving_out):
        name = PurePosixPath(path)
        for part in (path, name.name, name.stem, *re.findall(r"[^\W_]+", name.stem)):
            plain = re.sub(rf"(?<![a-z]){re.escape(part)}(?![a-z])", " ", plain, flags=_I)
    weights: dict[str, float] = {}
    if _MY_NAME.search(plain):
        weights[_INTRODUCED] = 1.0
        plain = _MY_NAME.sub(" my ", plain)
    before = ""
    for token in _TOKEN.findall(_NAME_CJK.sub(" name ", plain)):
        if _CJK_RUN.match(token):
            weights.update((number, 2.0) for number in _NUMBER_CJK.findall(token))
            runs = re.split("[我咱]|本人", _STOP_CJK.sub("我", _NUMBER_CJK.sub("我", token)))
            weights.update((run, len(run) / 2 if len(run) > 1 else _ONE_CHARACTER) for run in runs if run)
        elif token[0].isdigit():
            weights[token] = 2.0
        elif _POSSESSIVE.sub("", token.lower()) not in _STOP and (len(token) > 1 or token.isupper()):
            named = token[0].isupper() and before
            weights[_stem(token)] = _ADJECTIVE if before.lower() == "how" else 2.0 if named else 1.0
        before = token
    mine = 1.0 if _MINE.search(plain) else 0.5 if _ME.search(plain) else 0.0
    expected = _AMOUNT if _HOW_MANY.search(plain) else _NAME if _WHO.search(plain) else None
    return Topic(weights, mine, expected)


def _asking(text: str) -> str:
    """The part of a message that asks."""
    asking = " ".join(sentence for sentence in sentences_of(text) if is_question(sentence)) or text
    rest = _ASKED.split(asking)[-1]
    return rest if any(character.isalnum() for character in rest) else asking


def best_answer(topic: Topic, sentences: Sequence[Sentence]) -> Sentence | None:
    """The sentence that covers the topic best, the newest of equals; None where nothing covers enough of it.

    Where its heading was needed for that, the heading is in its text.
    """
    best, best_score = None, _THRESHOLD
    for sentence in sentences:
        score = _score(topic, sentence)
        if score >= best_score:
            best, best_score = sentence, score
    if best is None or not best.heading:
        return best
    own, heading = _covered(topic, best.text), _covered(topic, best.heading)
    needed = any(heading[token] > own[token] for token in topic.weights)
    return replace(best, text=f"{best.heading} … {best.text}") if needed else best


def _score(topic: Topic, sentence: Sentence) -> float:
    own, heading, source = (_covered(topic, text) for text in (sentence.text, sentence.heading, sentence.name))
    if not any(own.values()) and not (sentence.leads and any(heading.values())):
        return 0.0
    covered = sum(
        weight * max(own[token], _HEADED * heading[token], _SOURCE * source[token])
        for token, weight in topic.weights.items()
    )
    plain = simplified(sentence.text)
    if topic.mine:
        covered += topic.mine * _is_about_user(sentence, plain)
    score = covered / (sum(topic.weights.values()) + topic.mine)
    if topic.expected and not topic.expected.search(plain):
        score *= _UNEXPECTED
    # Its own earlier answer counts less than what that was taken from.
    return score - _OWN_ANSWER if sentence.kind == "assistant" else score


def _covered(topic: Topic, text: str) -> dict[str, float]:
    """How far a text covers each word of the topic, 0 to 1."""
    if not text:
        return dict.fromkeys(topic.weights, 0.0)
    plain = _REMEMBER_CJK.sub("", simplified(text))
    stems = {token if token[0].isdigit() else _stem(token) for token in _TOKEN.findall(plain)}
    words = stems | {stem.removesuffix(_PAST_MARK) for stem in stems} | set(_NUMBER_CJK.findall(plain))
    if _NAME_CJK.search(plain):
        words.add(_stem("name"))
    if _INTRODUCES.search(plain):
        words.add(_INTRODUCED)
    return {token: _share(token, words, plain) for token in topic.weights}


def _share(token: str, words: set[str], plain: str) -> float:
    if token in words:
        return 1.0
    if not _CJK_RUN.match(token):
        return _OTHER_TENSE if token.removesuffix(_PAST_MARK) in words else 0.0
    if _NUMBER_CJK.fullmatch(token):
        return 0.0
    return 1.0 if token in plain else _run_share(token, plain)


def _run_share(run: str, plain: str) -> float:
    """How much of a run of Chinese characters is in the text by pairs, side by side or, for less, a little apart.

    Half of it is how many characters are in such pairs, for the words; half how many pairs, for their order.
    """
    pairs = [_pair_share(run[at], run[at + 1], plain) for at in range(len(run) - 1)]
    if not pairs:
        return 0.0
    characters = map(max, [*pairs, 0.0], [0.0, *pairs])
    return (sum(pairs) / len(pairs) + sum(characters) / len(run)) / 2


def _pair_share(first: str, second: str, plain: str) -> float:
    if first + second in plain:
        return 1.0
    return _APART if re.search(f"{first}.{{1,2}}{second}", plain) else 0.0


def _is_about_user(sentence: Sentence, plain: str) -> bool:
    """Whether a sentence speaks of the user: where the user said it, unless it names another owner."""
    said_so = bool(_ME.search(plain)) or (sentence.kind != "user" and bool(_YOU.search(plain)))
    if sentence.kind in ("user", "summary"):
        return said_so or not _OTHERS.search(plain)
    return said_so and sentence.kind == "assistant"
