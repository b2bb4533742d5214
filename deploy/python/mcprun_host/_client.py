"""The program mcprun as a class."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from typing import Any, cast

from ._errors import McprunError, ProgramNotFoundError, ProtocolError, RunTimeoutError, failure
from ._results import Customer, Run, Session, Task, parts, part

_GRACE = 10.0  # seconds that mcprun has to end a run after it was told to
_START = 60.0  # seconds beyond a run's time-out in which mcprun connects to servers and starts the sandbox


def _find(program: str | None) -> str:
    named = program or os.environ.get("MCPRUN") or "mcprun"
    found = shutil.which(named)
    if found is None:
        raise ProgramNotFoundError(
            f"the program {named!r} was not found", exit_code=127, hint="install mcprun, put it on PATH, or name it with the variable MCPRUN or the argument program"
        )
    if os.name == "nt" and found.lower().endswith((".cmd", ".bat")):  # a shell would read the arguments
        raise ProgramNotFoundError(f"{found} is a script of the shell", exit_code=127, hint="name mcprun.exe itself, with the variable MCPRUN or the argument program")
    return found


class Mcprun:
    """Runs mcprun. No shell is involved: arguments are passed as a list, and code on standard input.

    program is the path of mcprun; None: the variable MCPRUN, else mcprun on PATH. cwd is the project's folder. config are files of servers,
    instead of the project's own. env is added to the environment. trust_config runs what the configuration names without asking.

    Methods raise a McprunError if mcprun does not come to a result. Objects may be used by several threads.
    """

    def __init__(
        self,
        program: str | None = None,
        *,
        cwd: str | os.PathLike[str] | None = None,
        config: Sequence[str | os.PathLike[str]] = (),
        env: Mapping[str, str] | None = None,
        trust_config: bool = False,
    ) -> None:
        self._program = _find(program)
        self._cwd = None if cwd is None else os.fspath(cwd)
        self._config = [f"--config={os.fspath(file)}" for file in config]
        self._trust = ["--trust-config"] if trust_config else []
        self._env = {**os.environ, **(env or {})}

    def run(
        self,
        code: str,
        *,
        language: str | None = None,
        args: Sequence[str] = (),
        variables: Mapping[str, Any] | None = None,
        customer: str | None = None,
        session: str | None = None,
        task: str | None = None,
        sandbox: str | None = None,
        timeout: float | None = None,
        memory: str | None = None,
        options: Sequence[str] = (),
        deadline: float | None = None,
    ) -> Run:
        """Run a script. A script that fails is a Run with an error; Run.check() raises it.

        language is "typescript" or "python"; None: detected. variables are JSON values. timeout is the time of the script in seconds;
        deadline that of the whole call, which is timeout and a minute if there is a timeout. options are further flags, such as "--dry-run".
        """
        command = ["run", "-", "--json", *self._config, *self._trust]
        for name, value in {"language": language, "customer": customer, "session": session, "task": task, "sandbox": sandbox, "memory": memory}.items():
            if value is not None:
                command.append(f"--{name}={value}")
        if timeout is not None:
            command.append(f"--timeout={round(timeout * 1000)}ms")
        command += [f"--var={name}={json.dumps(value)}" for name, value in (variables or {}).items()]
        command += [*options, "--", *args]
        if deadline is None and timeout is not None:
            deadline = timeout + _START
        data, error = self._call(command, code, deadline)
        if error is not None:
            raise error
        return Run.of(data)

    def task(
        self,
        text: str,
        *,
        language: str | None = None,
        customer: str | None = None,
        session: str | None = None,
        plan: bool = False,
        options: Sequence[str] = (),
        deadline: float | None = None,
    ) -> Task:
        """Do a task in words: find tools, have a model write a script, and run it. plan stops before the script runs.

        A task that fails is a Task with an error, if mcprun came so far as to say what it selected or wrote.
        """
        command = ["task", "--json", *self._config, *self._trust]
        for name, value in {"language": language, "customer": customer, "session": session}.items():
            if value is not None:
                command.append(f"--{name}={value}")
        if plan:
            command.append("--plan")
        command += [*options, " " + text if text.startswith("-") else text]
        data, error = self._call(command, "", deadline)
        if error is not None and not isinstance(data.get("task"), str):
            raise error
        return Task.of(data)

    def customers(self) -> list[Customer]:
        """List the customers. Before the first run for one, mcprun says so in an error."""
        return [Customer.of(c) for c in parts(self._ask(["workspace", "list", "--json", *self._config]), "customers")]

    def customer(self, id: str) -> Customer:
        """Return one customer, with its sessions in data."""
        return Customer.of(self._ask(["workspace", "show", "--json", *self._config, "--", id]))

    def sessions(self, customer: str | None = None) -> list[Session]:
        """List sessions, the most recently used first."""
        of = [] if customer is None else [f"--customer={customer}"]
        return [Session.of(s) for s in parts(self._ask(["session", "list", "--json", *self._config, *of]), "sessions")]

    def session(self, id: str, customer: str | None = None) -> Session:
        """Return a session with its log."""
        of = [] if customer is None else [f"--customer={customer}"]
        data = self._ask(["session", "show", "--json", *self._config, *of, "--", id])
        return Session.of(part(data, "session"), parts(data, "records"))

    def _ask(self, command: list[str]) -> dict[str, Any]:
        data, error = self._call(command, "", _START)
        if error is not None:
            raise error
        return data

    def _call(self, command: list[str], text: str, deadline: float | None) -> tuple[dict[str, Any], McprunError | None]:
        """Start mcprun and return the JSON object that it prints, and the error for how it ended, if that is one."""
        with subprocess.Popen(
            [self._program, *command], cwd=self._cwd, env=self._env, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, encoding="utf-8", errors="replace"
        ) as process:
            late = False
            try:
                out, err = process.communicate(text, timeout=deadline)
            except subprocess.TimeoutExpired:
                late = True
                process.terminate()  # mcprun ends the run and its calls
                try:
                    out, err = process.communicate(timeout=_GRACE)
                except subprocess.TimeoutExpired:
                    process.kill()
                    out, err = process.communicate()
            except BaseException:  # such as KeyboardInterrupt: nothing goes on behind the caller's back
                process.terminate()
                try:
                    process.wait(timeout=_GRACE)
                except subprocess.TimeoutExpired:
                    process.kill()
                raise
        code = process.returncode if process.returncode >= 0 else 128 - process.returncode  # as a shell says it
        message, hint = _said(err)
        try:
            data: Any = json.loads(out) if out.strip() else {}
        except ValueError:
            data = None
        if late:
            return {}, RunTimeoutError(f"mcprun did not end within {deadline:g} s", exit_code=124, cause="timeout", data=cast(dict[str, Any], data) if isinstance(data, dict) else None)
        if not isinstance(data, dict) or not data and code == 0:
            return {}, ProtocolError("mcprun printed no JSON object", exit_code=code, hint=f"is {self._program} the program mcprun?")
        found = cast(dict[str, Any], data)
        cause = found.get("cause")
        if not isinstance(cause, str):
            cause = "exit" if code == 0 else "failed"
        said = found.get("message")
        return found, failure(code, cause, said if isinstance(said, str) and said else message, hint, found)


def _said(err: str) -> tuple[str, str]:
    """Return the last error and the last hint that mcprun printed for people."""
    lines = err.strip().splitlines()
    errors = [line.removeprefix("mcprun: ") for line in lines if line.startswith("mcprun: ")]
    hints = [line.removeprefix("hint: ") for line in lines if line.startswith("hint: ")]
    return errors[-1] if errors else "", hints[-1] if hints else ""
