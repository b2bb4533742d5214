"""The sandbox's end of the run's proxy: programs connect to a port of this machine, and the bridge carries what they say to the host."""

import errno
import os
import select
import threading
from _socket import AF_INET, SHUT_WR, SO_REUSEADDR, SOCK_STREAM, SOL_SOCKET, socket
from binascii import a2b_base64, b2a_base64

HOST, PORT = "127.0.0.1", 3128
WINDOW = 256 * 1024  # bytes of a connection on their way in one direction
MOST = 64 * 1024  # bytes of one frame
PARALLEL = 64  # connections at once: the host accepts no more, so further ones wait
AGAIN = (errno.EAGAIN, errno.EWOULDBLOCK, errno.EINTR)
HANGUP = select.POLLHUP | select.POLLERR | select.POLLNVAL


class Connection:
    """One connection of a program."""

    __slots__ = ("credit", "id", "listens", "out", "over", "sock")

    def __init__(self, number, sock):
        self.id = number
        self.sock = sock
        self.credit = WINDOW  # bytes that may be sent to the host
        self.out = bytearray()  # what the host has sent, and the program has not read
        self.over = False  # the host sends nothing more
        self.listens = True  # the program may say more


class Network:
    """All connections. One thread moves their bytes; another one reads from the bridge when no call does."""

    def __init__(self, bridge, slot):
        self.bridge = bridge
        self.slot = slot
        self.listener = socket(AF_INET, SOCK_STREAM)
        self.listener.setsockopt(SOL_SOCKET, SO_REUSEADDR, 1)
        self.listener.bind((HOST, PORT))
        self.listener.listen(64)
        self.listener.setblocking(False)
        self.news = os.eventfd(0, os.EFD_NONBLOCK)  # frames arrived
        self.lock = threading.Lock()  # guards frames
        self.frames = []
        self.last = 0
        self.open = {}  # id → Connection
        self.files = {}  # descriptor → Connection
        self.accepts = True  # the listener is polled
        for work in (self.move, self.read):
            threading.Thread(target=work, name="mcprun network", daemon=True).start()
        os.register_at_fork(after_in_child=self.forget)

    def forget(self):
        """In a child, leave the connections to the parent."""
        self.listener.close()
        for each in self.open.values():
            each.sock.close()

    def read(self):
        """Read from the bridge whenever no other thread does."""
        self.slot.thread = threading.get_ident()
        self.bridge.wait(self.slot)

    def frame(self, kind, number, value):
        """Take a frame from the bridge: data, more or close. Called by the thread that reads from it."""
        with self.lock:
            self.frames.append((kind, number, value))
        os.eventfd_write(self.news, 1)

    def put(self, *parts):
        with self.bridge.lock:
            if not self.bridge.over:
                self.bridge.put(*parts)

    def move(self):
        poll = select.poll()
        poll.register(self.listener, select.POLLIN)
        poll.register(self.news, select.POLLIN)
        while True:
            for fd, events in poll.poll():
                if fd == self.news:
                    os.eventfd_read(self.news)
                    self.take(poll)
                elif fd == self.listener.fileno():
                    self.accept(poll)
                elif each := self.files.get(fd):
                    self.serve(each, events, poll)

    def watch(self, each, poll):
        """Wait for what a connection can do next."""
        events = (select.POLLIN if each.listens and each.credit > 0 else 0) | (select.POLLOUT if each.out else 0)
        poll.register(each.sock, events)

    def accept(self, poll):
        try:
            fd, _ = self.listener._accept()
        except OSError as error:
            if error.errno not in AGAIN:  # too many files are open
                self.pause(poll)
            return
        sock = socket(fileno=fd)
        sock.setblocking(False)
        self.last += 1
        each = Connection(self.last, sock)
        self.open[each.id] = self.files[sock.fileno()] = each
        self.put(b'{"type":"open","stream":%d}' % each.id)
        self.watch(each, poll)
        if len(self.open) >= PARALLEL:
            self.pause(poll)

    def pause(self, poll):
        """Accept nothing until a connection ends."""
        if self.accepts and self.open:
            self.accepts = False
            poll.unregister(self.listener)

    def serve(self, each, events, poll):
        try:
            if events & select.POLLOUT and each.out:
                sent = each.sock.send(each.out[:MOST])
                del each.out[:sent]
                self.put(b'{"type":"more","stream":%d,"bytes":%d}' % (each.id, sent))
            if events & (select.POLLIN | HANGUP) and each.listens and each.credit > 0:
                data = each.sock.recv(min(each.credit, MOST))
                if data:
                    each.credit -= len(data)
                    self.put(b'{"type":"data","stream":%d,"data":"' % each.id, b2a_base64(data, newline=False), b'"}')
                else:
                    each.listens = False
                    self.put(b'{"type":"shut","stream":%d}' % each.id)
            elif events & HANGUP:
                return self.close(each, poll, True)
        except OSError as error:
            if error.errno not in AGAIN:
                return self.close(each, poll, True)
        return self.settle(each, poll)

    def take(self, poll):
        """Apply the frames that have arrived."""
        with self.lock:
            frames, self.frames = self.frames, []
        touched = {}
        for kind, number, value in frames:
            each = self.open.get(number)
            if each is None:
                continue  # it was closed meanwhile
            if kind == "data":
                each.out += value
            elif kind == "more":
                each.credit += value
            elif kind == "close":
                each.over = True
            touched[number] = each
        for each in touched.values():
            self.settle(each, poll)

    def settle(self, each, poll):
        if each.over and not each.out:
            self.close(each, poll, False)
        else:
            self.watch(each, poll)

    def close(self, each, poll, tell):
        poll.unregister(each.sock)
        self.open.pop(each.id, None)
        self.files.pop(each.sock.fileno(), None)
        try:
            each.sock.shutdown(SHUT_WR)
        except OSError:
            pass
        each.sock.close()
        if not self.accepts:
            self.accepts = True
            poll.register(self.listener, select.POLLIN)
        if tell:
            self.put(b'{"type":"close","stream":%d}' % each.id)


def start(bridge, slot):
    """Start the network, and return what takes its frames."""
    return Network(bridge, slot)


def parsed(head, frame):
    """Read a frame: its kind, stream, and data or number of bytes. head is its beginning."""
    kind = head[len(b'{"type":"') : head.index(b'"', len(b'{"type":"'))].decode()
    start = head.index(b'"stream":') + len(b'"stream":')
    end = next(i for i in range(start, len(head)) if head[i : i + 1] in (b",", b"}"))
    number = int(head[start:end])
    if kind == "data":
        return kind, number, a2b_base64(frame[end + len(b',"data":"') : -2])
    if kind == "more":
        return kind, number, int(frame[end + len(b',"bytes":') : -1])
    return kind, number, None
