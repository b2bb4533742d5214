"""Run scripts, tasks and workflows with mcprun from a Python program.

>>> from mcprun_host import Mcprun
>>> Mcprun().run("export default 6 * 7").result
42

create_agent, execute_task, AgentHelper, SandboxExecutor and FilesystemHelper have the names and results of other hosts, so that a program
made for one of them changes an import.
"""

from ._agent import AgentHelper, Config, ExecutionConfig, FilesystemHelper, SandboxExecutor, create_agent, execute_task, load_config
from ._client import Mcprun
from ._errors import (
    InterruptedRunError,
    LimitError,
    McprunError,
    NoSandboxError,
    ProgramNotFoundError,
    ProtocolError,
    RefusedError,
    RunTimeoutError,
    RunnerError,
    ScriptError,
)
from ._program import PersonalData
from ._results import Call, Customer, Outcome, Run, Session, Task, Wait, Workflow
from ._workflows import Workflows

__all__ = [
    "AgentHelper",
    "Call",
    "Config",
    "Customer",
    "ExecutionConfig",
    "FilesystemHelper",
    "InterruptedRunError",
    "LimitError",
    "Mcprun",
    "McprunError",
    "NoSandboxError",
    "Outcome",
    "PersonalData",
    "ProgramNotFoundError",
    "ProtocolError",
    "RefusedError",
    "Run",
    "RunTimeoutError",
    "RunnerError",
    "SandboxExecutor",
    "ScriptError",
    "Session",
    "Task",
    "Wait",
    "Workflow",
    "Workflows",
    "create_agent",
    "execute_task",
    "load_config",
]
