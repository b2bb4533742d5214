"""The program mcprun as a process."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Generator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Literal, cast

from ._errors import McprunError, ProgramNotFoundError, ProtocolError, RunnerError, RunTimeoutError, failure
from ._results import part

PersonalData = Literal["off", "output", "bridge"]

START = 60.0  # seconds beyond a run's time-out in which mcprun connects to servers and starts the sandbox
_GRACE = 10.0  # seconds that mcprun has to end a run after it was told to


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


def _json(value: Any) -> str:
    try:
        return json.dumps(value, allow_nan=False)
    except (TypeError, ValueError, RecursionError) as error:
        raise RunnerError(f"a value is not JSON: {error}", hint="pass what JSON can hold") from error


@contextmanager
def files(**values: Any) -> Generator[list[str], None, None]:
    """Write the values that are not None to files that only this user can read, and yield the flags that name them.

    In arguments they would be shown by every list of processes, and could not be long.
    """
    texts = {name: _json(value) for name, value in values.items() if value is not None}
    with ExitStack() as open_until_read:
        flags: list[str] = []
        try:
            for name, text in texts.items():
                folder = open_until_read.enter_context(TemporaryDirectory(prefix="mcprun-"))
                file = Path(folder, name)
                file.write_text(text, encoding="utf-8")
                flags.append(f"--{name}={'@' if name == 'input' else ''}{file}")
        except OSError as error:
            raise RunnerError(f"a value cannot be written to a file: {error}", hint="see whether the folder for temporary files is full") from error
        yield flags


class Program:
    """Starts mcprun. No shell is involved: arguments are passed as a list."""

    def __init__(
        self,
        program: str | None,
        cwd: str | os.PathLike[str] | None,
        config: Sequence[str | os.PathLike[str]],
        env: Mapping[str, str] | None,
        trust_config: bool,
        pii: PersonalData | None,
    ) -> None:
        self._program = _find(program)
        self._cwd = None if cwd is None else os.fspath(cwd)
        self._config = [f"--config={os.fspath(file)}" for file in config]
        self._trust = ["--trust-config"] if trust_config else []
        self._pii = pii
        self._env = {**os.environ, **(env or {})}

    def flags(self, *, timeout: float | None = None, model: bool = False, **values: str | None) -> list[str]:
        """Return the flags of a command that runs something. model says that a model reads what the script gets, too."""
        pii = [] if self._pii is None else ["--restore-pii"] if model and self._pii == "off" else [f"--pii={self._pii}"]
        out = ["--json", *self._config, *self._trust, *pii, *(f"--{name}={value}" for name, value in values.items() if value is not None)]
        return out if timeout is None else [*out, f"--timeout={round(timeout * 1000)}ms"]

    def ask(self, command: list[str], *args: str, customer: str | None = None) -> dict[str, Any]:
        """Return what a command says that runs nothing."""
        of = [] if customer is None else [f"--customer={customer}"]
        data, error = self.call([*command, "--json", *self._config, *of, "--", *args], "", START)
        if error is not None:
            raise error
        return data

    def tell(self, command: list[str], *args: str, value: Any = None, options: Sequence[str] = ()) -> None:
        """Run a command that says nothing. value is on its standard input."""
        _, error = self.call([*command, *self._config, *options, "--", *args], _json(value), START, silent=True)
        if error is not None:
            raise error

    def call(self, command: list[str], text: str, deadline: float | None, silent: bool = False) -> tuple[dict[str, Any], McprunError | None]:
        """Start mcprun and return the JSON object that it prints, and the error for how it ended, if that is one."""
        try:
            process = subprocess.Popen(
                [self._program, *command], cwd=self._cwd, env=self._env, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, encoding="utf-8", errors="replace"
            )
        except (OSError, ValueError) as error:  # the latter: a NUL in an argument
            raise RunnerError(f"mcprun cannot be started: {error}", hint="see whether cwd exists and the arguments are short") from error
        with process:
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
        if not isinstance(data, dict) or not data and code == 0 and not silent:
            return {}, ProtocolError("mcprun printed no JSON object", exit_code=code, hint=f"is {self._program} the program mcprun?")
        found = cast(dict[str, Any], data)
        cause, ran = found.get("cause"), part(found, "run")
        if cause is None and ran.get("exitCode") == code:  # of a task whose script has ended
            cause = ran.get("cause")
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
