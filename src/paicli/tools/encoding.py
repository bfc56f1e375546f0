"""Bytes to text and back, as the file is: its encoding, its byte order mark, its very bytes.

UTF-8 comes first, then what a byte order mark says, then an encoding whose typical characters the
bytes show. Whatever is chosen must give the same bytes back, or the file counts as binary.
"""

from __future__ import annotations

import codecs
import re
from dataclasses import dataclass

from paicli.errors import ToolFailed

_MARKS = (
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
    (codecs.BOM_UTF8, "utf-8"),
)
_CONTROLS = re.compile(rb"[\x00-\x07\x0e-\x1a\x1c-\x1f\x7f]")
_HIGH = re.compile(rb"[\x80-\xff]+")
_SAMPLE_BYTES = 16_384
_SURE = 0.7

# Pairs of bytes that are everyday characters of a legacy encoding: its most used block and its
# punctuation. Where two claim the same bytes, the first one here wins.
_EVERYDAY = {
    "euc_jp": re.compile(rb"[\xa4\xa5][\xa1-\xf6]"),
    "cp932": re.compile(
        rb"(?:\x81[\x40-\x9a]|\x82[\x4f-\xf1]|\x83[\x40-\x96])|[\x88-\x97][\x40-\x7e\x80-\xfc]"
    ),
    "euc_kr": re.compile(rb"[\xb0-\xc8][\xa1-\xfe]"),
    "gb18030": re.compile(rb"[\xa1\xa3\xb0-\xd7][\xa1-\xfe]"),
    "big5": re.compile(rb"[\xa1\xa4-\xc6][\x40-\x7e\xa1-\xfe]"),
}
_KANA = _EVERYDAY["euc_jp"]
_RUSSIAN = re.compile("[а-яё]")
_SINGLE_BYTE = ["cp1253", "iso8859_7", "cp1255", "cp1256", "cp1250", "cp1252"]


class BinaryFile(ToolFailed):
    """The bytes are not text in any encoding that gives the same bytes back."""

    def __init__(self, message: str) -> None:
        super().__init__(message, "binary")


@dataclass(frozen=True, slots=True)
class Encoding:
    """How a text is kept in its file; `mark` is the byte order mark, which is not part of the text."""

    name: str = "utf-8"
    mark: bytes = b""
    errors: str = "strict"

    @property
    def label(self) -> str:
        """Return what is worth telling about it: empty for plain UTF-8."""
        if self.errors != "strict":
            return "UTF-8 with invalid bytes"
        name = {"cp932": "Shift-JIS", "latin_1": "Latin-1"}.get(
            self.name, self.name.upper().replace("_", "-")
        )
        if self.name == "utf-8":
            return "UTF-8 with BOM" if self.mark else ""
        return name

    def encode(self, text: str) -> bytes:
        """Return `text` as this file's bytes. Raises ToolFailed for what the encoding cannot hold."""
        try:
            return self.mark + text.encode(self.name, self.errors)
        except UnicodeEncodeError as error:
            character = text[error.start]
            raise ToolFailed(
                f"The file is kept in {self.label or 'UTF-8'}, which cannot hold "
                f"{ascii(character)[1:-1] if not character.isprintable() else character!r} "
                f"(U+{ord(character):04X}). Nothing was written. Use characters it can hold, or "
                "convert the file to UTF-8 first."
            ) from None


UTF8 = Encoding()


@dataclass(frozen=True, slots=True)
class Decoded:
    """A file's text and how it was kept."""

    text: str
    encoding: Encoding


def decode(data: bytes) -> Decoded:
    """Return the text of `data`. Raises BinaryFile when it is none."""
    for mark, name in _MARKS:
        if data.startswith(mark) and (decoded := _exactly(data, Encoding(name, mark))):
            return decoded
    if b"\0" in data:
        raise BinaryFile("It holds NUL bytes: a binary file, not text.")
    if decoded := _exactly(data, UTF8):
        return decoded
    for encoding in _candidates(data):
        if decoded := _exactly(data, encoding):
            return decoded
    raise BinaryFile("Its bytes are not text in any known encoding: a binary file.")


def _exactly(data: bytes, encoding: Encoding) -> Decoded | None:
    """Decode and accept only what leads back to the same bytes."""
    try:
        text = data[len(encoding.mark) :].decode(encoding.name, encoding.errors)
        if "\0" in text or encoding.encode(text) != data:
            return None
    except (UnicodeDecodeError, ToolFailed):
        return None
    return Decoded(text, encoding)


def _candidates(data: bytes) -> list[Encoding]:
    """Return the encodings that bytes which are not UTF-8 may be in, the likeliest first."""
    if _CONTROLS.search(data):
        return []
    sample = b"\n".join(line for line in data.split(b"\n") if not line.isascii())[:_SAMPLE_BYTES]
    if _mostly_utf8(sample):
        return [Encoding(errors="surrogateescape")]
    return [Encoding(name) for name in (*_pairs(data, sample), *_single(sample))]


def _mostly_utf8(sample: bytes) -> bool:
    text = sample.decode("utf-8", "surrogateescape")
    broken = len(re.findall("[\udc80-\udcff]", text))
    whole = sum(character > "\x7f" for character in text) - broken
    return whole > broken


def _pairs(data: bytes, sample: bytes) -> list[str]:
    """Return the East Asian encodings whose everyday characters make up most of the sample."""
    if len(re.findall(_KANA, sample)) * 5 < sum(map(len, _HIGH.findall(sample))) / 2:
        names = [name for name in _EVERYDAY if name != "euc_jp"]
    else:
        names = list(_EVERYDAY)
    shares: dict[str, float] = {}
    for name in names:
        try:
            text = sample.decode(name, "strict" if len(sample) < _SAMPLE_BYTES else "ignore")
        except UnicodeDecodeError:
            continue
        foreign = sum(character > "\x7f" for character in text)
        shares[name] = _everyday(name, text) / foreign if foreign else 0.0
    sure = [name for name in names if shares.get(name, 0.0) >= _SURE]
    if "euc_kr" in sure and (shares["euc_kr"] < 1 or len(_HIGH.findall(data)) < 2):
        sure.remove("euc_kr")
    return sorted(sure, key=lambda name: -round(shares[name], 1))


def _everyday(name: str, text: str) -> int:
    pattern = _EVERYDAY[name]
    count = 0
    for character in text:
        if character > "\x7f":
            count += pattern.fullmatch(character.encode(name, "ignore")) is not None
    if name == "euc_jp":
        kanji = re.compile(rb"[\xa1\xb0-\xcf][\xa1-\xfe]")
        count += sum(
            kanji.fullmatch(character.encode(name, "ignore")) is not None
            for character in text
            if character > "\x7f"
        )
    return count


def _single(sample: bytes) -> list[str]:
    """Return the encodings of one byte a character: by their words, else Western European."""
    runs = [len(run) for run in _HIGH.findall(sample)]
    western = ["latin_1"] if re.search(rb"[\x80-\x9f]", sample) is None else ["cp1252", "latin_1"]
    if sum(size for size in runs if size > 2) * 2 < sum(runs):
        return western
    for name in ("cp1251", "koi8_r"):
        text = sample.decode(name, "ignore")
        if len(_RUSSIAN.findall(text)) >= _SURE * sum(character > "\x7f" for character in text):
            return [name, *western]
    from charset_normalizer import from_bytes

    guesses = [match.encoding for match in from_bytes(sample, cp_isolation=_SINGLE_BYTE)]
    return [*guesses, *western]
