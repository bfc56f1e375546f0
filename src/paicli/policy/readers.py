"""Programs that only read, as data: which of their options are known to do nothing else.

An option that is not listed here makes a command one for the review, and so does anything unusual.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from paicli.policy.shell_words import Word

PATHS, PATTERN, WORDS, NONE = "paths", "pattern", "words", "none"
"""What the operands are: paths; a pattern and then paths; any words; there must be none."""


@dataclass(frozen=True, slots=True)
class Reader:
    """One program. `letters`: short options; those behind the colon take a value that is no path.

    `names`: long options; with `=` at the end they take such a value. `most`: how many operands at
    most. `pattern_options` replace the pattern operand. `first`: what the first operand must look like.
    `builtin`: the shell itself does it.
    """

    letters: str = ""
    names: str = ""
    operands: str = PATHS
    most: int = 10_000
    pattern_options: frozenset[str] = frozenset()
    first: re.Pattern[str] | None = None
    builtin: bool = False
    numbers: bool = False
    """`-5` is an option."""
    files: bool = False
    """Folders are not among its operands: it would read what links in them lead to."""


_GREP = Reader(
    "ivnrlLcowxhHEFGPsqabz:ABCme",
    "ignore-case invert-match line-number recursive files-with-matches files-without-match count "
    "only-matching word-regexp line-regexp no-filename with-filename extended-regexp fixed-strings "
    "basic-regexp perl-regexp no-messages quiet text color= colour= color include= exclude= "
    "exclude-dir= after-context= before-context= context= max-count= regexp=",
    PATTERN,
    pattern_options=frozenset({"e", "regexp"}),
    numbers=True,
)
_SUM = Reader("bt", "binary text tag")
_SED_PRINTS = re.compile(r"(\d+|\$)(,(\d+|\$))?p(;\s*(\d+|\$)(,(\d+|\$))?p)*|/[\w .-]+/p")
_JQ_PLAIN = re.compile(
    r"(?!.*\b(?:import|include|env|input_filename|debug|halt)\b)(?!.*\$)[^\x00]*", re.S
)

READERS: dict[str, Reader] = {
    "ls": Reader(
        "aAbBcCdfFgGhiklmnNopqQrRsStuUvxXZ1",
        "all almost-all author block-size= classify color= color directory escape file-type full-time "
        "group-directories-first human-readable hide= ignore= inode kibibytes no-group numeric-uid-gid "
        "quote-name recursive reverse size si sort= time= time-style= width= format= indicator-style=",
    ),
    "cat": Reader("AbeEnstTuv", "show-all number-nonblank show-ends number squeeze-blank show-tabs"),
    "head": Reader("qvz:nc", "lines= bytes= quiet silent verbose", numbers=True),
    "tail": Reader("qvz:nc", "lines= bytes= quiet silent verbose", numbers=True),
    "wc": Reader("cmlLw", "bytes chars lines words max-line-length"),
    "nl": Reader("p:bdfhilnsvw"),
    "tac": Reader("br:s"),
    "rev": Reader(),
    "cut": Reader("nsz:bcdf", "bytes= characters= delimiter= fields= complement only-delimited output-delimiter="),
    "tr": Reader("cCdst", "complement delete squeeze-repeats truncate-set1", WORDS),
    "sort": Reader(
        "bdfgiMhnrRuVcCsz:kt",
        "ignore-leading-blanks dictionary-order ignore-case numeric-sort human-numeric-sort reverse "
        "version-sort unique key= field-separator= stable check",
    ),
    "uniq": Reader("cdDiuz:fsw", "count repeated ignore-case unique skip-fields= skip-chars=", most=1),
    "comm": Reader("123", "nocheck-order check-order total", most=2),
    "cmp": Reader("bls:n", "print-bytes verbose silent quiet", most=2),
    "diff": Reader(
        "qsubBwiyaEtpd:UCW",
        "brief report-identical-files unified= unified ignore-space-change "
        "ignore-blank-lines ignore-all-space ignore-case side-by-side color= color width= exclude= "
        "minimal text strip-trailing-cr suppress-common-lines",
        most=2,
        files=True,
    ),
    "paste": Reader("sz:d"),
    "fold": Reader("bs:w"),
    "column": Reader("tx:scN"),
    "strings": Reader("af:nte"),
    "od": Reader("bcdoxv:AtNj"),
    "hexdump": Reader("bcCdoxv:ns"),
    "xxd": Reader("abeiup:clgs", most=1),
    "md5sum": _SUM,
    "sha1sum": _SUM,
    "sha256sum": _SUM,
    "sha512sum": _SUM,
    "cksum": Reader(),
    "stat": Reader("ftx:c", "format= printf= terse file-system"),
    "file": Reader("bhikLNr", "brief mime mime-type mime-encoding no-dereference"),
    "du": Reader("abcdhkmsSx:dt", "all apparent-size bytes total human-readable max-depth= summarize exclude= si"),
    "df": Reader("ahHikPTm:", "human-readable print-type total", NONE),
    "tree": Reader("adfhipsugDCnNQrtvJ:LIP", "dirsfirst noreport filelimit= gitignore prune du"),
    "basename": Reader("az:s", "multiple suffix= zero", WORDS),
    "dirname": Reader("z", "zero", WORDS),
    "realpath": Reader("ems", "canonicalize-existing canonicalize-missing no-symlinks"),
    "readlink": Reader("efmn", "canonicalize no-newline"),
    "grep": _GREP,
    "egrep": _GREP,
    "fgrep": _GREP,
    "rg": Reader(
        "isSvnNlcowxFpPUuaHI.0:egtTABCmMdj",
        "ignore-case case-sensitive smart-case invert-match line-number no-line-number files-with-matches "
        "files-without-match count count-matches only-matching word-regexp line-regexp fixed-strings "
        "multiline hidden no-ignore files no-heading heading json stats sort= sortr= color= colors= "
        "glob= iglob= type= type-not= type-list after-context= before-context= context= max-count= "
        "max-depth= max-columns= max-filesize= regexp= no-filename with-filename text pcre2 column vimgrep trim",
        PATTERN,
        pattern_options=frozenset({"e", "regexp", "files", "type-list"}),
    ),
    "sed": Reader("nEr", "quiet silent regexp-extended", PATTERN, first=_SED_PRINTS),
    "jq": Reader(
        "rcSesnMjaC",
        "raw-output compact-output sort-keys exit-status slurp null-input monochrome-output tab",
        PATTERN,
        first=_JQ_PLAIN,
    ),
    "date": Reader("uRI", "utc universal rfc-email iso-8601= iso-8601", WORDS, 1, first=re.compile(r"\+.*", re.S)),
    "uname": Reader("asnrvmpio", "all", NONE),
    "whoami": Reader(operands=NONE),
    "id": Reader("unGgr", operands=NONE),
    "nproc": Reader("", "all", NONE),
    "uptime": Reader("ps", "pretty since", NONE),
    "free": Reader("bkmghtw", "human total", NONE),
    "which": Reader("a", "", WORDS),
    "echo": Reader("neE", "", WORDS, builtin=True),
    "printf": Reader("", "", WORDS, builtin=True),
    "pwd": Reader("LP", "", NONE, builtin=True),
    "true": Reader("", "", WORDS, builtin=True),
    "false": Reader("", "", WORDS, builtin=True),
    "type": Reader("aftpP", "", WORDS, builtin=True),
}  # fmt: skip

VERSION_QUERIES: frozenset[tuple[str, ...]] = frozenset({
    *((name, "--version") for name in (
        "python", "python3", "node", "javac", "gcc", "g++", "clang", "ruby", "git", "bash", "make", "cmake",
        "perl", "php", "rg", "jq", "java",
    )),
    ("python", "-V"), ("python3", "-V"), ("node", "-v"), ("java", "-version"), ("javac", "-version"),
})  # fmt: skip

_FIND_ALONE = frozenset({
    "-print", "-print0", "-empty", "-not", "!", "-o", "-or", "-a", "-and", "-prune", "(", ")", "-readable",
    "-writable", "-executable", "-true", "-false", "-ls", "-quit", "-nouser", "-nogroup", "-depth", "-xdev", "-mount",
})  # fmt: skip
_FIND_VALUED = frozenset({
    "-name", "-iname", "-path", "-ipath", "-wholename", "-regex", "-iregex", "-type", "-maxdepth", "-mindepth",
    "-size", "-mtime", "-mmin", "-atime", "-amin", "-ctime", "-cmin", "-perm", "-user", "-group", "-regextype",
    "-printf", "-links", "-uid", "-gid",
})  # fmt: skip


@dataclass(frozen=True, slots=True)
class Operands:
    """What a reading command reads: paths that must lie in the project; `whole` False: not understood."""

    paths: tuple[Word, ...] = ()
    whole: bool = True


_NOT_UNDERSTOOD = Operands(whole=False)


def operands(reader: Reader, arguments: tuple[Word, ...]) -> Operands:
    """Return the paths among the arguments when every option is a known one."""
    found: list[Word] = []
    pattern = reader.operands == PATTERN
    at = 0
    while at < len(arguments):
        text = arguments[at].text
        at += 1
        if text == "--":
            found += arguments[at:]
            break
        if text == "-" or not text.startswith("-"):
            found.append(arguments[at - 1])
            continue
        used = _option(reader, text)
        if used is None:
            return _NOT_UNDERSTOOD
        name, takes_next = used
        at += takes_next
        pattern = pattern and name not in reader.pattern_options
    if len(found) > reader.most or (reader.operands == NONE and found):
        return _NOT_UNDERSTOOD
    if reader.first is not None and found and not reader.first.fullmatch(found[0].text):
        return _NOT_UNDERSTOOD
    if pattern:
        found = found[1:]
    return Operands(() if reader.operands == WORDS else tuple(found))


def _option(reader: Reader, text: str) -> tuple[str, int] | None:
    """Return an option's name and whether its value is the next word; None when it is not known."""
    if text.startswith("--"):
        name, equals, _ = text[2:].partition("=")
        known = reader.names.split()
        if equals:
            return (name, 0) if name + "=" in known else None
        if name in known:
            return name, 0
        return (name, 1) if name + "=" in known else None
    if reader.numbers and text[1:].isdigit():
        return "", 0
    alone, _, valued = reader.letters.partition(":")
    used = ""
    for place, letter in enumerate(text[1:], start=2):
        if letter in valued:
            return letter, int(place == len(text))
        if letter not in alone:
            return None
        used = letter
    return used, 0


def find_operands(arguments: tuple[Word, ...]) -> Operands:
    """Return where `find` starts when every test is one that only looks."""
    at = 0
    while at < len(arguments) and not arguments[at].text.startswith(("-", "!", "(")):
        at += 1
    starts = arguments[:at]
    while at < len(arguments):
        text = arguments[at].text
        if text in _FIND_VALUED:
            at += 1
        elif text not in _FIND_ALONE:
            return _NOT_UNDERSTOOD
        at += 1
    return Operands(starts)
