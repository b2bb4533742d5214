"""Errors, made from the exit code and the cause of a run."""

from __future__ import annotations

from typing import Any


class McprunError(Exception):
    """What mcprun could not do. hint says what to do about it; data is the JSON object that it printed, if it did."""

    def __init__(self, message: str, *, exit_code: int = 125, cause: str = "failed", hint: str = "", data: dict[str, Any] | None = None) -> None:
        super().__init__(message + (f" ({hint})" if hint else ""))
        self.message = message
        self.exit_code = exit_code
        self.cause = cause
        self.hint = hint
        self.data: dict[str, Any] = data or {}


class ProgramNotFoundError(McprunError):
    """The program mcprun is not there."""


class ProtocolError(McprunError):
    """mcprun printed something else than one JSON object."""


class RunTimeoutError(McprunError):
    """A time limit was reached: of the run (exit code 124), or the deadline of the call."""


class RunnerError(McprunError):
    """mcprun could not do its work: configuration, usage, sandbox (125)."""


class RefusedError(McprunError):
    """The script was refused before it ran: by the policy, a person or the sandbox, or the configuration is not trusted (126)."""


class NoSandboxError(McprunError):
    """There is no such sandbox, or no interpreter in it (127)."""


class InterruptedRunError(McprunError):
    """The run was interrupted (130, 143)."""


class LimitError(McprunError):
    """The run reached a limit other than its time (137): cause is "memory", "cpu", "processes", "output", "disk" or "file size"."""


class ScriptError(McprunError):
    """The script itself failed: raised by Run.check()."""


_LIMITS = ("memory", "cpu", "processes", "output", "disk", "file size")


def failure(exit_code: int, cause: str, message: str, hint: str = "", data: dict[str, Any] | None = None) -> McprunError | None:
    """Return the error for how mcprun ended, or None if the script ended by itself."""
    kinds = {124: RunTimeoutError, 126: RefusedError, 127: NoSandboxError, 130: InterruptedRunError, 137: LimitError, 143: InterruptedRunError}
    if cause in ("exit", "error"):
        return None
    kind: type[McprunError]
    if cause == "timeout":
        kind = RunTimeoutError
    elif cause in _LIMITS:
        kind = LimitError
    elif cause == "interrupted":
        kind = InterruptedRunError
    elif cause == "bridge":
        kind = RunnerError
    else:
        kind = kinds.get(exit_code, RunnerError)
    return kind(message or f"mcprun ended with exit code {exit_code}", exit_code=exit_code, cause=cause, hint=hint, data=data)
