"""A person judges a plan: run it, add to it, edit it, drop it."""

from __future__ import annotations

import json
from collections.abc import Callable

from paicli.agent.plan import Plan, parse
from paicli.agent.plan_review import Choice, Judgement
from paicli.errors import PlanError
from paicli.i18n import t
from paicli.text import clean
from paicli.ui.question import Asker, Question
from paicli.ui.shown import Proposed, Shown

_RUNS = ("", "y", "yes", "run", "/run")
_DROPS = ("esc", "cancel", "/cancel", "n", "no", "q")


class PlanDialog(Question[Judgement]):
    """What becomes of a plan. `more` (requirements that are added) and `edit` (the plan itself) are written."""

    def __init__(self, plan: Plan, clock: Callable[[], float]) -> None:
        super().__init__(clock)
        self._plan = plan
        self._edited: Plan | None = None
        self._unfolded = False

    @property
    def body(self) -> Shown:
        """The plan."""
        return Proposed(self._edited or self._plan, whole=self._unfolded)

    def words(self, name: str) -> str:
        """Return the words of that name."""
        return t(f"plan.{name}")

    def _choose(self, key: str) -> None:
        match key:
            case "\r":
                self._decide(Judgement(Choice.RUN, plan=self._edited))
            case "i":
                self.step, self.text = "more", ""
            case "e":
                self.step, self.text, self.wants_editor = "edit", self._as_text(), True
            case "\x1b":
                self._decide(Judgement(Choice.DROP))

    def line(self, text: str) -> None:
        """Take a whole line: an empty one runs the plan, words that are no command are requirements."""
        word = text.strip().lower()
        if word in _RUNS:
            self.key("\r")
        elif word in _DROPS:
            self.key("\x1b")
        elif word == "/view":
            self.unfold()
        elif word != "i":
            self._add(text)
        else:
            self.key("i")

    def enter(self, text: str) -> None:
        """Take the entry line: requirements, or the changed plan."""
        if self.step == "more":
            self._add(text)
            return
        self.wants_editor = False
        try:
            changed = parse(clean(text))
        except PlanError as error:
            self.complaint, self.text = str(error), text
            return
        if changed != self._plan:
            self._edited = changed
        self._back()

    def _add(self, text: str) -> None:
        wanted = clean(text).strip()
        if wanted:
            self._decide(Judgement(Choice.REVISE, plan=self._edited, requirements=wanted))
        else:
            self._back()

    def refuse(self) -> None:
        """Leave the entry line; without one, drop the plan."""
        if self.step == "choose":
            self._decide(Judgement(Choice.DROP))
        else:
            self._back()

    def unfold(self) -> bool:
        """Show every task in full, with what was found out."""
        if self._unfolded:
            return False
        self._unfolded = True
        return True

    def _back(self) -> None:
        self.step, self.complaint, self.wants_editor = "choose", "", False

    def _as_text(self) -> str:
        return json.dumps((self._edited or self._plan).as_object(), indent=2, ensure_ascii=False)


class PlanPerson:
    """Implements `PlanReviewer` with the person at the terminal. Nobody there: the plan is dropped."""

    def __init__(self, asker: Asker) -> None:
        self._asker = asker

    async def review_plan(self, plan: Plan) -> Judgement:
        """Return what the person decides about the plan."""
        judgement = await self._asker.ask(lambda clock: PlanDialog(plan, clock))
        return judgement or Judgement(Choice.DROP)
