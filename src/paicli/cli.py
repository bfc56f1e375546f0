"""The command line: flags to one call, and the last place an error can reach."""

from __future__ import annotations

import argparse
import logging
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import NoReturn

from paicli import __version__, config, i18n
from paicli.errors import ConfigError, PaiCliError
from paicli.i18n import t
from paicli.options import Options
from paicli.policy.modes import Mode
from paicli.text import clean, visible

_log = logging.getLogger(__name__)

OUTPUT_FORMATS = ("text", "json", "stream-json")


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        raise ConfigError(t("cli.usage", reason=message))


def main(arguments: Sequence[str]) -> int:
    """Run PaiCLI and return its exit code. Never raises; a bug is one line and a log entry."""
    _open_closed_streams()
    try:
        return _run(arguments)
    except PaiCliError as error:
        _complain(str(error))
        return 2 if isinstance(error, ConfigError) else 1
    except (KeyboardInterrupt, BrokenPipeError):
        return 130
    except Exception as error:  # noqa: BLE001 - the edge: the person gets one line, the log the rest
        _log.exception("internal error")
        where = config.home_directory(os.environ) / "logs" / "paicli.log"
        _complain(t("cli.internal_error", error=f"{type(error).__name__}: {error}", log=where))
        return 1


def _open_closed_streams() -> None:
    """Put nothing where a standard stream was closed: the next file opened would take its place."""
    for descriptor, name in enumerate(("stdin", "stdout", "stderr")):
        if getattr(sys, name) is None:
            nothing = os.open(os.devnull, os.O_RDWR)
            if nothing != descriptor:
                os.dup2(nothing, descriptor)
                os.close(nothing)
            mode = "w" if descriptor else "r"
            stream = os.fdopen(descriptor, mode, encoding="utf-8", closefd=False)
            setattr(sys, name, stream)


def _complain(text: str) -> None:
    line = visible(text).replace("\n", " ")
    encoding = getattr(sys.stderr, "encoding", None) or "utf-8"
    try:
        print(
            f"paicli: {line.encode(encoding, 'backslashreplace').decode(encoding)}", file=sys.stderr
        )
    except (OSError, ValueError, AttributeError):
        pass  # nobody is there to read it


def _run(arguments: Sequence[str]) -> int:
    i18n.use(i18n.detect(os.environ))
    if arguments[:1] == ["doctor"]:
        parsed = _doctor_parser().parse_args(arguments[1:])
        from paicli import app

        return app.doctor(_root(parsed.cwd), parsed.provider)
    parsed = _parser().parse_args(arguments)
    headless = parsed.print is not None
    prompts = [text for text in (parsed.print, parsed.prompt) if text]
    if len(prompts) > 1:
        raise ConfigError(t("cli.usage", reason=t("cli.one_prompt")))
    if parsed.output_format != "text" and not headless:
        raise ConfigError(t("cli.usage", reason=t("cli.format_needs_p")))
    if parsed.approve_plan and not headless:
        raise ConfigError(t("cli.usage", reason=t("cli.approve_needs_p")))
    if parsed.approve_plan and parsed.mode not in (None, Mode.PLAN):
        raise ConfigError(t("cli.usage", reason=t("cli.approve_needs_plan")))
    options = Options(
        prompt=clean(prompts[0]) if prompts else "",
        headless=headless,
        output_format=parsed.output_format,
        mode=Mode(parsed.mode or ("plan" if parsed.approve_plan else "auto")),
        approve_plan=parsed.approve_plan,
        model=parsed.model,
        root=_root(parsed.cwd),
        continue_newest=parsed.continue_newest,
        resume=parsed.resume,
        allow=tuple(parsed.allow),
        demo=parsed.demo,
    )
    overrides = {
        "PAICLI_REACT_MAX_ITERATIONS": parsed.max_iterations,
        "PAICLI_REACT_TOKEN_BUDGET": parsed.token_budget,
    }
    if parsed.plain:
        overrides["PAICLI_SCREEN"] = "lines"
    from paicli import app

    return app.run(options, {name: value for name, value in overrides.items() if value})


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(
        prog="paicli",
        usage="paicli [-p] [PROMPT] [...]  |  paicli doctor",
        description=t("cli.description"),
        epilog=t("cli.epilog"),
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
        add_help=False,
    )
    add = parser.add_argument
    add("prompt", nargs="?", metavar="PROMPT", help=t("cli.help_prompt"))
    add("-p", "--print", nargs="?", const="", metavar="PROMPT", help=t("cli.help_print"))
    add("--output-format", choices=OUTPUT_FORMATS, default="text", help=t("cli.help_format"))
    add("--mode", choices=[mode.value for mode in Mode], help=t("cli.help_mode"))
    add("--approve-plan", action="store_true", help=t("cli.help_approve_plan"))
    add("--model", default="", metavar="MODEL", help=t("cli.help_model"))
    add("-C", "--cwd", default="", metavar="DIR", help=t("cli.help_cwd"))
    which = parser.add_mutually_exclusive_group()
    which.add_argument(
        "-c", "--continue", dest="continue_newest", action="store_true", help=t("cli.help_continue")
    )
    which.add_argument(
        "-r", "--resume", nargs="?", const="", metavar="ID", help=t("cli.help_resume")
    )
    add("--allow", action="append", default=[], metavar="COMMAND", help=t("cli.help_allow"))
    add("--max-iterations", metavar="N", help=t("cli.help_iterations"))
    add("--token-budget", metavar="N", help=t("cli.help_tokens"))
    add("--demo", action="store_true", help=t("cli.help_demo"))
    add("--plain", action="store_true", help=t("cli.help_plain"))
    add("--version", action="version", version=f"paicli {__version__}", help=t("cli.help_version"))
    add("-h", "--help", action="help", help=t("cli.help_help"))
    return parser


def _doctor_parser() -> argparse.ArgumentParser:
    parser = _Parser(prog="paicli doctor", description=t("cli.help_doctor"), add_help=False)
    parser.add_argument("--provider", default="", metavar="NAME", help=t("cli.help_probe"))
    parser.add_argument("-C", "--cwd", default="", metavar="DIR", help=t("cli.help_cwd"))
    parser.add_argument("-h", "--help", action="help", help=t("cli.help_help"))
    return parser


def _root(directory: str) -> Path:
    """Return the project's folder as a real path. Raises ConfigError when it is not there."""
    try:
        root = Path(directory or Path.cwd()).expanduser().resolve(strict=True)
        if not root.is_dir():
            raise ConfigError(t("cli.not_a_folder", path=root))
        os.scandir(root).close()
    except (OSError, ValueError, RuntimeError) as error:
        reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        raise ConfigError(t("cli.no_folder", path=directory or ".", reason=reason)) from None
    return root
