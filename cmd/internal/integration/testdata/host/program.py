# A program of another host, whose import was changed, and then what mcprun_host adds. Types are checked strictly.
import os
import warnings
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor

from mcprun_host import (
    AgentHelper,
    FilesystemHelper,
    LimitError,
    Mcprun,
    McprunError,
    NoSandboxError,
    ProgramNotFoundError,
    ProtocolError,
    RefusedError,
    RunnerError,
    RunTimeoutError,
    SandboxExecutor,
    ScriptError,
    create_agent,
    execute_task,
    load_config,
)

fake = os.environ["FAKE_MCPRUN"]


def fails(kind: type[McprunError], code: str, *, program: str | None = None, mode: str = "", deadline: float | None = None, **options: str) -> McprunError:
    """Return the error of a run, which must be of that kind."""
    env: Mapping[str, str] = {"HOST_FAKE": mode} if mode else {}
    try:
        Mcprun(program, env=env).run(code, deadline=deadline, options=[f"--{name}={value}" for name, value in options.items()])
    except McprunError as error:
        assert type(error) is kind, f"{type(error)} {error}, want {kind}"
        return error
    raise AssertionError(f"no {kind}")


# Code, with variables, arguments and a customer.
client = Mcprun()
run = client.run(
    "import sys\nfrom servers.calculator import add\nprint(sys.argv[1:], n)\nresult = add(numbers=[n, 3])", language="python", variables={"n": 5, "t": "\u00e4 \"'$(x)"}, args=["--x", "a b"],
    customer="acme", task="Add.", timeout=60,
)
assert run.check().success and run.calls[0].tool == "calculator__add" and run.calls[0].outcome == "ok", run
assert run.output == "['--x', 'a b'] 5\n" and run.result["result"] == 8 and run.customer == "acme", run
assert client.run("result = t", language="python", variables={"t": "5 \u00e4 \"'$(x);"}).result == "5 \u00e4 \"'$(x);"
[customer] = client.customers()
[session] = client.sessions("acme")
assert customer.id == "acme" and customer.sessions == 1 and client.customer("acme").id == "acme"
assert session.id == run.session and client.session(session.id).records[-1]["run"]["code"].startswith("import sys")

# Other hosts' names: three things come back.
executor = SandboxExecutor(execution_config=load_config().execution)
result, output, error = executor.execute("print('hello')\nresult = limit * 2", context={"limit": 21})
assert (result, output, error) == (42, "hello\n", None)
outcome = executor.execute("raise ValueError('no')")
assert not outcome.success and outcome.error is not None and "ValueError: no" in outcome.error, outcome
outcome = executor.execute("while True: pass", timeout=1)
assert outcome.error is not None and "1s" in outcome.error, outcome

# Tasks, with a stand-in for mcprun that says what it was given.
faked = Mcprun(fake, env={"HOST_FAKE": "task"})
agent = AgentHelper(FilesystemHelper(servers_dir="servers"), SandboxExecutor(faked, customer="acme"))
result, output, error = agent.execute_task(task_description="Calculate 5 + 3", verbose=True)
assert (result, output, error) == (8.0, "8.0\n", None)
with warnings.catch_warnings(record=True) as said:
    warnings.simplefilter("always")
    outcome = create_agent(client=faked, llm_enabled=True).run_task("--help")
    assert "no effect here: llm_enabled" in str(said[0].message)
assert outcome.details["argv"] == ["task", "--json", "--language=python", " --help"], outcome.details
assert execute_task("x", client=faked, customer="b").details["argv"][3] == "--customer=b"
task = faked.task("Calculate 5 + 3", plan=True)
assert task.script == "export default 8.0" and task.selection["selected"] == 3 and len(task.attempts) == 1 and "--plan" in task.data["argv"], task
task = Mcprun(fake, env={"HOST_FAKE": "no model"}).task("x")
assert task.error == "no model is configured" and task.script == "// scaffold"

# Errors by exit code and cause.
assert "choose one of" in fails(NoSandboxError, "1", sandbox="nope").hint
fails(RunTimeoutError, "while (true) {}", sandbox="embedded", timeout="300ms")
fails(LimitError, "const a = []; while (true) a.push('x'.repeat(1e6) + a.length);", sandbox="embedded", memory="32MiB")
fails(RunnerError, "1", config="nothing.json")
fails(RefusedError, "eval('1')", restricted="true")
assert fails(ProtocolError, "1", program=fake, mode="garbage").exit_code == 0
assert fails(RunTimeoutError, "1", program=fake, mode="hang", deadline=0.5).exit_code == 124
fails(ProgramNotFoundError, "1", program="/nothing/mcprun")
try:
    client.run("throw new TypeError('x')", sandbox="embedded").check()
    raise AssertionError("no error")
except ScriptError as thrown:
    assert thrown.message == "TypeError: x" and thrown.exit_code == 1

# Several threads.
def number(i: int) -> object:
    return client.run(f"export default {i}", sandbox="embedded").result


with ThreadPoolExecutor(4) as pool:
    assert list(pool.map(number, range(4))) == [0, 1, 2, 3]
print("ok")
