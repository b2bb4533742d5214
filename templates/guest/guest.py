"""The guest program for CPython 3.11 and newer: connects to the bridge, receives one job, runs it, says how it ended.

Nothing of a job is read from the command line or the environment, so that it can be started before there is a job.
It is no wall between a script and the host: whatever runs here may forge what this file says. The host knows that.
"""

import atexit
import builtins
import importlib
import io
import json
import linecache
import math
import os
import queue
import re
import signal
import socket
import sys
import threading
import traceback
import types

MAX_FRAME = 16 * 1024 * 1024
MAX_DEPTH = 500  # the host allows 512, counting the frame around a value
MAX_CALLS = 128
MAX_CALL_BYTES = 32 * 1024 * 1024
MAX_STACK = 64 * 1024
BYE_TIMEOUT = 2.0
SECRET_FD = 4
EXIT_LOST = 125

# What scripts and wrappers mostly import. Imported while there is no job yet, the most likely first.
PRELOAD = (
    "typing", "concurrent.futures.thread", "collections.abc", "dataclasses", "datetime", "pathlib", "time", "csv",
    "random", "hashlib", "base64", "itertools", "functools", "statistics", "textwrap", "string", "decimal", "uuid",
    "urllib.parse", "asyncio",
)

REPLY = re.compile(rb'\{"type":"reply","id":(\d+),"(value|error)":')


class CallError(Exception):
    """A failed call. ``fields`` are kind, message, server, tool, content, code and data; absent ones are None."""

    def __init__(self, fields):
        self.fields = {name: fields.get(name) for name in ("kind", "message", "server", "tool", "content", "code", "data")}
        super().__init__(self.fields["message"])


class NotJSON(Exception):
    """A value that JSON cannot hold."""


def check(value, where, depth=0, parents=()):
    """Raise NotJSON, saying where, if encode would fail on value, or would change it silently."""
    if value is None or isinstance(value, (bool, int)):
        return
    if isinstance(value, str):
        try:
            value.encode()
        except UnicodeEncodeError:
            raise NotJSON(f"{where} holds half of a surrogate pair, which JSON cannot hold") from None
        return
    if isinstance(value, float):
        if not math.isfinite(value):
            raise NotJSON(f"{where} is {value}, which JSON cannot hold")
        return
    if not isinstance(value, (dict, list, tuple)):
        raise NotJSON(f"{where} is {describe(value)}")
    if id(value) in parents:
        raise NotJSON(f"{where} contains itself")
    if depth >= MAX_DEPTH:
        raise NotJSON(f"{where:.100}… is nested deeper than {MAX_DEPTH}")
    parents = (*parents, id(value)) if depth < 16 else {*parents, id(value)}
    if isinstance(value, dict):
        for key, item in value.items():
            if not isinstance(key, str):
                raise NotJSON(f"{where} has the key {key!r:.100}, which is not a string")
            check(key, f"a key of {where}")
            check(item, f"{where}.{key}" if key.isidentifier() else f"{where}[{key!r}]", depth + 1, parents)
    else:
        for i, item in enumerate(value):
            check(item, f"{where}[{i}]", depth + 1, parents)


def describe(value):
    """Name a value that JSON cannot hold, and say what to use instead where that is well known."""
    kind = type(value)
    name = kind.__qualname__ if kind.__module__ == "builtins" else f"{kind.__module__}.{kind.__qualname__}"
    hint = ""
    if isinstance(value, (set, frozenset)):
        hint = "; use a list"
    elif isinstance(value, (bytes, bytearray, memoryview)):
        hint = "; use base64.b64encode(data).decode()"
    elif hasattr(value, "isoformat"):
        hint = "; use .isoformat()"
    elif hasattr(kind, "__dataclass_fields__"):
        hint = "; use dataclasses.asdict()"
    return f"of type {name}, which JSON cannot hold{hint}"


def encode(value, where):
    """Encode a value as JSON, strictly."""
    try:
        check(value, where)
        return json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode()
    except (ValueError, RecursionError) as error:  # for example an integer of more digits than Python will print
        raise NotJSON(f"{where}: {error}") from None


class Bridge:
    """The connection, its frames, and the calls that wait for a reply."""

    def __init__(self, address, secret):
        self.pid = os.getpid()
        self.sock = connect(address)
        self.room = threading.Condition()  # guards what follows
        self.last_id = 0
        self.waiting = {}  # id → (queue of its thread, bytes of its arguments)
        self.waiting_bytes = 0
        self.over = False  # done was said
        self.job = queue.SimpleQueue()
        self.bye = threading.Event()
        # Frames are written by one thread, so that an exception that a signal raises in the main thread cannot tear one.
        self.outgoing = queue.SimpleQueue()
        self.send({"type": "hello", "protocol": 1, "secret": secret, "runtime": "python " + sys.version.split()[0]})
        self.threads = [threading.Thread(target=work, name="mcprun", daemon=True) for work in (self.write, self.read)]
        for thread in self.threads:
            thread.start()
        os.register_at_fork(after_in_child=self.sock.close)

    def send(self, message):
        self.put(json.dumps(message, ensure_ascii=False).encode())

    def put(self, frame):
        self.outgoing.put(len(frame).to_bytes(4, "big") + frame)

    def write(self):
        try:
            while frame := self.outgoing.get():
                self.sock.sendall(frame)
        except OSError:
            self.lost()

    def read(self):
        try:
            while not self.bye.is_set():
                size = int.from_bytes(self.take(4), "big")
                self.dispatch(self.take(size))
        except (OSError, EOFError):
            self.lost()
        except BaseException:
            traceback.print_exc()
            self.lost()

    def take(self, size):
        data = bytearray(size)
        view = memoryview(data)
        while view:
            n = self.sock.recv_into(view)
            if n == 0:
                raise EOFError
            view = view[n:]
        return data

    def lost(self):
        """End the process at once, whatever the script is doing: nobody is there to run for."""
        if not self.over:
            os._exit(EXIT_LOST)
        self.bye.set()

    def dispatch(self, frame):
        match = REPLY.match(frame)
        if match:
            # The value is parsed by the thread that waits for it.
            self.settle(int(match[1]), (match[2] == b"error", memoryview(frame)[match.end() : -1]))
            return
        message = json.loads(frame)
        if message["type"] == "job":
            self.job.put(message)
        elif message["type"] == "bye":
            self.bye.set()

    def settle(self, call_id, answer):
        with self.room:
            waiter = self.waiting.pop(call_id, None)
            if waiter is None:
                return  # cancelled meanwhile
            self.waiting_bytes -= waiter[1]
            self.room.notify()
        waiter[0].put(answer)

    def call(self, tool, args):
        """Call a tool and return its value; blocks. Raises CallError."""
        if not isinstance(tool, str):
            raise CallError({"kind": "argument", "message": "the tool id is not a string"})
        try:
            body = encode({} if args is None else args, "input")
            name = encode(tool, "the tool id")
        except NotJSON as error:
            raise CallError({"kind": "argument", "message": str(error), "tool": tool}) from None
        if not body.startswith(b"{"):
            raise CallError({"kind": "argument", "message": "the input is not an object", "tool": tool})
        if len(body) + len(name) + 100 > MAX_FRAME:
            message = f"the input has {len(body)} bytes; one call can have at most {MAX_FRAME}"
            raise CallError({"kind": "argument", "message": message, "tool": tool})
        if os.getpid() != self.pid:
            message = "tools can be called from the script's own process only, not from one it has forked; use threads"
            raise CallError({"kind": "internal", "message": message, "tool": tool})
        failed, raw = self.exchange(name, body)
        try:
            value = json.loads(bytes(raw))
        except (ValueError, RecursionError) as error:
            message = f"the answer cannot be read: {error}"
            raise CallError({"kind": "protocol", "message": message, "tool": tool}) from None
        if failed:
            raise CallError({"tool": tool, **value})
        return value

    def exchange(self, name, body):
        """Send a call and wait for its answer; an exception from a signal meanwhile cancels the call."""
        answer = queue.SimpleQueue()
        call_id = 0
        try:
            with self.room:
                while len(self.waiting) >= MAX_CALLS or (self.waiting and self.waiting_bytes + len(body) > MAX_CALL_BYTES):
                    self.room.wait()
                if self.over:
                    raise CallError({"kind": "cancelled", "message": "the script has ended"})
                self.last_id += 1
                self.waiting[self.last_id] = (answer, len(body))
                self.waiting_bytes += len(body)
                call_id = self.last_id
                self.put(b'{"type":"call","id":%d,"tool":%b,"args":%b}' % (call_id, name, body))
            return answer.get()
        except BaseException:
            with self.room:
                waiter = self.waiting.pop(call_id, None)
                if waiter is not None:
                    self.waiting_bytes -= waiter[1]
                    self.send({"type": "cancel", "id": call_id})
                    self.room.notify()
            raise

    def done(self, members):
        """Say done, once, and wait for bye, but not for long."""
        with self.room:
            if self.over or os.getpid() != self.pid:
                return
            self.over = True
            self.room.notify_all()
            frame = b'{"type":"done"' + members + b"}"
            if len(frame) > MAX_FRAME:
                note(f"the result has more than {MAX_FRAME} bytes and was left out; write it to a file instead")
                frame = b'{"type":"done"}'
            self.put(frame)
            self.outgoing.put(b"")  # nothing follows
        if self.bye.wait(BYE_TIMEOUT):
            # A thread that wakes up while the interpreter ends is ended the hard way, for which the C library opens a
            # file: without descriptors it aborts the process.
            for thread in self.threads:
                thread.join(BYE_TIMEOUT)


def connect(address):
    """Connect to the host, or take the socket that was inherited."""
    kind, _, rest = address.partition(":")
    if kind == "unix":
        sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        sock.connect(rest)
    elif kind == "fd":
        sock = socket.socket(fileno=int(rest))
        sock.set_inheritable(False)
    else:
        raise ValueError(f"the address has an unknown form: {address}")
    sock.setblocking(True)
    return sock


def note(text):
    try:
        sys.stderr.write(f"mcprun: {text}\n")
        sys.stderr.flush()
    except (OSError, ValueError, AttributeError):
        pass  # nobody reads it, or the script has closed it


def trim(report):
    """Remove the frames of this file from a traceback and from those it was caused by."""
    seen = set()
    pending = [report]
    while pending:
        item = pending.pop()
        if item is None or id(item) in seen:
            continue
        seen.add(id(item))
        own = [frame for frame in item.stack or () if frame.filename != __file__]
        item.stack = traceback.StackSummary.from_list(own) if own else None
        pending += [item.__cause__, item.__context__, *(getattr(item, "exceptions", None) or ())]


def report_error(error, hook):
    """Print an error nobody caught, as Python would, and return it as members of done."""
    report = traceback.TracebackException(type(error), error, error.__traceback__, compact=True)
    trim(report)
    text = "".join(report.format())
    if sys.excepthook is not hook:
        try:
            sys.excepthook(type(error), error, error.__traceback__)
        except Exception:
            traceback.print_exc()
    else:
        try:
            sys.stdout.flush()
            sys.stderr.write(text)
        except (OSError, ValueError, AttributeError):
            pass
    try:
        message = str(error)
    except Exception:
        message = ""
    fields = {"name": type(error).__qualname__, "message": message[:MAX_STACK], "stack": text[:MAX_STACK]}
    # Errors may hold what UTF-8 cannot.
    return b',"error":' + json.dumps(fields, ensure_ascii=False).encode(errors="replace")


def result_of(module):
    """Return the script's result as members of done."""
    if "result" not in vars(module):
        return b""
    value = vars(module)["result"]
    try:
        return b',"result":' + encode(value, "result")
    except NotJSON as error:
        if isinstance(value, (dict, list, tuple, float)):  # meant as data; anything else just has the same name
            note(f"no result: {error}")
        return b""


def prepare(job):
    """Make the script's module and put it in the place of ours."""
    name, code = job["name"], job["code"]
    module = types.ModuleType("__main__")
    module.__dict__.update(__file__=name, __builtins__=builtins, __cached__=None)
    sys.modules["__main__"] = module
    linecache.cache[name] = (len(code), None, code.splitlines(keepends=True), name)
    sys.argv = [name, *job["args"]]
    sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(line_buffering=True)
    return module


def run(bridge, job):
    """Run the script and return the exit status, or raise SystemExit as the script does."""
    hook = sys.excepthook
    module = prepare(job)
    end = {"members": b""}

    # The first that is registered is the last that is called: after threads have ended and the script's own handlers.
    def finish():
        if os.getpid() == bridge.pid:
            try:
                sys.stdout.flush()
            except (OSError, ValueError, AttributeError):
                pass  # reported by the interpreter itself
            bridge.done(end["members"])

    atexit.register(finish)
    try:
        exec(compile(job["code"], job["name"], "exec", dont_inherit=True), module.__dict__)
    except SystemExit:
        end["members"] = result_of(module)
        raise  # the interpreter prints its text and sets the status
    except BaseException as error:
        end["members"] = report_error(error, hook)
        return 128 + signal.SIGINT if isinstance(error, KeyboardInterrupt) else 1
    end["members"] = result_of(module)
    return 0


def wait_for_job(bridge):
    """Wait for the job, and import what it will likely need meanwhile.

    The folder that the guest was started in is then entered anew, by its name: the workspace of the run may have been
    mounted there meanwhile.
    """
    home = os.getcwd()
    for name in PRELOAD:
        if not bridge.job.empty():
            break
        try:
            importlib.import_module(name)
        except ImportError:
            pass  # a smaller Python
    job = bridge.job.get()
    os.chdir(home)
    return job


def read_secret():
    """Read what proves to the host who we are, once, and close the way to it. Empty: there is none."""
    secret = b""
    try:
        while part := os.read(SECRET_FD, 4096):
            secret += part
        os.close(SECRET_FD)
    except OSError:
        return ""
    return secret.decode("latin-1")


def main():
    address = sys.argv[1] if len(sys.argv) == 2 else ""
    secret = address and read_secret()
    if not secret:
        note("this program is started by mcprun")
        return EXIT_LOST
    try:
        bridge = Bridge(address, secret)
    except (OSError, ValueError) as error:
        note(f"connect to the bridge: {error}")
        return EXIT_LOST
    transport = types.ModuleType("_mcprun", "The way from a script to its tools.")
    transport.call = bridge.call
    transport.CallError = CallError
    CallError.__module__ = transport.__name__
    sys.modules["_mcprun"] = transport
    return run(bridge, wait_for_job(bridge))


sys.exit(main())
