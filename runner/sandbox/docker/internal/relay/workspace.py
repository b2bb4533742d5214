"""The workspace of a container whose engine does not see the host's: fills it, and says how it has changed.

Package carry's record.go says what the records are.
"""

import errno
import os
import stat
import struct

CHUNK = 64 << 10
DIR, FILE, LINK, REMOVED, LEFT, END = b"dflxn."
MAX_PATH, MAX_DEPTH = 4000, 255
HOLES = (errno.EINVAL, errno.ENOTSUP)


class Workspace:
    """The folder that the script may write to, and what was in it at first."""

    def __init__(self, skip):
        self.root = "/workspace"
        self.skip = skip
        self.before = {}  # path → what identifies its state
        self.unseen = set()  # folders that could not be listed, and what could not be looked at
        self.left = 0
        self.example = ""

    def unpack(self):
        """Fill the folder; a generator that is sent the bytes of the records."""
        buffer = bytearray()
        locked = []

        def take(n):
            while len(buffer) < n:
                buffer.extend((yield))
            data = bytes(memoryview(buffer)[:n])
            del buffer[:n]
            return data

        def take_path():
            (n,) = struct.unpack(">H", (yield from take(2)))
            return os.fsdecode((yield from take(n)))

        while True:
            kind = (yield from take(1))[0]
            if kind == END:
                break
            if kind == DIR:
                (mode,) = struct.unpack(">H", (yield from take(2)))
                path = yield from take_path()
                os.mkdir(self.full(path), 0o700)
                locked.append((path, mode))
            elif kind == LINK:
                path = yield from take_path()
                os.symlink((yield from take_path()), self.full(path))
                self.before[path] = state(os.lstat(self.full(path)))
            elif kind == FILE:
                mode, mtime = struct.unpack(">Hq", (yield from take(10)))
                path = yield from take_path()
                with open(self.full(path), "xb", 0) as file:
                    while True:
                        at, n = struct.unpack(">QI", (yield from take(12)))
                        if n == 0:
                            file.truncate(at)
                            break
                        data = yield from take(n)
                        while data:
                            written = os.pwrite(file.fileno(), data, at)
                            at, data = at + written, data[written:]
                    os.fchmod(file.fileno(), mode)
                    os.utime(file.fileno(), ns=(mtime, mtime))
                self.before[path] = state(os.lstat(self.full(path)))
            else:
                raise ValueError(f"unknown record {kind}")
        for path, mode in reversed(locked):
            os.chmod(self.full(path), mode)
            self.before[path] = ("dir", mode)

    def full(self, path):
        return self.root + "/" + path

    def changes(self):
        """Yield records of what is different now; at most CHUNK bytes at a time, but for a path."""
        after = {}
        for path, entry in self.walk():
            after[path] = ("dir", stat.S_IMODE(entry.st_mode)) if stat.S_ISDIR(entry.st_mode) else state(entry)
        # The deepest first, so that a folder is empty when its turn comes.
        gone = [
            path
            for path, old in self.before.items()
            if (path not in after or kind_of(after[path]) != kind_of(old)) and not self.hidden(path)
        ]
        gone.sort(key=lambda path: path.count("/"), reverse=True)
        for path in gone:
            yield bytes((REMOVED,)) + packed(path)
        for path, now in after.items():
            if self.before.get(path) == now:
                continue
            if kind_of(now) == "dir":
                yield struct.pack(">BH", DIR, now[1] & 0o777) + packed(path)
            elif kind_of(now) == "link":
                yield bytes((LINK,)) + packed(path) + packed(os.readlink(self.full(path)))
            else:
                yield from self.file(path)
        if self.left:
            yield struct.pack(">BI", LEFT, self.left) + packed(self.example)
        yield bytes((END,))

    def walk(self):
        """Yield what is in the folder, a folder before what is in it. Only this program runs any more."""
        pending = [""]
        while pending:
            folder = pending.pop()
            try:
                names = self.list(folder)
            except OSError:
                if not folder:  # nothing is known, which is not the same as nothing being there
                    raise
                self.leave(folder)
                self.unseen.add(folder)
                continue
            for name in names:
                path = f"{folder}/{name}" if folder else name
                if path in self.skip:
                    continue
                raw = os.fsencode(path)
                try:
                    entry = os.lstat(self.full(path))
                except OSError:
                    self.leave(path)
                    self.unseen.add(path)
                    continue
                mode = entry.st_mode
                known = stat.S_ISDIR(mode) or stat.S_ISREG(mode) or stat.S_ISLNK(mode)
                if not known or len(raw) > MAX_PATH or path.count("/") >= MAX_DEPTH:
                    self.leave(path)
                    continue
                yield path, entry
                if stat.S_ISDIR(mode):
                    pending.append(path)

    def hidden(self, path):
        """Tell whether it could not be seen what is at path."""
        while self.unseen and path:
            if path in self.unseen:
                return True
            path = path.rpartition("/")[0]
        return False

    def leave(self, path):
        self.left += 1
        self.example = self.example or path[:200]

    def list(self, folder):
        full = self.full(folder)
        if folder and os.lstat(full).st_mode & 0o700 != 0o700:
            os.chmod(full, 0o700)
        return os.listdir(full)

    def file(self, path):
        full = self.full(path)
        entry = os.lstat(full)
        if not entry.st_mode & 0o400:
            os.chmod(full, 0o600)
        fd = os.open(full, os.O_RDONLY | os.O_NOFOLLOW)
        try:
            yield struct.pack(">BHq", FILE, entry.st_mode & 0o777, entry.st_mtime_ns) + packed(path)
            at = 0
            while at < entry.st_size:
                try:
                    at = os.lseek(fd, at, os.SEEK_DATA)
                except OSError as error:
                    if error.errno == errno.ENXIO:  # nothing but a hole up to the end
                        break
                    if error.errno not in HOLES:
                        raise
                data = os.pread(fd, CHUNK - 12, at)
                if not data:
                    break
                yield struct.pack(">QI", at, len(data)) + data
                at += len(data)
            yield struct.pack(">QI", entry.st_size, 0)
        finally:
            os.close(fd)


def state(entry):
    """What identifies a file's content; nobody but the kernel sets the time of its last change."""
    kind = "link" if stat.S_ISLNK(entry.st_mode) else "file" if stat.S_ISREG(entry.st_mode) else "other"
    return (kind, entry.st_ino, entry.st_ctime_ns, entry.st_size)


def kind_of(known):
    return known[0]


def packed(path):
    raw = os.fsencode(path)
    return struct.pack(">H", len(raw)) + raw
