"""What mcprun does, as a class."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any

from ._program import START, PersonalData, Program, files
from ._results import Customer, Run, Session, Task, part, parts
from ._workflows import Workflows


class Mcprun:
    """Runs mcprun. No shell is involved: arguments are passed as a list, code on standard input, and variables in a file.

    program is the path of mcprun; None: the variable MCPRUN, else mcprun on PATH. cwd is the project's folder. config are files of servers,
    instead of the project's own. env is added to the environment. trust_config runs what the configuration names without asking. pii says what
    results, outputs and errors have of personal data: "off" the data itself, "output" and "bridge" tokens such as [EMAIL_1]; None: as the
    project says, or else "output". The model of a task reads tokens all the same, unless the option "--pii=off" is given.

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
        pii: PersonalData | None = None,
    ) -> None:
        self._program = Program(program, cwd, config, env, trust_config, pii)
        self.workflows = Workflows(self._program)

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
        command = ["run", "-", *self._program.flags(language=language, customer=customer, session=session, task=task, sandbox=sandbox, memory=memory, timeout=timeout)]
        if deadline is None and timeout is not None:
            deadline = timeout + START
        with files(vars=dict(variables) if variables else None) as given:
            data, error = self._program.call([*command, *given, *options, "--", *args], code, deadline)
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
        variables: Mapping[str, Any] | None = None,
        plan: bool = False,
        options: Sequence[str] = (),
        deadline: float | None = None,
    ) -> Task:
        """Do a task in words: find tools, have a model write a script, and run it. plan stops before the script runs.

        A task that fails is a Task with an error, if mcprun came so far as to select tools. Task.check() raises it.
        """
        command = ["task", *self._program.flags(model=True, language=language, customer=customer, session=session)]
        if plan:
            command.append("--plan")
        with files(vars=dict(variables) if variables else None) as given:
            data, error = self._program.call([*command, *given, *options, " " + text if text.startswith("-") else text], "", deadline)
        done = Task.of(data, error)
        if error is not None and (not done.selection or done.error is None):  # the latter: it was done, and could not be saved
            raise error
        return done

    def customers(self) -> list[Customer]:
        """List the customers. Before the first run for one, mcprun says so in an error."""
        return [Customer.of(c) for c in parts(self._program.ask(["workspace", "list"]), "customers")]

    def customer(self, id: str) -> Customer:
        """Return one customer, with its sessions in data."""
        return Customer.of(self._program.ask(["workspace", "show"], id))

    def sessions(self, customer: str | None = None) -> list[Session]:
        """List sessions, the most recently used first."""
        return [Session.of(s) for s in parts(self._program.ask(["session", "list"], customer=customer), "sessions")]

    def session(self, id: str, customer: str | None = None) -> Session:
        """Return a session with its log."""
        data = self._program.ask(["session", "show"], id, customer=customer)
        return Session.of(part(data, "session"), parts(data, "records"))
