"""Tries what a script must not be able to do. The arguments are a file of the host, and a port that is listened on."""

import os
import re
import socket
import sys

secret_file, port, gateway = sys.argv[1], int(sys.argv[2]), sys.argv[3]


def refused(what):
    try:
        what()
    except OSError:
        return True
    return False


def read(path):
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            return file.read()
    except OSError:
        return ""


def write(path):
    return lambda: open(path, "w").close()


def connects(host):
    return not refused(lambda: socket.create_connection((host, port), timeout=2).close())


status = read("/proc/self/status")


def member(name):
    found = re.search(rf"^{name}:\s*(\S+)", status, re.M)
    return found and found[1]


for path, text in (("mine.txt", "written inside"), ("/tmp/scratch.txt", "gone soon")):
    with open(path, "w") as file:
        file.write(text)
result = {
    "env": sorted(os.environ),
    "environ": "".join(read(f"/proc/{pid}/environ") for pid in ("self", "1")),
    "secretFile": refused(lambda: open(secret_file).close()),
    "config": refused(lambda: open("../.mcp.json").close()),
    "escape": refused(lambda: open("./way-out/secret.txt").close()),
    "writeRoot": refused(write("/planted")),
    "writeEtc": refused(write("/etc/planted")),
    "writeTree": refused(write("./servers/planted.ts")),
    "writeLock": refused(write("./servers/.mcpgen/lock.json")),
    "sockets": [path for path in ("/var/run/docker.sock", "/run/docker.sock") if os.path.exists(path)],
    "network": connects("127.0.0.1") or connects(gateway),
    "status": status and {"capabilities": member("CapEff"), "bounding": member("CapBnd"), "privileges": member("NoNewPrivs"),
                          "seccomp": member("Seccomp"), "user": member("Uid")},
}
