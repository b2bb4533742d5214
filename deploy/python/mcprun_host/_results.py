"""Results, as mcprun prints them. data has the whole JSON object, also what later versions of mcprun add."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, cast

from ._errors import McprunError, ScriptError


def _text(data: dict[str, Any], key: str) -> str:
    value = data.get(key)
    return value if isinstance(value, str) else ""


def _number(data: dict[str, Any], key: str) -> float:
    value = data.get(key)
    return value if isinstance(value, (int, float)) else 0


def part(data: dict[str, Any], key: str) -> dict[str, Any]:
    """Return a member that is an object, or an empty one."""
    value = data.get(key)
    return cast(dict[str, Any], value) if isinstance(value, dict) else {}


def parts(data: dict[str, Any], key: str) -> list[dict[str, Any]]:
    """Return the objects of a member that is a list."""
    value = data.get(key)
    items = cast(list[Any], value) if isinstance(value, list) else []
    return [cast(dict[str, Any], item) for item in items if isinstance(item, dict)]


def _texts(data: dict[str, Any], key: str) -> list[str]:
    value = data.get(key)
    return [item for item in cast(list[Any], value) if isinstance(item, str)] if isinstance(value, list) else []


@dataclass(frozen=True)
class Call:
    """A call that a script made."""

    tool: str
    outcome: str
    duration_ms: float
    data: dict[str, Any] = field(repr=False)

    @classmethod
    def of(cls, data: dict[str, Any]) -> Call:
        return cls(_text(data, "tool"), _text(data, "outcome"), _number(data, "durationMs"), data)


@dataclass(frozen=True)
class Run:
    """A run that ended by itself. result is the script's value, output and stderr what it printed, error why it failed. workflow is the id of the
    workflow that it was, or empty."""

    result: Any
    output: str
    error: str | None
    exit_code: int
    stderr: str
    sandbox: str
    duration_ms: float
    calls: list[Call]
    files: list[str]
    warnings: list[str]
    customer: str
    session: str
    workflow: str
    data: dict[str, Any] = field(repr=False)

    @property
    def success(self) -> bool:
        """Whether the script ended with exit code 0."""
        return self.exit_code == 0 and self.error is None

    def check(self) -> Run:
        """Return the run, or raise ScriptError if the script failed."""
        if not self.success:
            raise ScriptError(self.error or f"the script ended with exit code {self.exit_code}", exit_code=self.exit_code, cause=_text(self.data, "cause"), data=self.data)
        return self

    @classmethod
    def of(cls, data: dict[str, Any]) -> Run:
        thrown, logged, code = part(data, "error"), part(data, "logged"), int(_number(data, "exitCode"))
        error = f"{_text(thrown, 'name')}: {_text(thrown, 'message')}" if thrown else None
        if error is None and code != 0:
            error = _text(data, "message") or f"the script ended with exit code {code}"
        return cls(
            data.get("result"), _text(data, "stdout"), error, code, _text(data, "stderr"), _text(data, "sandbox"), _number(data, "durationMs"),
            [Call.of(c) for c in parts(data, "calls")], _texts(data, "files"), _texts(data, "warnings"), _text(logged, "customer"), _text(logged, "session"),
            _text(data, "workflow"), data,
        )


@dataclass(frozen=True)
class Task:
    """What came of a task in words. selection says which tools were found and selected; script is the last one that was written."""

    task: str
    result: Any
    output: str
    error: str | None
    selection: dict[str, Any]
    script: str
    attempts: list[dict[str, Any]]
    data: dict[str, Any] = field(repr=False)
    failure: McprunError | None = field(default=None, repr=False)

    @property
    def success(self) -> bool:
        """Whether the task was done."""
        return self.error is None

    def check(self) -> Task:
        """Return the task, or raise why it was not done: a ScriptError if its script failed, else the error of mcprun."""
        if self.failure is not None:
            raise self.failure
        if self.error is not None:
            raise ScriptError(self.error, exit_code=int(_number(part(self.data, "run"), "exitCode")), cause="error", data=self.data)
        return self

    @classmethod
    def of(cls, data: dict[str, Any], failure: McprunError | None = None) -> Task:
        script = _text(data, "script") or _text(part(data, "script"), "code")
        return cls(_text(data, "task"), data.get("result"), _text(data, "output"), _text(data, "error") or None, part(data, "selection"), script, parts(data, "attempts"), data, failure)


class Outcome(tuple[Any, str, "str | None"]):
    """A triple of result, output and error, which also has them by name, and in details all that mcprun said."""

    details: dict[str, Any]

    def __new__(cls, result: Any, output: str, error: str | None, details: dict[str, Any]) -> Outcome:
        self = super().__new__(cls, (result, output, error))
        self.details = details
        return self

    @property
    def result(self) -> Any:
        return self[0]

    @property
    def output(self) -> str:
        return self[1]

    @property
    def error(self) -> str | None:
        return self[2]

    @property
    def success(self) -> bool:
        return self[2] is None


@dataclass(frozen=True)
class Customer:
    """A customer's folder."""

    id: str
    dir: str
    last_used: str
    sessions: int
    data: dict[str, Any] = field(repr=False)

    @classmethod
    def of(cls, data: dict[str, Any]) -> Customer:
        return cls(_text(data, "customer"), _text(data, "dir"), _text(data, "lastUsed"), int(_number(data, "sessionCount")), data)


@dataclass(frozen=True)
class Session:
    """A session. records is its log, if it was asked for by id."""

    id: str
    customer: str
    began: str
    last_used: str
    records: list[dict[str, Any]]
    data: dict[str, Any] = field(repr=False)

    @classmethod
    def of(cls, data: dict[str, Any], records: list[dict[str, Any]] | None = None) -> Session:
        return cls(_text(data, "session"), _text(data, "customer"), _text(data, "began"), _text(data, "lastUsed"), records or [], data)


@dataclass(frozen=True)
class Wait:
    """What a workflow waits for. kind is "sleep", "wait" or "ask", topic the topic or question, until a time, or empty."""

    kind: str
    topic: str
    until: str

    @classmethod
    def of(cls, data: dict[str, Any]) -> Wait:
        return cls(_text(data, "kind"), _text(data, "for"), _text(data, "until"))


@dataclass(frozen=True)
class Workflow:
    """A workflow. ended is empty, and result and error None, until it has ended. steps are there if it was asked for by id.

    Texts and the result have no personal data. runs says that a process runs it or waits with it; else resume continues it.
    """

    id: str
    name: str
    customer: str
    state: str
    runs: bool
    created: str
    ended: str
    waits: list[Wait]
    steps: list[dict[str, Any]]
    result: Any
    error: str | None
    data: dict[str, Any] = field(repr=False)

    @classmethod
    def of(cls, data: dict[str, Any]) -> Workflow:
        outcome = part(data, "outcome")
        error = _text(outcome, "message") or f"the workflow ended with exit code {outcome['exitCode']}" if outcome.get("exitCode") else None
        return cls(
            _text(data, "id"), _text(data, "name"), _text(data, "customer"), _text(data, "state"), data.get("runs") is True, _text(data, "created"), _text(data, "ended"),
            [Wait.of(w) for w in parts(data, "waits")], parts(data, "steps"), outcome.get("result"), error, data,
        )
