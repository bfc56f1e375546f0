"""Requests that need no plan: one short look at something. When in doubt, there is a plan.

This only spares a plan; it grants nothing. The answer is found with the rights of exploring, so
even a request that is misread here cannot change a byte.
"""

from __future__ import annotations

import re

# Texts, compiled at their first use: most sessions plan nothing.
_LONGEST_CHINESE = 30
_LONGEST_ENGLISH = 80
_CHINESE = "[\u3400-\u9fff\uf900-\ufaff]"
_LOOKS_CHINESE = "列出|查看|查找|读取|读一下|显示|搜索|展示|看看|看一下|统计|有哪些|有什么|有多少|是什么|在哪|哪里|哪个|为什么|解释"
_MORE_CHINESE = "然后|并|再|最后|同时|先|之后|接着|以及|随后|顺便|完后|后把|把|将|请帮我[^列查读显搜展看统解]|[;；。]."
_CHANGES_CHINESE = (
    "写|改|删|建|增|加|移|挪|换|装|修|提交|推送|合并|拉取|运行|执行|跑|测试一下|生成|存|重构|优化|实现|更新|升级"
    "|复制|拷贝|清|格式化|编译|构|部署|启动|停|关闭|设|变|转|导出|输出到|下载|上传|发|做|开发|补|翻译|调|撤|回滚|追"
)
_LOOKS_ENGLISH = (
    r"(?i)(?:please |can you |could you |pls )?"
    r"(?:list|show|display|print|read|view|find|search|grep|count|explain|describe|what|what's|which|where|where's"
    r"|who|why|how many|how does|how is|is there|are there|look at|look for|tell me)\b"
)
_MORE_ENGLISH = (
    r"(?i)\b(?:and|then|after|afterwards|also|finally|first|before|next|once|while|to|into|onto|so|but|if|unless)\b"
    r"|[;>|&`$]|\bdo\b|[.?!]\s"
)
_CHANGES_ENGLISH = (
    r"(?i)\b(?:writ|wrote|chang|creat|add|delet|remov|renam|mov|edit|modif|updat|upgrad|replac|fix|repair|refactor|rewrit"
    r"|install|uninstall|commit|push|merg|pull|rebas|run|execut|launch|start|stop|kill|build|compil|deploy|generat|mak"
    r"|implement|optimi[sz]|format|convert|copy|clean|clear|sav|stor|dump|export|upload|download|set|reset|revert"
    r"|undo|apply|appl|append|insert|truncat|overwrit|touch|mkdir|rm|mv|cp|chmod|sed|tee|git|npm|pip|sudo|drop"
    r"|migrat|translat|improv|enabl|disabl|bump|sort|clon|initiali|scaffold|put|turn|get rid|patch|correct)"
    r"(?:e|es|ed|en|er|s|ing|ting|ning|ping|y|ies|ied|ten|ation|ations)?\b"
)


def is_simple_read(request: str) -> bool:
    """Tell whether a request is one short question that only reads, in English or in Chinese."""
    text = request.strip()
    if not text or "\n" in text:
        return False
    more: tuple[str, ...] = (_MORE_ENGLISH, _CHANGES_ENGLISH)
    if re.search(_CHINESE, text):
        longest, looks = _LONGEST_CHINESE, re.search(_LOOKS_CHINESE, text)
        more = (*more, _MORE_CHINESE, _CHANGES_CHINESE)
    else:
        longest, looks = _LONGEST_ENGLISH, re.match(_LOOKS_ENGLISH, text)
    return len(text) <= longest and looks is not None and not any(re.search(m, text) for m in more)
