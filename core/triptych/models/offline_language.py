"""The offline model's languages: telling the script of a text, and the sentences it speaks in each."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Literal

from triptych.formats.notices import notice_pattern
from triptych.layers.clear import RECOMMENDED_PLACEHOLDER, ROBUST_PLACEHOLDER
from triptych.layers.prune import NOTICE
from triptych.layers.summarize import ACKNOWLEDGEMENTS, PREFIXES
from triptych.layers.truncate import LESSON_NOTICE, ROBUST_NOTICE

Script = Literal["en", "zh-Hans", "zh-Hant"]
SCRIPTS: tuple[Script, ...] = ("en", "zh-Hans", "zh-Hant")

CJK = "\u3400-\u4dbf\u4e00-\u9fff"
"""For a character class: what is read by pairs of characters and streamed one by one."""

LONGEST_QUOTE = 200
"""Characters of a value called quote or query at most."""

# Traditional and simplified, in pairs.
_PAIRS = (
    "讀读說说話话語语詞词誰谁請请記记訊讯訂订單单號号證证認认識识試试該该詳详調调談谈論论講讲譯译議议變变讓让這这"
    "邊边過过還还進进運运達达遠远連连適适選选遲迟個个們们麼么為为嗎吗對对開开關关門门問问間间聞闻閱阅時时會会來来"
    "東东車车長长點点電电燈灯無无檔档樣样機机條条寫写學学師师書书畫画當当發发現现實实際际從从應应態态憶忆愛爱樂乐"
    "歡欢歲岁歷历氣气漢汉減减測测溫温潔洁灣湾煙烟熱热燒烧爾尔牆墙獨独獲获環环產产異异療疗盡尽監监盤盘眾众碼码確确"
    "禮礼種种稱称穩稳窮穷競竞筆笔節节簡简籤签糧粮約约紅红紀纪紙纸級级細细終终組组結结絕绝給给統统經经綠绿維维網网"
    "線线練练總总績绩繼继續续繩绳聯联聲声職职聽听腦脑與与興兴舊旧艙舱藍蓝藥药蘭兰處处虛虚蟲虫術术衛卫補补裝装"
    "見见規规視视親亲覺觉觀观計计討讨許许訪访設设診诊誤误課课誼谊諾诺護护讚赞貓猫財财貨货買买費费貴贵資资賓宾賣卖"
    "質质賬账贏赢趕赶跡迹踐践軟软載载較较輪轮輸输轉转辦办農农郵邮鄉乡醫医針针釘钉鈴铃銀银鋼钢錄录錢钱錯错鍵键鎖锁"
    "鎮镇鐘钟鐵铁閉闭閃闪陽阳陸陆隊队險险隨随隱隐雖虽雙双雜杂離离難难霧雾靈灵頁页頂顶項项順顺預预領领頭头題题顏颜"
    "額额願愿類类顧顾顯显風风飛飞飯饭飲饮館馆馬马駕驾駛驶驗验驚惊魚鱼鮮鲜鳥鸟鹽盐麗丽黃黄齊齐龍龙嚴严國国園园圖图"
    "團团圓圆場场塊块報报執执壓压壞坏壺壶夠够夢梦媽妈嬰婴孫孙寶宝將将專专尋寻導导屬属島岛嶺岭幣币帶带幫帮庫库廠厂"
    "廣广廳厅張张強强彈弹擔担據据擇择換换揮挥損损搖摇擊击擴扩攜携攝摄敗败敘叙數数斷断晝昼曉晓暫暂業业極极構构槍枪"
    "樓楼標标橋桥檢检權权櫃柜欄栏殘残殺杀滅灭滿满漁渔濕湿潛潜灘滩災灾爐炉爭争狀状獎奖畢毕皺皱盜盗礙碍禍祸積积築筑"
    "簽签納纳純纯編编緣缘縣县縮缩織织罰罚羅罗義义習习脫脱腳脚艦舰莊庄葉叶蓋盖蘇苏蘋苹蝦虾訓训評评詢询詩诗譜谱豐丰"
    "貝贝負负貢贡責责貼贴賀贺賞赏購购賽赛輔辅輕轻輛辆鄰邻釋释鑰钥陣阵陳陈雞鸡響响頓顿養养餘余駐驻騎骑鬧闹麥麦"
    "鏡镜鏈链鯨鲸鷗鸥鷺鹭纜缆錨锚體体傳传價价億亿備备傷伤僅仅優优儲储兒儿兩两冊册凍冻劃划則则創创劇剧動动務务勝胜"
    "勞劳勢势區区協协卻却參参吳吴員员啟启喚唤嘗尝噸吨囑嘱堅坚墊垫塵尘墜坠壯壮奧奥婦妇宮宫寧宁審审層层歸归屆届崗岗"
    "峽峡慣惯慮虑憂忧戰战戲戏戶户拋抛掃扫擺摆擋挡攔拦暢畅桿杆棄弃棧栈槳桨樁桩樹树歐欧沒没決决涼凉淺浅淚泪湯汤溝沟"
    "滾滚漲涨潤润澤泽濟济濤涛濱滨瀏浏灑洒爺爷狹狭疊叠礦矿稅税窩窝籃篮籠笼緊紧緒绪縫缝繞绕繪绘罷罢膠胶臨临舉举訴诉"
    "賠赔贈赠趙赵軍军辭辞遞递遺遗釣钓閘闸闊阔陰阴階阶韓韩頻频飄飘餅饼鴨鸭嶼屿嵐岚岡冈"
)
# Their simplified form is also written in traditional text, so it tells no script apart.
_ALIKE = (
    "裡里裏里後后復复複复範范製制鬆松麵面錶表闆板於于採采遊游雲云幾几佔占準准衝冲註注誌志昇升瞭了穀谷迴回鬥斗髮发隻只臺台祕秘黴霉週周"
    ""
)
_SIMPLIFY = str.maketrans(dict(zip(_PAIRS[::2] + _ALIKE[::2], _PAIRS[1::2] + _ALIKE[1::2], strict=True)))
_TRADITIONAL = frozenset(_PAIRS[::2] + _ALIKE[::2])
_SIMPLIFIED = frozenset(_PAIRS[1::2]) - frozenset(_PAIRS[::2])

_FILE_NAME = re.compile(r"(?<![\w./\\-])[\w./\\-]+\.[A-Za-z0-9]+", re.ASCII)
# What layers and the text protocol put in, whatever the talk's language is.
_PUT_IN = re.compile(
    "|".join(
        [
            *(re.escape(text.strip()) for text in (*PREFIXES, *ACKNOWLEDGEMENTS, RECOMMENDED_PLACEHOLDER)),
            *(
                notice_pattern(each.strip()).pattern
                for each in (LESSON_NOTICE, ROBUST_NOTICE, ROBUST_PLACEHOLDER, NOTICE)
            ),
            r"\[工具 [^\]\n]{1,160}? 執行結果\]：",
        ]
    )
)
_CJK_RUN = re.compile(f"[{CJK}]")
_LETTER = re.compile(r"[^\W\d_]")
_ENGLISH = re.compile(
    r"\b(what|who|which|where|when|why|how|the|is|are|was|do|does|did|can|could|read|open|show|look|list|search|find|"
    r"please|my|i|i'm|remember|tell|in|of)\b",
    re.IGNORECASE,
)


def simplified(text: str) -> str:
    """The text in simplified characters, each standing where it stood, so that one rule reads both scripts."""
    return text.translate(_SIMPLIFY)


def script_of(texts: Iterable[str]) -> Script:
    """The script of the first text that tells one; of Chinese that could be either, simplified.

    Notices, placeholders and the like that are known tell none.
    """
    undecided = False
    for text in texts:
        plain = _FILE_NAME.sub(" ", _PUT_IN.sub(" ", text))
        letter = _LETTER.search(plain)
        if letter is None:
            continue
        chinese = _CJK_RUN.search(plain)
        if chinese is None or (not _CJK_RUN.match(letter[0]) and _ENGLISH.search(plain[: chinese.start()])):
            return "zh-Hans" if undecided else "en"
        traditional = sum(character in _TRADITIONAL for character in plain)
        simple = sum(character in _SIMPLIFIED for character in plain)
        if traditional != simple:
            return "zh-Hant" if traditional > simple else "zh-Hans"
        undecided = True
    return "zh-Hans" if undecided else "en"


_PHRASES: dict[str, tuple[str, str, str]] = {
    "hello": (
        "I am the offline model: no network, no key, and I know only the messages of this request. Ask me to read, "
        "list or search files, tell me something to remember, or ask about what is in these messages.",
        "我是离线模型：不联网，不用密钥，只知道这次请求里的消息。可以让我读文件、列出文件、搜索一个词，告诉我要记住的事，"
        "或者问这些消息里的内容。",
        "我是離線模型：不連網路，不用金鑰，只知道這次請求裡的訊息。可以請我讀檔案、列出檔案、搜尋一個詞，告訴我要記住的事，"
        "或者問這些訊息裡的內容。",
    ),
    "no_pictures": (
        "I cannot see pictures: of this message I have only the text.",
        "我看不到图片：这条消息我只读得到文字。",
        "我看不到圖片：這則訊息我只讀得到文字。",
    ),
    "noted": (
        "Noted. It is message {index} of my context, and I know it for as long as it stays there.",
        "记下了。它是我上下文里的消息 {index}，只要它还在，我就知道。",
        "記下了。它是我上下文裡的訊息 {index}，只要它還在，我就知道。",
    ),
    "answer": (
        "“{quote}” — {place}.",
        "“{quote}” —— {place}。",
        "「{quote}」 —— {place}。",
    ),
    "unknown": (
        "Nothing in my context answers this.",
        "我的上下文里没有能回答这个问题的内容。",
        "我的上下文裡沒有能回答這個問題的內容。",
    ),
    "unknown_there": (
        "Nothing in {place} answers this. It begins “{quote}”.",
        "{place}里没有能回答这个问题的内容。它的开头是“{quote}”。",
        "{place}裡沒有能回答這個問題的內容。它的開頭是「{quote}」。",
    ),
    "not_whole": (
        "Not whole any more: {places}. You can ask me to read again.",
        "已经不完整：{places}。可以让我重新读取。",
        "已經不完整：{places}。可以請我重新讀取。",
    ),
    "read_line": (
        "{name} has one line: “{quote}”.",
        "{name} 只有一行：“{quote}”。",
        "{name} 只有一行：「{quote}」。",
    ),
    "read_lines": (
        "{name} has {lines} lines and begins “{quote}”.",
        "{name} 共 {lines} 行，开头是“{quote}”。",
        "{name} 共 {lines} 行，開頭是「{quote}」。",
    ),
    "read_part": (
        "{name} begins “{quote}”, but {part} was left out; what I have is {lines} lines.",
        "{name} 的开头是“{quote}”，但{part}被省略了；我手里有 {lines} 行。",
        "{name} 的開頭是「{quote}」，但{part}被省略了；我手裡有 {lines} 行。",
    ),
    "empty": ("{name} holds nothing at all.", "{name} 里什么也没有。", "{name} 裡什麼也沒有。"),
    "gone": (
        "The result for {name} was cleared, so I cannot say what was in it.",
        "{name} 的结果已被清理，我说不出里面是什么。",
        "{name} 的結果已被清理，我說不出裡面是什麼。",
    ),
    "failed": (
        "{name}: the tool refused: “{quote}”.",
        "{name}：工具拒绝了：“{quote}”。",
        "{name}：工具拒絕了：「{quote}」。",
    ),
    "listed": (
        "Files here, {lines}: {names}.",
        "这里的文件，{lines} 个：{names}。",
        "這裡的檔案，{lines} 個：{names}。",
    ),
    "listed_part": (
        "Of the files here I have {lines}: {names}; {part} was left out.",
        "这里的文件，我手里有 {lines} 个：{names}；{part}被省略了。",
        "這裡的檔案，我手裡有 {lines} 個：{names}；{part}被省略了。",
    ),
    "listed_none": ("There are no files here.", "这里没有文件。", "這裡沒有檔案。"),
    "hits": (
        "Lines with “{query}”: {lines}. The first, {name}: “{quote}”.",
        "含有“{query}”的行：{lines}。第一行，{name}：“{quote}”。",
        "含有「{query}」的行：{lines}。第一行，{name}：「{quote}」。",
    ),
    "hits_none": ("No line holds “{query}”.", "没有一行含有“{query}”。", "沒有一行含有「{query}」。"),
    "left_out": (
        "Here {part} was left out.",
        "这里{part}被省略了。",
        "這裡{part}被省略了。",
    ),
    "none_whole": (
        "Not one whole line is left here: {part} was left out.",
        "这里没有留下一个完整的行：{part}被省略了。",
        "這裡沒有留下一個完整的行：{part}被省略了。",
    ),
    "more": ("Results besides these: {lines}.", "此外还有结果 {lines} 个。", "此外還有結果 {lines} 個。"),
    "no_tool": (
        "This request offers me no tool for that.",
        "这次请求没有给我做这件事的工具。",
        "這次請求沒有給我做這件事的工具。",
    ),
    "which": (
        "Which file? Name it, or ask me to list the files.",
        "哪个文件？请说出它的名字，或者让我列出文件。",
        "哪個檔案？請說出它的名字，或者請我列出檔案。",
    ),
}

_WORDS: dict[str, tuple[str, str, str]] = {
    "message": ("message {index}, {kind}", "消息 {index}，{kind}", "訊息 {index}，{kind}"),
    "named": ("{place} ({name})", "{place}（{name}）", "{place}（{name}）"),
    "lost": ("message {index} ({name}, {state})", "消息 {index}（{name}，{state}）", "訊息 {index}（{name}，{state}）"),
    "user": ("user", "用户", "使用者"),
    "assistant": ("assistant", "助手", "助手"),
    "system": ("system", "系统", "系統"),
    "result": ("tool result", "工具结果", "工具執行結果"),
    "summary": ("summary", "摘要", "摘要"),
    "other": ("other", "其他", "其他"),
    "cleared": ("cleared", "已清理", "已清理"),
    "pruned": ("pruned", "已裁剪", "已裁剪"),
    "cut": ("cut", "已截断", "已截斷"),
    "beginning": ("the beginning", "开头", "開頭"),
    "middle": ("the middle", "中间", "中間"),
    "end": ("the end", "结尾", "結尾"),
    "comma": (", ", "、", "、"),
    "gap": (" ", "", ""),
}


def say(phrase: str, script: Script, /, **values: object) -> str:
    """A sentence or word in the language of `script`. Values are put in as they are."""
    template = (_PHRASES.get(phrase) or _WORDS[phrase])[SCRIPTS.index(script)]
    return template.format(**values)


def _pattern(template: str) -> re.Pattern[str]:
    """What finds the sentence again, whatever its values were; a value may hold stops, so the last one must end it."""
    pattern = re.sub(r"\\\{(quote|query)\\\}", rf"(?P<\1>[^\\n]{{1,{LONGEST_QUOTE}}}?)", re.escape(template))
    pattern = re.sub(r"\\\{(\w+)\\\}", r"(?P<\1>[^\\n“”「」]{1,2500}?)", pattern)
    return re.compile("^" * template.startswith("{") + pattern + r"(?=\s|$)" * template.endswith("."), re.MULTILINE)


_OWN = {
    name: tuple(_pattern(template) for template in templates)
    for name, templates in sorted(_PHRASES.items(), key=lambda item: -len(item[1][0]))
}


_NO_ANSWERS = ("unknown_there", "failed")
"""What these quote tells what was not found."""


def is_own(phrase: str, text: str) -> bool:
    """Whether `text` holds this sentence of the offline model, in any language."""
    return any(pattern.search(text) for pattern in _OWN[phrase])


def without_own_words(text: str) -> tuple[str, list[str]]:
    """What is left of an answer without the offline model's own sentences, and what those had quoted as known."""
    quotes: list[str] = []
    for name, patterns in _OWN.items():
        for pattern in patterns:
            if "quote" in pattern.groupindex and name not in _NO_ANSWERS:
                quotes += [match["quote"] for match in pattern.finditer(text)]
            text = pattern.sub("\n", text)
    return text, quotes
