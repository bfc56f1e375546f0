"""The words of the command line, read into options."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import NoReturn

from paicli import __version__
from paicli.errors import ConfigError
from paicli.i18n import t
from paicli.options import Options, project_folder
from paicli.policy.modes import Mode
from paicli.text import clean, one_line

OUTPUT_FORMATS = ("text", "json", "stream-json")


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        raise ConfigError(t("cli.usage", reason=message))


def doctor(arguments: Sequence[str]) -> tuple[Path, str]:
    """Return the folder and the provider that `paicli doctor` is asked about. Raises ConfigError."""
    parsed = _doctor_parser().parse_args(arguments)
    return project_folder(parsed.cwd), parsed.provider


def read(arguments: Sequence[str]) -> tuple[Options, dict[str, str]]:
    """Return what is asked for, and the variables that are set. Raises ConfigError."""
    parsed, others = _parser().parse_known_args(arguments)
    headless = parsed.print is not None
    prompts = [text for text in (parsed.print, parsed.prompt) if text]
    if unknown := [word for word in others if word.startswith("-")]:
        words = " ".join(map(one_line, unknown))
        raise ConfigError(t("cli.usage", reason=t("cli.no_option", words=words)))
    if others or len(prompts) > 1:
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
        root=project_folder(parsed.cwd),
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
    return options, {name: value for name, value in overrides.items() if value}


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
