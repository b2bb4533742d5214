"""The part of the library mcprun that keeps what a script has done: mcprun.workflow."""

import builtins
import contextvars
import inspect
import sys
import threading

import mcprun
from _mcprun_host import _ask, _error

__all__ = ["ask", "sleep", "step", "wait_for"]

workflow = sys.modules[__name__]
_NONE = object()
_step = contextvars.ContextVar("step", default=0)
"""The number of the step whose function runs. The host has given it."""


def _follow_threads():
    """Let calls in threads that a step uses count as the step's."""
    from concurrent.futures import ThreadPoolExecutor

    def wrapped(run):
        context = contextvars.copy_context()
        return lambda *args, **kwargs: context.run(run, *args, **kwargs)

    start, submit = threading.Thread.start, ThreadPoolExecutor.submit

    def start_within(self):
        self.run = wrapped(self.run)
        start(self)

    def submit_within(self, run, /, *args, **kwargs):
        return submit(self, wrapped(run), *args, **kwargs)

    threading.Thread.start, ThreadPoolExecutor.submit = start_within, submit_within


def _begin(name, run, input):
    if not callable(run):
        raise TypeError(f"the step {name!r} has no function: workflow.step(name, lambda: ...)")
    begun = _ask("workflow.step", "workflow/step", name=name, input=[] if input is _NONE else [mcprun.whole(input)])
    return begun.get("step"), begun.get("outcome")


def _bridge():
    from _mcprun import bridge

    if bridge.step is None:
        _follow_threads()
        bridge.step = _step.get
    return bridge


def _outcome(outcome):
    error = outcome.get("error")
    if not error:
        return next(iter(outcome.get("value") or ()), None)
    if error.get("kind"):
        made = _error(error["kind"], error.get("message") or "", error)
        made.server, made.tool = error.get("server"), error.get("tool")
        raise made
    known = getattr(builtins, outcome.get("name") or "", None)
    if isinstance(known, type) and issubclass(known, Exception):
        raise known(error.get("message"))
    raise RuntimeError(f"{outcome.get('name')}: {error.get('message')}")


def _failed(step, error):
    if isinstance(error, mcprun.__getattr__("MCPError")):
        kept = {"kind": error.kind, "message": error.message, "retryable": error.is_retryable}
        kept |= {name: value for name in ("server", "tool", "code", "data") if (value := getattr(error, name, None)) is not None}
    else:
        kept = {"kind": "", "message": str(error)}
    try:
        _ask("workflow.step", "workflow/done", step=step, error=kept, name=type(error).__name__)
    except Exception:
        pass  # the step's own error says more


def _done(step, value):
    return _outcome(_ask("workflow.step", "workflow/done", step=step, value=[mcprun.whole(value)])["outcome"])


def step(name, run, input=_NONE):
    """Run a function once, and return its result, which is JSON, or raise its error. When the script is continued, a step that
    has finished is not run again: what it returned, or raised, is kept. With input, the function is given that. For an async
    function, await the result.
    """
    args = () if input is _NONE else (input,)
    if inspect.iscoroutinefunction(run):
        return _step_async(name, run, input, args)
    number, outcome = _begin(name, run, input)
    if outcome is not None:
        return _outcome(outcome)
    _bridge()
    before = _step.set(number)
    try:
        return _done(number, run(*args))
    except Exception as error:
        _failed(number, error)
        raise
    finally:
        _step.reset(before)


async def _step_async(name, run, input, args):
    number, outcome = _begin(name, run, input)
    if outcome is not None:
        return _outcome(outcome)
    _bridge()
    before = _step.set(number)
    try:
        return _done(number, await run(*args))
    except Exception as error:
        _failed(number, error)
        raise
    finally:
        _step.reset(before)


def sleep(time):
    """Wait for a number of seconds, or for a time such as "2h30m". A workflow needs no process meanwhile."""
    _ask("workflow.sleep", "workflow/sleep", time=time)


def wait_for(topic, timeout=None):
    """Wait until somebody sends a value under the topic (mcprun workflow send), and return it. Raises an MCPTimeoutError."""
    return _ask("workflow.wait_for", "workflow/wait", topic=topic, timeout=timeout)["value"]


def ask(question, schema=None, timeout=None):
    """Ask a person, and return the answer: a text, or with a JSON Schema of a flat object what the person filled in. Raises an
    MCPDeniedError if the person does not answer.
    """
    return _ask("workflow.ask", "workflow/ask", question=question, schema=schema, timeout=timeout)["value"]
