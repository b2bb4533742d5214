# A program of another host, whose import was changed, and then what mcprun_host adds. Types are checked strictly.
import os
import time
import warnings
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from mcprun_host import (
    AgentHelper,
    FilesystemHelper,
    LimitError,
    Mcprun,
    McprunError,
    NoSandboxError,
    PersonalData,
    ProgramNotFoundError,
    ProtocolError,
    RefusedError,
    RunnerError,
    RunTimeoutError,
    SandboxExecutor,
    ScriptError,
    Workflow,
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
assert client.run("result = len(t)", language="python", variables={"t": "x" * 300_000}).result == 300_000

# Personal data: tokens, unless the program asks for the data. (Other tests of this folder turn them off.)
hidden, mail = {"MCPRUN_PII": ""}, "import sys\nprint(sys.argv[1])\nresult = sys.argv[1]"
told = Mcprun(env=hidden).run(mail, language="python", args=["ann@example.com"])
assert (told.result, told.output) == ("[EMAIL_1]", "[EMAIL_1]\n"), told
told = Mcprun(env=hidden, pii="off").run(mail, language="python", args=["ann@example.com"])
assert (told.result, told.output) == ("ann@example.com", "ann@example.com\n"), told
os.environ["MCPRUN_PII"] = "output"
assert create_agent(pii="off").execute("result = mail", context={"mail": "ann@example.com"}).result == "ann@example.com"
assert create_agent().execute("result = mail", context={"mail": "ann@example.com"}).result == "[EMAIL_1]"
os.environ["MCPRUN_PII"] = "off"
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
task = faked.task("x", variables={"key": "hush"})
assert "hush" not in str(task.data["argv"]) and task.data["argv"][2].startswith("--vars="), task.data["argv"]
assert not Path(task.data["argv"][2].removeprefix("--vars=")).exists()
modes: list[tuple[PersonalData, str]] = [("off", "--restore-pii"), ("output", "--pii=output")]
for mode, flag in modes:  # the model reads tokens in both
    assert Mcprun(fake, env={"HOST_FAKE": "task"}, pii=mode).task("x").check().data["argv"] == ["task", "--json", flag, "x"]


def raised(what: Callable[[], object], kind: type[McprunError]) -> McprunError:
    """Return the error of a call, which must be of that kind."""
    try:
        done = what()
    except McprunError as error:
        assert type(error) is kind, f"{type(error)} {error}, want {kind}"
        return error
    raise AssertionError(f"{done}, want {kind}")


def faulty(mode: str) -> Mcprun:
    return Mcprun(fake, env={"HOST_FAKE": mode})


task = faulty("no model").task("x")
assert task.error == "no model is configured" and task.script == "// scaffold" and raised(task.check, RunnerError).exit_code == 125
task = faulty("refused").task("x")
refused = raised(task.check, RefusedError)
assert task.selection["found"] == 11 and (refused.exit_code, refused.hint, refused.message) == (126, "ask ann", "the policy refuses it"), refused
assert raised(lambda: faulty("untrusted").task("x"), RefusedError).hint == "ask ann"
assert "no such folder" in raised(lambda: faulty("unsaved").task("x", options=["--save=nodir/x"]), RunnerError).message
task = faulty("failed").task("x")
assert raised(task.check, ScriptError).message == task.error == "TypeError: x"

# Errors by exit code and cause.
assert "choose one of" in fails(NoSandboxError, "1", sandbox="nope").hint
fails(RunTimeoutError, "while (true) {}", sandbox="embedded", timeout="300ms")
fails(LimitError, "const a = []; while (true) a.push('x'.repeat(1e6) + a.length);", sandbox="embedded", memory="32MiB")
fails(RunnerError, "1", config="nothing.json")
fails(RefusedError, "eval('1')", restricted="true")
assert fails(ProtocolError, "1", program=fake, mode="garbage").exit_code == 0
assert fails(RunTimeoutError, "1", program=fake, mode="hang", deadline=0.5).exit_code == 124
fails(ProgramNotFoundError, "1", program="/nothing/mcprun")
assert "cannot be started" in raised(lambda: Mcprun(cwd="nodir").run("1"), RunnerError).message
assert "cannot be started" in raised(lambda: client.run("1", args=["x" * 3_000_000]), RunnerError).message
assert "cannot be started" in raised(lambda: client.run("1", args=["\0"]), RunnerError).message
assert "set is not JSON serializable" in raised(lambda: client.run("1", variables={"s": {1}}), RunnerError).message
assert "float" in raised(lambda: client.run("1", variables={"s": float("nan")}), RunnerError).message
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


# A workflow in a thread. Others send it what it waits for.
flows = Mcprun(pii="off").workflows


def waiting(id: str, kind: str) -> Workflow:
    """Return the workflow as soon as it waits for that."""
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        time.sleep(0.1)
        try:
            shown = flows.show(id)
        except RunnerError:  # it has not begun
            continue
        if any(wait.kind == kind for wait in shown.waits):
            return shown
    raise AssertionError(f"it does not wait for {kind}")


with ThreadPoolExecutor() as pool:
    ends = pool.submit(flows.run, "flow.ts", id="python-1", input={"big": "x" * 300_000}, variables={"secret": "hush"}, sandbox="embedded", deadline=120)
    assert waiting("python-1", "wait").waits[0].topic == "paid"
    flows.send("python-1", "paid", {"amount": 5, "note": "y" * 300_000})
    assert waiting("python-1", "ask").waits[0].topic == "Which plan?"
    assert "does not fit" in raised(lambda: flows.answer("python-1", {"plan": 7}), RunnerError).message
    flows.answer("python-1", {"plan": "pro=1", "seats": 2})
    run = ends.result().check()
assert run.workflow == "python-1" and (run.result["plan"], run.result["paid"]["amount"], run.result["secret"]) == ("pro=1", 5, "hush"), run
assert run.result["input"] == {"big": "x" * 300_000}
shown = flows.show("python-1")
assert shown.name == "flow.ts" and shown.ended and shown.error is None and [step["kind"] for step in shown.steps] == ["wait", "ask"] and shown.result["plan"] == "pro=1", shown
assert flows.resume("python-1").workflow == "python-1"
assert "2 questions" not in raised(lambda: flows.answer("python-1", "x", question=2), RunnerError).message
with ThreadPoolExecutor() as pool:
    ends = pool.submit(flows.run, "flow.ts", id="python-2", sandbox="embedded")
    waiting("python-2", "wait")
    flows.cancel("python-2")
    assert "cancelled" in raised(ends.result, RunnerError).message
assert {each.id: each.state for each in flows.list()}["python-2"] == "cancelled"
print("ok")
