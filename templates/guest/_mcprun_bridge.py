"""The guest's end of the bridge: frames, and the calls that wait for a reply. See guest.py."""

import os
import select
import sys
import threading
import time

# CPython's C modules below json, queue and socket, because importing those takes longer than most scripts run.
from _json import encode_basestring_ascii as quote
from _json import make_scanner
from _queue import SimpleQueue
from _socket import AF_UNIX, MSG_DONTWAIT, MSG_PEEK, SHUT_RDWR, SOCK_STREAM, socket

from _mcprun_encode import NotJSON, encode, json

MAX_FRAME = 16 * 1024 * 1024
MAX_CALLS = 128
MAX_CALL_BYTES = 32 * 1024 * 1024
BYE_TIMEOUT = 2.0
EXIT_LOST = 125
WATCH_TIME = 2000  # milliseconds between two checks that the host is there
SMALL = 32 * 1024  # frames up to this size are written by the calling thread, if the kernel accepts them at once
RECEIVE = 32 * 1024  # bytes of one read; more if a large frame is arriving
MOST = 256 * 1024

REPLY = b'{"type":"reply","id":'
STREAM = (b'{"type":"data"', b'{"type":"more"', b'{"type":"close"')
KIND = b'"as":"'
ERROR = b'"error":'  # as long as "value":
MAX_HEAD = 100  # of a reply: all that comes before its value
ROOT, SKILLS = "/mcp/", "/mcp/skills/"
FIELDS = ("kind", "message", "server", "tool", "content", "code", "data", "retryable")


class Plain:
    """The JSON scanner's options, with the defaults of the package json."""

    strict = True
    object_hook = object_pairs_hook = parse_constant = None
    parse_float = float
    parse_int = int
    memo = {}


def parse(text):
    return json().loads(text)


class CallError(Exception):
    """A failed call. ``fields`` are kind, message, server, tool, content, code, data and retryable; absent ones are None."""

    def __init__(self, fields):
        self.fields = {name: fields.get(name) for name in FIELDS}
        super().__init__(self.fields["message"])


CallError.__module__ = "_mcprun"


class Slot:
    """A wait for a reply. Its lock is held until the reply is there, or until its owner becomes the reader."""

    __slots__ = ("answer", "id", "sent", "size", "thread", "turn")

    def __init__(self, size=0):
        self.answer = None
        self.id = 0
        self.sent = False
        self.size = size
        self.thread = threading.get_ident()
        self.turn = threading.Lock()
        self.turn.acquire()

    def wake(self):
        try:
            self.turn.release()
        except RuntimeError:
            pass  # it is awake


class Bridge:
    """The connection, its frames, and the calls that wait for a reply.

    Whoever waits for an answer reads from the connection, for itself and for all others: to be woken by another thread
    would take longer than the reading. A signal may raise an exception in the main thread between any two steps; so what
    was received is not lost between two steps (see receive), and whatever is repeated does no harm.
    """

    def __init__(self, address, secret):
        self.pid = os.getpid()
        self.sock = connect(address)
        self.lock = threading.RLock()  # guards what follows
        self.room = threading.Condition(self.lock)
        self.held = 0  # calls that wait until others have been answered
        self.last_id = 0
        self.waiting = {}  # id → Slot
        self.waiting_bytes = 0
        self.over = False  # done was sent
        self.wrote = {}  # paths that the script wrote
        self.reader = None  # the Slot whose owner is reading
        self.backlog = 0  # frames that the writing thread has not written

        self.stream = ([], 0)  # received pieces, and how many bytes of the first were processed; only the reader uses it
        self.made = None  # see values
        self.job = Slot()
        self.step = None  # once a step has run: returns the number of the one whose function calls it
        self.lines = False  # send the line of the script that makes a call
        self.bye = Slot()
        self.network = None  # takes the frames of streams
        self.standby = None  # the Slot of the thread that reads if no call waits
        self.outgoing = SimpleQueue()
        self.ending = os.eventfd(0)  # wakes the watching thread
        self.put(b'{"type":"hello","protocol":1,"secret":%b,"runtime":%b}' % (quote(secret).encode(), quote("python " + sys.version.split()[0]).encode()))
        self.threads = [threading.Thread(target=work, name="mcprun", daemon=True) for work in (self.write, self.watch)]
        for thread in self.threads:
            thread.start()
        os.register_at_fork(after_in_child=self.sock.close)

    # ---- writing ----

    def put(self, *parts):
        """Send a frame. The caller holds the lock, or is alone."""
        size = sum(map(len, parts))
        head = size.to_bytes(4, "big")
        if self.backlog == 0 and size <= SMALL:
            frame = b"".join((head, *parts))
            try:
                sent = self.sock.send(frame, MSG_DONTWAIT)
            except BlockingIOError:
                sent = 0
            except OSError:
                return self.lost()
            if sent == len(frame):
                return None
            head, parts = frame[sent:], ()
        # In its own thread, so that an exception raised by a signal in the main thread cannot split a frame.
        self.backlog += 1
        self.outgoing.put((head, *parts))
        return None

    def write(self):
        try:
            while parts := self.outgoing.get():
                for part in parts:
                    self.sock.sendall(part)
                with self.lock:
                    self.backlog -= 1
        except OSError:
            self.lost()

    # ---- reading ----

    def watch(self):
        """Wait for the end of the connection, whatever the script is doing, or for the end of the script."""
        poll = select.poll()
        poll.register(self.sock, getattr(select, "POLLRDHUP", 0))
        poll.register(self.ending, select.POLLIN)
        while not poll.poll(WATCH_TIME) and not self.ended():
            pass  # gVisor does not report the end of the connection
        self.lost()

    def ended(self):
        """Report whether the host has closed the connection and everything it sent was read."""
        try:
            return not self.sock.recv(1, MSG_PEEK | MSG_DONTWAIT)
        except BlockingIOError:
            return False
        except OSError:
            return True

    def lost(self):
        """End the process at once, because the host is gone."""
        if not self.over:
            os._exit(EXIT_LOST)
        self.bye.answer = True
        self.bye.wake()

    def ready(self, timeout):
        """Report whether there is something to read within that many seconds."""
        poll = select.poll()
        poll.register(self.sock, select.POLLIN)
        return bool(poll.poll(max(0, timeout) * 1000))

    def receive(self, slot, deadline=None):
        """Read until there is an answer for slot, or until the deadline. The caller is the reader."""
        while slot.answer is None:
            pieces, start = self.stream
            frame, end, want = cut(pieces, start)
            if frame is not None:
                self.dispatch(frame)
                self.stream = (pieces, end) if end < len(pieces[0]) else ([], 0)
                continue
            if self.bye.answer is not None and slot is not self.bye:
                self.park()
            if deadline is not None and not self.ready(deadline - time.monotonic()):
                return
            # In one step for signals: received bytes are either in the list or still in the socket.
            try:
                pieces.extend(map(self.sock.recv, (max(RECEIVE, min(want, MOST)),)))
            except OSError:
                self.lost()
            else:
                if not pieces[-1]:
                    self.lost()

    def park(self):
        """Block while the interpreter exits: it would kill a thread that returns then."""
        while True:
            time.sleep(1 << 20)

    def dispatch(self, frame):
        head = bytes(frame[:MAX_HEAD])
        if head.startswith(REPLY):
            # The value is parsed by the thread that waits for it.
            call_id, failed, kind, start = reply(head)
            self.settle(call_id, (failed, kind, frame[start:-1]))
            return
        if head.startswith(STREAM):
            from _mcprun_network import parsed

            self.network.frame(*parsed(head, bytes(frame)))
            return
        message, _ = make_scanner(Plain)(str(frame, "utf-8"), 0)
        if message["type"] in ("job", "wait"):
            self.job.answer = message
        elif message["type"] == "bye":
            self.bye.answer = True
            self.bye.wake()

    def settle(self, call_id, answer):
        slot = self.waiting.get(call_id)
        if slot is None:
            return  # cancelled meanwhile
        slot.answer = answer
        slot.wake()
        self.forget(slot)

    def forget(self, slot):
        with self.lock:
            if self.waiting.pop(slot.id, None) is not None:
                self.waiting_bytes -= slot.size
                if self.held:
                    self.room.notify()

    def wait(self, slot):
        """Wait for the reply, as the reader if there is no other."""
        while slot.answer is None:
            with self.lock:
                if reads := self.reader is None:
                    self.reader = slot
                elif self.reader.thread == slot.thread:
                    raise CallError({"kind": "internal", "message": "a signal handler cannot call a tool while its thread waits for another call"})
            if reads:
                self.receive(slot)
            else:
                slot.turn.acquire()

    def leave(self, slot):
        """Stop waiting for a reply: cancel a call without one, and let another thread read. It may be called twice."""
        with self.lock:
            if slot.id in self.waiting:
                self.forget(slot)
                if slot.sent and slot.answer is None and not self.over:
                    self.put(b'{"type":"cancel","id":%d}' % slot.id)
            if self.reader is slot:
                self.reader = None
            if self.reader is None:
                for other in self.waiting.values():
                    other.wake()
                    break
                else:
                    if self.standby is not None:
                        self.standby.wake()

    # ---- calls ----

    def call(self, tool, args=None, *, timeout=None, raw=False):
        """Call a tool and return its value; blocks. Raises CallError.

        timeout is in seconds: how long to wait once the call is under way; raw asks for the whole CallToolResult.
        """
        if not isinstance(tool, str):
            raise CallError({"kind": "argument", "message": "the tool id is not a string"})
        try:
            body = encode({} if args is None else args, "input")
            head = b'"tool":%b,"args":' % encode(tool, "the tool id")
            tail = options(timeout, raw)
        except NotJSON as error:
            raise CallError({"kind": "argument", "message": str(error), "tool": tool}) from None
        kind, value = self.exchange(b"call", head, body, tail, tool)
        if kind:
            return self.values().decode(kind, value, tool)
        if raw and isinstance(value, dict):
            value["content"] = self.values().blocks(value.get("content"), tool)
        return value

    def request(self, method, params=None):
        """Send a request that is not a tool call, and return the reply; blocks. Raises CallError."""
        try:
            body = encode({} if params is None else params, "params")
            head = b'"method":%b,"params":' % encode(str(method), "the method")
        except NotJSON as error:
            raise CallError({"kind": "argument", "message": str(error)}) from None
        _, value = self.exchange(b"request", head, body, b"", None)
        return self.values().from_request(method, value, params)

    def exchange(self, kind, head, body, tail, tool):
        """Send a call and wait for its reply: the kind of its value, and the value.

        An exception from a signal meanwhile cancels the call.
        """
        self.admit(body, head, tool)
        if self.step and (step := self.step()):
            tail += b',"step":%d' % step
        if self.lines:
            tail += line_of_script()
        slot = Slot(len(body))
        try:
            with self.lock:
                while len(self.waiting) >= MAX_CALLS or (self.waiting and self.waiting_bytes + len(body) > MAX_CALL_BYTES):
                    self.held += 1
                    try:
                        self.room.wait()
                    finally:
                        self.held -= 1
                if self.over:
                    raise CallError({"kind": "cancelled", "message": "the script has ended", "tool": tool})
                self.last_id += 1
                slot.id = self.last_id
                self.waiting[slot.id] = slot
                self.waiting_bytes += slot.size
                self.put(b'{"type":"%b","id":%d,%b' % (kind, slot.id, head), body, tail + b"}")
                slot.sent = True
            self.wait(slot)
        finally:
            try:
                self.leave(slot)
            except BaseException:  # a signal in the middle of it
                self.leave(slot)
                raise
        failed, kind, text = slot.answer
        try:
            value = parse(str(text, "utf-8"))
        except (ValueError, RecursionError) as error:
            raise CallError({"kind": "protocol", "message": f"the answer cannot be read: {error}", "tool": tool}) from None
        if failed:
            if value.get("content"):
                value["content"] = self.values().blocks(value["content"], tool)
            raise CallError({"tool": tool, **value})
        return kind, value

    def values(self):
        """Return the maker of values that are more than plain JSON."""
        if self.made is None:
            from _mcprun_values import Values

            self.made = Values(self.request)
        return self.made

    def admit(self, body, head, tool):
        """Refuse what cannot be sent."""
        if not body.startswith(b"{"):
            raise CallError({"kind": "argument", "message": "the input is not an object", "tool": tool})
        if len(body) + len(head) + 200 > MAX_FRAME:
            message = f"the input has {len(body)} bytes; one call can have at most {MAX_FRAME}"
            raise CallError({"kind": "argument", "message": message, "tool": tool})
        if os.getpid() != self.pid:
            message = "tools can be called from the script's own process only, not from one it has forked; use threads"
            raise CallError({"kind": "internal", "message": message, "tool": tool})

    # ---- the end ----

    def done(self, members):
        """Send done, once, and wait a short time for bye."""
        with self.lock:
            if self.over or os.getpid() != self.pid:
                return
            self.over = True
            self.room.notify_all()
            if notes := getattr(sys.modules.get("_mcprun_values"), "notes", None):
                members += b',"notes":{' + ",".join(f"{quote(name)}:{n}" for name, n in notes.items()).encode() + b"}"
            if self.wrote:
                members += b',"wrote":[' + ",".join(map(quote, self.wrote)).encode() + b"]"
            if len(members) + 20 > MAX_FRAME:
                sys.stderr.write(f"mcprun: the result has more than {MAX_FRAME} bytes and was left out; write it to a file instead\n")
                members = b""
            self.put(b'{"type":"done"', members, b"}")
            self.outgoing.put(())  # nothing follows
            if reads := self.reader is None:
                self.reader = self.bye
        if reads:
            self.receive(self.bye, time.monotonic() + BYE_TIMEOUT)
        else:
            self.bye.turn.acquire(timeout=BYE_TIMEOUT)
        if self.bye.answer is None:
            return
        try:
            os.eventfd_write(self.ending, 1)
            self.sock.shutdown(SHUT_RDWR)
        except OSError:
            pass
        # The interpreter kills a thread that wakes up while it exits, for which the C library opens a file. Without
        # descriptors that aborts the process.
        for thread in self.threads:
            thread.join(BYE_TIMEOUT)

    def open_network(self):
        """Let programs reach the run's proxy."""
        import _mcprun_network

        self.standby = Slot()
        self.network = _mcprun_network.start(self, self.standby)

    def next_job(self):
        """Wait for the job, and return it, or None when the host says that there is no job yet. Nothing else reads yet."""
        self.job.answer = None
        self.receive(self.job)
        return self.job.answer if self.job.answer["type"] == "job" else None

    def has_news(self):
        """Report whether there are unprocessed bytes of the host. No other thread reads yet."""
        return bool(self.stream[0]) or self.ready(0)


def reply(head):
    """Parse the head of a reply: the call's id, whether it failed, the kind of its value, and where that begins."""
    end = head.index(b",", len(REPLY))
    call_id, start, kind = int(head[len(REPLY) : end]), end + 1, None
    if head.startswith(KIND, start):
        end = head.index(b'"', start + len(KIND))
        kind, start = head[start + len(KIND) : end], end + 2
    return call_id, head.startswith(ERROR, start), kind, start + len(ERROR)


def cut(pieces, start):
    """Return the next frame and where it ends in the first piece, or None and how many bytes it still lacks."""
    have = sum(map(len, pieces)) - start
    if have < 4:
        return None, 0, 4 - have
    if len(pieces) > 1 and len(pieces[0]) < start + 4:
        pieces[:] = [b"".join(pieces)]
    size = int.from_bytes(pieces[0][start : start + 4], "big")
    end = start + 4 + size
    if have < 4 + size:
        return None, 0, 4 + size - have
    if len(pieces[0]) < end:
        pieces[:] = [b"".join(pieces)]
    return memoryview(pieces[0])[start + 4 : end], end, 0


def line_of_script():
    """Encode the line that makes a call as a member, or as nothing. The script's own files have relative names; skills lie below SKILLS."""
    frame = sys._getframe(1)
    while frame:
        name = frame.f_code.co_filename
        if name.startswith(SKILLS):
            name = name[len(ROOT) :]
        if name[:1] not in ("/", "<"):
            return b',"at":%b' % quote(f"{name}:{frame.f_lineno}").encode()
        frame = frame.f_back
    return b""


def options(timeout, raw):
    """Encode the options of a call as a member, or as nothing."""
    if timeout is None and not raw:
        return b""
    members = []
    if timeout is not None:
        if isinstance(timeout, bool) or not isinstance(timeout, (int, float)) or not 0 < timeout:
            raise NotJSON(f"timeout is {timeout!r:.100}, which is not a number of seconds above zero")
        members.append(b'"timeoutMs":%d' % min(max(1, round(min(timeout, 1e7) * 1000)), 2**31 - 1))
    if raw:
        members.append(b'"raw":true')
    return b',"options":{%b}' % b",".join(members)


def connect(address):
    """Connect to the host, or take the socket that was inherited."""
    kind, _, rest = address.removeprefix("net:").partition(":")
    if kind == "unix":
        sock = socket(AF_UNIX, SOCK_STREAM)
        sock.connect(rest)
    elif kind == "fd":
        sock = socket(fileno=int(rest))
        os.set_inheritable(sock.fileno(), False)
    else:
        raise ValueError(f"the address has an unknown form: {address}")
    sock.setblocking(True)
    return sock
