"""The names that users of other hosts know."""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ._client import Mcprun
from ._errors import McprunError, ProgramNotFoundError
from ._program import PersonalData
from ._results import Outcome


def _unused(settings: Mapping[str, object]) -> None:
    names = sorted(name for name, value in settings.items() if value is not None)
    if names:
        warnings.warn(f"no effect here: {', '.join(names)}. Models, limits, guardrails and the policy are settings in mcpgen.yaml", stacklevel=3)


@dataclass(frozen=True)
class ExecutionConfig:
    """Where a project's files are; None: where mcpgen.yaml says."""

    workspace_dir: str | None = None
    servers_dir: str | None = None
    skills_dir: str | None = None


@dataclass(frozen=True)
class Config:
    """What load_config returns. All else is in mcpgen.yaml."""

    execution: ExecutionConfig = field(default_factory=ExecutionConfig)
    guardrails: None = None
    optimizations: None = None
    llm: None = None


def load_config() -> Config:
    """Return a configuration for the helpers, with which they use the project as mcpgen.yaml sets it."""
    return Config()


class FilesystemHelper:
    """Where a project's files are. workspace_dir, servers_dir and skills_dir are what mcprun's flags of these names take."""

    def __init__(self, workspace_dir: str | os.PathLike[str] | None = None, servers_dir: str | os.PathLike[str] | None = None, skills_dir: str | os.PathLike[str] | None = None) -> None:
        self.workspace_dir = workspace_dir
        self.servers_dir = servers_dir
        self.skills_dir = skills_dir

    def options(self) -> list[str]:
        """Return the flags of mcprun."""
        places = {"workspace": self.workspace_dir, "servers": self.servers_dir, "skills": self.skills_dir}
        return [f"--{name}={Path(place).absolute()}" for name, place in places.items() if place is not None]


class SandboxExecutor:
    """Executes code in a sandbox.

    Settings of other hosts have no effect, which a warning says: limits, guardrails and the policy are in mcpgen.yaml.
    """

    def __init__(
        self,
        client: Mcprun | None = None,
        *,
        execution_config: ExecutionConfig | None = None,
        options: Sequence[str] = (),
        customer: str | None = None,
        session: str | None = None,
        **unused: Any,
    ) -> None:
        _unused(unused)
        self.client = client or Mcprun()
        places = execution_config or ExecutionConfig()
        self.options = [*FilesystemHelper(places.workspace_dir, places.servers_dir, places.skills_dir).options(), *options]
        self.customer = customer
        self.session = session

    def execute(self, code: str, language: str | None = "python", context: Mapping[str, Any] | None = None, timeout: float | None = None) -> Outcome:
        """Execute code. context are its variables, timeout its time in seconds. Failures are in error; only a missing mcprun raises."""
        try:
            run = self.client.run(
                code, language=language, variables=context, customer=self.customer, session=self.session, timeout=timeout, options=self.options
            )
        except ProgramNotFoundError:
            raise
        except McprunError as failed:
            return Outcome(None, str(failed.data.get("stdout", "")), str(failed), failed.data)
        return Outcome(run.result, run.output, run.error, run.data)


class AgentHelper:
    """Does tasks in words."""

    def __init__(self, fs_helper: FilesystemHelper | None = None, executor: SandboxExecutor | None = None, **unused: Any) -> None:
        _unused(unused)
        self.fs_helper = fs_helper or FilesystemHelper()
        self.executor = executor or SandboxExecutor()

    def execute_task(self, task_description: str, verbose: bool = False, language: str | None = "python", timeout: float | None = None) -> Outcome:
        """Do a task. verbose prints to standard error what was found, selected and written. timeout is of the whole call, in seconds.

        Failures are in error; only a missing mcprun raises.
        """
        executor = self.executor
        options = [*executor.options, *self.fs_helper.options()]
        try:
            done = executor.client.task(task_description, language=language, customer=executor.customer, session=executor.session, options=options, deadline=timeout)
        except ProgramNotFoundError:
            raise
        except McprunError as failed:
            return Outcome(None, "", str(failed), failed.data)
        if verbose:
            print(f"task: {done.task}\nselection: {done.selection}\nscript:\n{done.script}", file=sys.stderr)
        return Outcome(done.result, done.output, done.error, done.data)

    def execute(self, code: str, language: str | None = "python", context: Mapping[str, Any] | None = None) -> Outcome:
        """Execute code, as SandboxExecutor.execute."""
        return self.executor.execute(code, language, context)

    run_task = execute_task


def create_agent(
    *,
    workspace_dir: str | os.PathLike[str] | None = None,
    servers_dir: str | os.PathLike[str] | None = None,
    skills_dir: str | os.PathLike[str] | None = None,
    customer: str | None = None,
    session: str | None = None,
    client: Mcprun | None = None,
    pii: PersonalData | None = None,
    **unused: Any,
) -> AgentHelper:
    """Return an agent. pii is that of Mcprun, for an agent without a client of its own. Settings of models have no effect, which a warning says: they are in mcpgen.yaml, and keys in the environment."""
    _unused(unused)
    return AgentHelper(FilesystemHelper(workspace_dir, servers_dir, skills_dir), SandboxExecutor(client or Mcprun(pii=pii), customer=customer, session=session))


def execute_task(task_description: str, verbose: bool = False, **settings: Any) -> Outcome:
    """Do one task with an agent of its own. settings are those of create_agent."""
    return create_agent(**settings).execute_task(task_description, verbose)
