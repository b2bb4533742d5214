"""The command mcprun workflow as a class."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any

from ._program import Program, files
from ._results import Run, Workflow, parts


class Workflows:
    """The workflows of a project: Mcprun.workflows. A workflow is known by its id."""

    def __init__(self, program: Program) -> None:
        self._program = program

    def run(
        self,
        file: str | os.PathLike[str],
        *,
        id: str | None = None,
        input: Any = None,
        variables: Mapping[str, Any] | None = None,
        customer: str | None = None,
        sandbox: str | None = None,
        timeout: float | None = None,
        options: Sequence[str] = (),
        deadline: float | None = None,
    ) -> Run:
        """Start the workflow in a file, and return how it ended. Run.workflow is its id.

        It may wait for days; after deadline seconds, mcprun is told to end, the error is a RunTimeoutError, and resume continues the workflow.
        timeout is the time of each part of it in seconds.
        """
        command = ["workflow", "run", *self._program.flags(id=id, customer=customer, sandbox=sandbox, timeout=timeout)]
        with files(vars=dict(variables) if variables else None, input=input) as given:
            return self._ended([*command, *given, *options, "--", os.fspath(file)], deadline)

    def resume(self, id: str, *, options: Sequence[str] = (), deadline: float | None = None) -> Run:
        """Continue a workflow whose process has ended, with the flags that it began with, and return how it ended."""
        return self._ended(["workflow", "resume", *self._program.flags(), *options, "--", id], deadline)

    def show(self, id: str) -> Workflow:
        """Return a workflow: its state, its steps, what it waits for, and how it ended."""
        return Workflow.of(self._program.ask(["workflow", "show"], id))

    def send(self, id: str, topic: str, value: Any = None) -> None:
        """Send a value to a workflow, whose waitFor(topic) returns it."""
        self._program.tell(["workflow", "send"], id, topic, "-", value=value)

    def answer(self, id: str, answer: Mapping[str, Any] | str, *, question: int | None = None) -> None:
        """Answer a question of a workflow: with the fields of its form, or with a text. question says which of several, from 1."""
        self._program.tell(["workflow", "answer"], id, "-", value=answer, options=_question(question))

    def decline(self, id: str, *, question: int | None = None) -> None:
        """Decline to answer a question of a workflow."""
        self._program.tell(["workflow", "answer"], id, options=["--decline", *_question(question)])

    def cancel(self, id: str) -> None:
        """Cancel a workflow."""
        self._program.tell(["workflow", "cancel"], id)

    def _ended(self, command: list[str], deadline: float | None) -> Run:
        data, error = self._program.call(command, "", deadline)
        if error is not None:
            raise error
        return Run.of(data)

    def list(self) -> Sequence[Workflow]:  # the last one, since it hides the type list
        """List the workflows, without their steps."""
        return [Workflow.of(w) for w in parts(self._program.ask(["workflow", "list"]), "workflows")]


def _question(number: int | None) -> list[str]:
    return [] if number is None else [f"--question={number}"]
