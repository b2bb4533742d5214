"""The guest program for CPython 3.11 and newer: connects to the bridge, receives one job, runs it, and reports how it ended.

Nothing of a job is read from the command line or the environment, so that it can be started before there is a job.
It does not isolate the script from the host: a script can forge anything that this file sends, and the host expects that.
"""

# Imports take most of the time until a script starts. Modules that only errors and values beyond plain JSON need are
# imported when they are first used.
import atexit
import builtins
import io
import keyword
import os
import sys
import threading
from _ast import PyCF_ALLOW_TOP_LEVEL_AWAIT

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import _mcprun_bridge
import _mcprun_modules
from _mcprun_encode import NotJSON, Stored, as_text, encode, json

del sys.path[0]  # scripts must not import the guest's own files

SECRET_FD = 4
EXIT_LOST = 125
EXIT_INTERRUPTED = 130
CO_COROUTINE = 128  # of inspect, whose import is slow
# Modules that the guest imports after the script's files are on the path. They are imported first if a file of the script has
# the same name.
LATER = ("mcprun", "_mcprun_common", "_mcprun_report", "_mcprun_values", "_mcprun_files", "_mcprun_lists", "_mcprun_host", "difflib", "servers.client")

# Common imports of scripts and wrappers, loaded while there is no job yet, the most likely first.
PRELOAD = (
    "mcprun", "json", "_mcprun_report", "_mcprun_values", "typing", "concurrent.futures.thread", "collections.abc", "dataclasses", "datetime", "pathlib",
    "time", "csv", "random", "hashlib", "base64", "itertools", "functools", "statistics", "textwrap", "string", "decimal", "uuid",
    "urllib.parse", "asyncio", "difflib",
)


def note(text):
    try:
        sys.stderr.write(f"mcprun: {text}\n")
        sys.stderr.flush()
    except (OSError, ValueError, AttributeError):
        pass  # it is closed at one of its ends


def stored(value):
    """Describe a result of the script that is stored in a file."""
    if isinstance(value, Stored):
        return {"path": value.path, "size": value.size, "type": value.type, "preview": value.preview}
    raise TypeError(f"{type(value).__name__} is not JSON")


def result_of(module):
    """Return the script's result as members of done."""
    if "result" not in vars(module):
        return b""
    value = vars(module)["result"]
    try:
        return b',"result":' + encode(value, "result", stored)
    except NotJSON as error:
        reason = str(error)
        if callable(value) or isinstance(value, type(sys)):  # functions, classes and modules just have the same name
            return b""
    try:  # what JSON cannot hold is passed on as text, so that the result is not lost
        return b',"result":' + encode(as_text(value, stored), "result")
    except Exception:  # it contains itself, or its own conversion fails
        note(f"no result: {reason}")
        return b""


def prepare(job, finder):
    """Make the script's module, which replaces the guest's as __main__."""
    name, code, modules = job["name"], job["code"], job.get("modules") or {}
    module = type(sys)("__main__")
    module.__dict__.update(__file__=name, __builtins__=builtins, __cached__=None)
    sys.modules["__main__"] = module
    sys.argv = [name, *job["args"]]
    if any(path.partition("/")[0].removesuffix(".py") in sys.stdlib_module_names for path in modules):
        json()
        for each in LATER:
            try:
                __import__(each)
            except ImportError:
                pass  # there is no tree
    finder.take(name, code, modules)
    sys.modules["_mcprun"].vars = type(type.__dict__)(dict(job.get("vars") or {}))
    __import__("mcprun").root = os.getcwd()
    for key, value in sys.modules["_mcprun"].vars.items():
        if key.isidentifier() and not keyword.iskeyword(key) and not key.startswith("__") and not hasattr(builtins, key):
            setattr(module, key, value)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(line_buffering=True)
    return module


def execute(job, module, finder):
    """Run the code, in an event loop if it awaits at the top level."""
    code = compile(job["code"], job["name"], "exec", flags=PyCF_ALLOW_TOP_LEVEL_AWAIT, dont_inherit=True)
    finder.publish(code)
    if job.get("restricted"):
        module.__dict__["__builtins__"] = {name: value for name, value in vars(builtins).items() if name not in ("eval", "exec", "compile")}
    if code.co_flags & CO_COROUTINE:
        import asyncio

        asyncio.run(eval(code, module.__dict__))
    else:
        exec(code, module.__dict__)


def in_thread(args):
    """Report an error that ended a thread."""
    try:
        import _mcprun_report
    except Exception:  # the script has broken what reporting needs
        threading.__excepthook__(args)
    else:
        _mcprun_report.in_thread(args)


def uncaught(error, hook):
    """Print an uncaught error, and return it as members of done."""
    try:
        try:
            import _mcprun_report
        except OSError:  # the script has used up all descriptors; this one is not needed any more
            os.close(0)
            import _mcprun_report
    except Exception:  # no memory is left, or the script has replaced modules of Python
        at = error.__traceback__
        while at is not None and at.tb_frame.f_globals is globals():
            at = at.tb_next
        sys.__excepthook__(type(error), error.with_traceback(at), at)
        return b',"error":{"name":%b,"message":"","stack":""}' % _mcprun_bridge.quote(type(error).__qualname__).encode()
    return _mcprun_report.uncaught(error, hook)


def run(bridge, job, finder):
    """Run the script and return the exit status, or raise SystemExit as the script does."""
    hook = sys.excepthook
    threading.excepthook = in_thread
    if "env" in job:
        os.environ.update(job["env"])
        bridge.open_network()
    module = prepare(job, finder)
    bridge.lines = job.get("lines", False)
    _mcprun_modules.note_writes(bridge.wrote)
    end = {"members": b""}

    # The first handler that is registered is called last: after threads have ended and after the script's own handlers.
    def finish():
        if os.getpid() == bridge.pid:
            try:
                sys.stdout.flush()
            except (OSError, ValueError, AttributeError):
                pass  # reported by the interpreter itself
            bridge.done(end["members"])

    atexit.register(finish)
    try:
        execute(job, module, finder)
    except SystemExit:
        end["members"] = result_of(module)
        raise  # the interpreter prints its text and sets the status
    except BaseException as error:
        end["members"] = uncaught(error, hook)
        return EXIT_INTERRUPTED if isinstance(error, KeyboardInterrupt) else 1
    end["members"] = result_of(module)
    return 0


def wait_for_job(bridge, preload):
    """Wait for the job, and until it comes, import what it will likely need. preload names modules of packages, whose errors
    are reported to the run.

    The folder that the guest was started in is then entered again, by its name: the workspace of the run may have been
    mounted there meanwhile.
    """
    home = os.getcwd()
    job = bridge.next_job()
    failed = []
    if job is None:
        if preload:  # what a package prints meanwhile belongs to no run
            own, nowhere = os.dup(1), os.open(os.devnull, os.O_WRONLY)
            os.dup2(nowhere, 1)
            os.close(nowhere)
        for name in (*PRELOAD, *preload):
            try:
                __import__(name)
            except BaseException as error:  # a smaller Python, or a package that does anything
                if name in preload:
                    failed.append(f"{name} ({type(error).__name__}: {error})")
            if bridge.has_news():
                break
        if preload:
            try:
                sys.stdout.flush()
            except (OSError, ValueError, AttributeError):
                pass  # a package has closed it, or put something else there
            os.dup2(own, 1)
            os.close(own)
        job = bridge.next_job()
    os.chdir(home)
    if failed:
        note(f"not imported ahead of the run: {', '.join(failed)}")
    return job


def read_secret():
    """Read the secret that identifies this guest to the host, once, and close its file. Empty: no secret."""
    secret = b""
    try:
        while part := os.read(SECRET_FD, 4096):
            secret += part
        os.close(SECRET_FD)
    except OSError:
        return ""
    return secret.decode("latin-1")


def main():
    address, preload = "".join(sys.argv[1:2]), sys.argv[2:]
    secret = address and read_secret()
    if not secret:
        note("this program is started by mcprun")
        return EXIT_LOST
    try:
        bridge = _mcprun_bridge.Bridge(address, secret)
    except (OSError, ValueError) as error:
        note(f"connect to the bridge: {error}")
        return EXIT_LOST
    transport = type(sys)("_mcprun", "The way from a script to its tools.")
    transport.call = bridge.call
    transport.request = bridge.request
    transport.bridge = bridge
    transport.CallError = _mcprun_bridge.CallError
    transport.vars = {}
    transport.home = os.getcwd()  # the workspace
    sys.modules["_mcprun"] = transport
    finder = _mcprun_modules.install()
    return run(bridge, wait_for_job(bridge, preload), finder)


sys.exit(main())
