"""Everything that can go wrong on purpose.

    PaiCliError                one line for the person, never a traceback
    ├── ConfigError            wrong usage or configuration; exit code 2
    ├── PolicyDenied           a guard or a reviewer said no; told to the model
    ├── ToolFailed             a tool could not do its work; told to the model
    ├── EditError              an edit did not apply; `reason` is its class
    ├── PlanError              the model's plan cannot be used; told to the model
    └── ModelError             the model could not be asked, or did not answer
        ├── ModelUnreachable   no connection, no route, a timeout; exit code 75
        ├── ModelRefused       the server answered with an error; `status`
        ├── StreamInterrupted  the reply broke off
        └── EmptyReply         the reply was complete and held nothing

Any other exception is a bug: the person sees one line, the log has the traceback.
"""

from __future__ import annotations


class PaiCliError(Exception):
    """Base of all expected failures; `str(error)` is a complete sentence for its reader."""


class ConfigError(PaiCliError):
    """Wrong usage, or a setting whose value makes no sense."""


class PolicyDenied(PaiCliError):
    """A guard or a reviewer refused; the message tells the model what to do instead."""


class ToolFailed(PaiCliError):
    """A tool could not do what was asked; the message is for the model.

    `reason` says to the person in a word what it was: `missing`, `binary`, `arguments`,
    `unknown_tool`, `changed`, or nothing.
    """

    def __init__(self, message: str, reason: str = "") -> None:
        super().__init__(message)
        self.reason = reason


class EditError(PaiCliError):
    """An edit does not apply to the file.

    `reason` is one of `empty`, `not_found`, `ambiguous`, `partial_char`, `noop`, `too_large`.
    """

    def __init__(self, message: str, reason: str) -> None:
        super().__init__(message)
        self.reason = reason


class PlanError(PaiCliError):
    """A plan is not what plans must be; the message tells the model what to repair."""


class ModelError(PaiCliError):
    """The model could not be asked, or its answer cannot be used.

    `retryable`: the same request may succeed later. `retry_after`: seconds the server asked
    us to wait, if it did. `context_overflow`: the conversation is too long for the model.
    """

    def __init__(
        self,
        message: str,
        *,
        retryable: bool = False,
        retry_after: float | None = None,
        context_overflow: bool = False,
    ) -> None:
        super().__init__(message)
        self.retryable = retryable
        self.retry_after = retry_after
        self.context_overflow = context_overflow


class ModelUnreachable(ModelError):
    """No answer could be had from the server: no route, TLS, proxy, timeout."""


class ModelRefused(ModelError):
    """The server answered with an error: an HTTP status, or an error object in the stream."""

    def __init__(
        self,
        message: str,
        *,
        status: int | None = None,
        retryable: bool = False,
        retry_after: float | None = None,
        context_overflow: bool = False,
    ) -> None:
        super().__init__(
            message,
            retryable=retryable,
            retry_after=retry_after,
            context_overflow=context_overflow,
        )
        self.status = status


class StreamInterrupted(ModelError):
    """The stream ended without `[DONE]` and without a finish_reason."""


class EmptyReply(ModelError):
    """The reply was complete but held no text, no reasoning and no call."""
