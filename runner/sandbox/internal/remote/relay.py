"""The first program in a container whose engine shares neither folders nor sockets with its host.

The bridge and the script's three streams go through this program's own standard input and output. frame.go describes the
frames.

It is process 1 of its container and cannot be traced, so that a script can neither kill nor stop nor impersonate it.
The host nevertheless trusts nothing that it says.
"""

import _socket
import ctypes
import os
import resource
import select
import signal
import struct
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import enter
from meter import Meter

EXIT_LOST = 125  # exit code of guest programs that have no host

WINDOW = 1 << 20  # how many bytes of a channel may be in flight, in each direction
CHUNK = 64 << 10  # bytes in one frame, at most
BUSY = 256 << 10  # while this much waits to be sent, nothing more is read
LOOK = 0.02  # seconds between two measurements of what the guest has used

START, RUN, BRIDGE, STDIN, GRANT, KILL, QUIT = b"SRBIGKQ"
STDOUT, STDERR, EXITED, DONE, LIMIT, FAULT = b"OEXDLF"
CLOSED = 0x20  # added to a channel's letter: the end of the channel

PR_SET_DUMPABLE = 4


def alone():
    """Kill every other process of the container; none can prevent it or escape by forking."""
    try:
        os.kill(-1, signal.SIGKILL)
    except OSError:
        pass  # there are no others


class Incoming:
    """Bytes from the host for one descriptor of the guest, or for none once it is closed."""

    def __init__(self, relay, kind, fd):
        self.relay, self.kind, self.fd = relay, kind, fd
        self.data = bytearray()
        self.ending = False

    def add(self, data):
        if self.fd is None:
            self.relay.grant(self.kind, len(data))
        else:
            self.data += data

    def end(self):
        self.ending = True
        if not self.data:
            self.close()

    def flush(self):
        try:
            n = os.write(self.fd, memoryview(self.data)[: 4 * CHUNK])
        except BlockingIOError:
            return
        except OSError:
            self.lose()  # the guest has closed its end
            return
        del self.data[:n]
        self.relay.grant(self.kind, n)
        if self.ending and not self.data:
            self.close()

    def lose(self):
        self.relay.grant(self.kind, len(self.data))
        self.data.clear()
        self.close()

    def close(self):
        if self.fd is not None:
            if self.fd != self.relay.sources.get(BRIDGE):
                os.close(self.fd)
            else:
                self.relay.end_bridge()
            self.fd = None


class Relay:
    def __init__(self):
        self.out = bytearray()
        self.window = dict.fromkeys((BRIDGE, STDOUT, STDERR), WINDOW)
        self.owed = dict.fromkeys((BRIDGE, STDIN), 0)
        self.sources = {}  # channel → descriptor from which it is read
        self.sinks = {}  # channel → Incoming
        self.guest = 0  # its process ID while it is running, else 0
        self.status = None
        self.done = False  # everything was sent
        self.meter = Meter()
        self.frames = self.parse()
        next(self.frames)

    def send(self, kind, payload=b""):
        self.out += struct.pack(">BI", kind, len(payload))
        self.out += payload

    def grant(self, kind, n):
        self.owed[kind] += n
        if self.owed[kind] >= WINDOW // 4:
            self.send(GRANT, struct.pack(">BI", kind, self.owed[kind]))
            self.owed[kind] = 0

    def fault(self, text):
        self.send(FAULT, text.encode("utf-8", "replace")[:1000])
        self.ended(EXIT_LOST)

    # Input.

    def parse(self):
        """Split the input into frames; a generator that is sent the bytes as they arrive."""
        data = bytearray()
        while True:
            while len(data) < 5:
                data += yield
            kind, size = struct.unpack_from(">BI", data)
            while len(data) < 5 + size:
                data += yield
            payload = bytes(memoryview(data)[5 : 5 + size])
            del data[: 5 + size]
            self.handle(kind, payload)

    def handle(self, kind, payload):
        if kind == START:
            self.start(payload)
        elif kind == RUN:
            self.begin(payload)
        elif kind == GRANT:
            channel, n = struct.unpack(">BI", payload)
            self.window[channel] += n
        elif kind == KILL:
            self.kill()
        elif kind == QUIT:
            alone()
            os._exit(self.status or 0)
        elif kind in self.sinks:
            self.sinks[kind].add(payload)
        elif kind & ~CLOSED in self.sinks:
            self.sinks[kind & ~CLOSED].end()
        elif kind in self.owed:
            self.grant(kind, len(payload))

    def kill(self):
        alone()
        if not self.guest:
            self.ended(128 + signal.SIGKILL)

    def start(self, payload):
        secret, *command = payload.split(b"\0")
        try:
            self.spawn(secret, command)
        except OSError as error:
            self.fault(f"start the guest: {error}")

    def begin(self, payload):
        """Give the guest its run."""
        max_bytes, max_files, cpu = map(int, payload.split(b"\0"))
        if not self.meter.begin(cpu):
            alone()
            self.fault("processor time cannot be limited: the container does not see what it uses (gVisor shows it since 2023)")
        if max_bytes:
            self.meter.watch(max_bytes, max_files)

    def spawn(self, secret, command):
        mine, bridge = _socket.socketpair(_socket.AF_UNIX, _socket.SOCK_STREAM)
        secret_out, secret_in = os.pipe()
        os.write(secret_in, secret)
        os.close(secret_in)
        out, out_w = os.pipe()
        err, err_w = os.pipe()
        in_r, into = os.pipe()
        self.guest = os.fork()
        if not self.guest:
            become((in_r, out_w, err_w, bridge.detach(), secret_out), command)
        for fd in (secret_out, out_w, err_w, in_r, bridge.detach()):
            os.close(fd)
        conn = mine.detach()
        for fd in (out, err, into, conn):
            os.set_blocking(fd, False)
        self.sources = {BRIDGE: conn, STDOUT: out, STDERR: err}
        self.sinks = {BRIDGE: Incoming(self, BRIDGE, conn), STDIN: Incoming(self, STDIN, into)}

    def read(self, channel):
        try:
            data = os.read(self.sources[channel], min(CHUNK, self.window[channel]))
        except BlockingIOError:
            return
        except OSError:
            data = b""
        if data:
            self.window[channel] -= len(data)
            self.send(channel, data)
        elif channel == BRIDGE:
            self.end_bridge()
        else:
            os.close(self.sources.pop(channel))
            self.send(channel | CLOSED)

    def end_bridge(self):
        """Close the bridge in both directions."""
        fd = self.sources.pop(BRIDGE, None)
        if fd is None:
            return
        self.send(BRIDGE | CLOSED)
        sink = self.sinks[BRIDGE]
        sink.fd = None
        sink.lose()
        os.close(fd)

    def reap(self):
        while True:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return
            if pid == 0:
                return
            if pid == self.guest:
                self.guest = 0
                code = os.waitstatus_to_exitcode(status)
                alone()
                self.ended(code if code >= 0 else 128 - code)

    def ended(self, status):
        if self.status is None:
            self.status = status
            self.look()
            self.send(EXITED, struct.pack(">IIIQQ", status, *self.meter.figures()))

    def look(self):
        for limit in self.meter.passed():
            self.send(LIMIT, limit.encode())

    def run(self, wakeup):
        look_at = 0
        while True:
            quiet = len(self.out) < BUSY
            readers = {0: None, wakeup: None}
            if quiet:
                for channel, fd in self.sources.items():
                    if self.window[channel] > 0:
                        readers[fd] = channel
            if self.status is not None and not self.sources and not self.done:
                self.done = True
                self.send(DONE)
            writers = {}
            if self.out:
                writers[1] = None
            for channel, sink in self.sinks.items():
                if sink.data:
                    writers[sink.fd] = sink
            ready, writable, _ = select.select(readers, writers, (), LOOK if self.guest and self.meter.watching() else None)
            if wakeup in ready:
                os.read(wakeup, 4096)
            self.reap()
            for fd in ready:
                if fd == 0:
                    self.receive()
                elif fd != wakeup and readers[fd] in self.sources:
                    self.read(readers[fd])
            for fd in writable:
                if fd == 1:
                    self.transmit()
                elif writers[fd].fd is not None:
                    writers[fd].flush()
            if self.guest and self.meter.watching() and (now := time.monotonic()) >= look_at:
                self.look()
                look_at = now + LOOK

    def receive(self):
        try:
            data = os.read(0, 4 * CHUNK)
        except BlockingIOError:
            return
        if not data:  # the host is gone
            alone()
            os._exit(EXIT_LOST)
        self.frames.send(data)

    def transmit(self):
        try:
            n = os.write(1, memoryview(self.out)[: 4 * CHUNK])
        except BlockingIOError:
            return
        del self.out[:n]


def become(descriptors, command):
    """Turn a forked process into the guest, with its descriptors under their numbers. It does not return."""
    try:
        # First move them to other numbers, so that no move overwrites a descriptor that is still to be moved.
        high = [os.dup2(fd, 20 + i, False) for i, fd in enumerate(descriptors)]
        for place, fd in enumerate(high):
            os.dup2(fd, place, True)
        for number in (signal.SIGPIPE, signal.SIGXFSZ):  # Python ignores them
            signal.signal(number, signal.SIG_DFL)
        os.setsid()
        dumpable(1)
        try:  # if memory runs out, the kernel kills the guest first
            with open("/proc/self/oom_score_adj", "w") as file:
                file.write("500")
        except OSError:
            pass
        os.execvp(command[0], command)
    except BaseException as error:
        os.write(2, f"mcprun: enter the sandbox: {error}\n".encode())
    finally:
        os._exit(EXIT_LOST)


def dumpable(yes):
    ctypes.CDLL(None).prctl(PR_SET_DUMPABLE, *(ctypes.c_ulong(n) for n in (yes, 0, 0, 0)))


def main():
    if os.getpid() != 1:  # it kills all processes that it can see
        raise RuntimeError("this program is the first of a container")
    enter.forbid()
    dumpable(0)
    # From inside its container, process 1 gets only signals for which it has a handler.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    wakeup, into = os.pipe()
    os.set_blocking(into, False)
    os.set_blocking(wakeup, False)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    signal.set_wakeup_fd(into, warn_on_full_buffer=False)
    os.set_blocking(0, False)
    os.set_blocking(1, False)
    Relay().run(wakeup)


if __name__ == "__main__":
    try:
        main()
    except BaseException as error:
        if os.getpid() == 1:
            alone()
        sys.stderr.write(f"mcprun: {type(error).__name__}: {error}\n"[:1000])
        sys.stderr.flush()
        os._exit(EXIT_LOST)
