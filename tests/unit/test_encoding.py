"""Bytes to text and back without a loss."""

import codecs

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from paicli.errors import ToolFailed
from paicli.tools.encoding import BinaryFile, decode

TEXTS = {
    "utf-8": ["", "plain\n", "中文 ü 😀\n", "\ufeff".join("ab")],
    "gb18030": ["你好，世界\n", "// 打印结果\nint x;\n", "名", "# 配置文件\nname = 张三\n"],
    "cp932": ["こんにちは\n", "# 日本語のコメント\nx = 1\n", "テスト\n", "設定ファイル\n"],
    "euc_jp": ["こんにちは世界\n", "# 日本語のコメント\n"],
    "big5": ["繁體中文測試\n", "這是一個測試檔案，請勿刪除\n"],
    "euc_kr": ["안녕하세요 세계\n", "# 한국어 주석입니다\n"],
    "latin_1": ["café\n", "naïve façade déjà vu\n", "élan vital\n", "größe = 1\nstraße\n"],
    "cp1252": ["“smart” quotes — dash\n", "price 5€\n"],
    "cp1251": ["Привет мир\n", "# комментарий к коду\n"],
    "koi8_r": ["Привет мир\n", "# комментарий к коду\n"],
}


@pytest.mark.parametrize(("name", "text"), [(n, t) for n, texts in TEXTS.items() for t in texts])
def test_the_encoding_is_found(name, text):
    decoded = decode(text.encode(name))
    assert (decoded.text, decoded.encoding.name) == (text, name)


@pytest.mark.parametrize("name", ["utf-8", "utf-16-le", "utf-16-be", "utf-32-le", "utf-32-be"])
def test_a_byte_order_mark_belongs_to_the_file(name):
    mark = getattr(codecs, f"BOM_{name.upper().replace('-', '', 1).replace('-', '_')}")
    decoded = decode(mark + "text 中\r\n".encode(name))
    assert decoded.text == "text 中\r\n"
    assert decoded.encoding.encode("new") == mark + "new".encode(name)


@pytest.mark.parametrize(
    "data",
    [
        b"\x7fELF\x02\x01\x01\x00",
        b"a\0b",
        b"\x89PNG\r\n\x1a\n\xff\xd8",
        bytes(range(1, 256)),
        codecs.BOM_UTF16_LE + b"a\0b",
        codecs.BOM_UTF16_LE + b"\0\xd8a\0",
    ],
)
def test_binary_is_refused(data):
    with pytest.raises(BinaryFile):
        decode(data)


def test_a_broken_byte_in_utf8_stays_what_it_is():
    data = "注释 中文 ".encode() + b"\xe9 more\n"
    decoded = decode(data)
    assert decoded.encoding.encode(decoded.text) == data
    assert decoded.encoding.label == "UTF-8 with invalid bytes"


@pytest.mark.parametrize(
    ("text", "new"), [("café\n", "中"), ("こんにちは\n", "😀"), ("привет мир\n", "中")]
)
def test_what_the_encoding_cannot_hold_is_refused(text, new):
    name = {"c": "latin_1", "こ": "cp932", "п": "cp1251"}[text[0]]
    encoding = decode(text.encode(name)).encoding
    with pytest.raises(ToolFailed, match="cannot hold"):
        encoding.encode(text + new)


@settings(max_examples=500, deadline=None)
@given(st.binary(max_size=200))
def test_any_bytes_come_back_or_are_binary(data):
    try:
        decoded = decode(data)
    except BinaryFile:
        return
    assert decoded.encoding.encode(decoded.text) == data


@settings(max_examples=200, deadline=None)
@given(st.text("ab cé“ü中文あア한\r\n", max_size=30), st.sampled_from([*TEXTS, "utf-16"]))
def test_any_text_comes_back(text, name):
    try:
        data = text.encode(name)
        decoded = decode(data)
    except (UnicodeEncodeError, BinaryFile):
        return
    assert decoded.encoding.encode(decoded.text) == data
