"""Reports of uncaught errors. See guest.py."""

import builtins
import json
import os
import re
import sys
import threading
import traceback
import types

import _mcprun_modules

MAX_STACK = 64 * 1024
MAX_REPORT = 64 * 1024  # bytes of an error that are printed
LONG = 1024  # characters of a message that may have to be cut
NATIVE = re.compile(r"\. Did you mean: '[^'\n]*'\?\Z")
UNSAFE = re.compile("[\0-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]")
CLIENTS = tuple(os.path.join(_mcprun_modules.ROOT, "servers", name) for name in ("client.py", "_content.py"))


def ours(filename):
    """Report whether a frame does not belong to the script: this guest, what imports, the client below a wrapper."""
    return filename in CLIENTS or filename.startswith("<frozen importlib") or os.path.dirname(filename) == _mcprun_modules.HERE


def of_loop(filename):
    """Report whether a frame belongs to the event loop of a top-level await, or to the start of a thread."""
    return filename == threading.__file__ or os.path.dirname(filename) == os.path.join(os.path.dirname(threading.__file__), "asyncio")


def trim(report):
    """Remove our frames from a traceback and from those it was caused by, and what lies between us and the script. Return
    all of them."""
    seen = {}
    pending = [report]
    while pending:
        item = pending.pop()
        if item is None or id(item) in seen:
            continue
        seen[id(item)] = item
        own = [frame for frame in item.stack or () if not ours(frame.filename)]
        while len(own) > 1 and of_loop(own[0].filename):
            own.pop(0)
        item.stack = traceback.StackSummary.from_list(own) if own else None
        pending += [item.__cause__, item.__context__, *(getattr(item, "exceptions", None) or ())]
    return list(seen.values())


def plain(text):
    """Return a text for a terminal, which gets what servers say in it: characters that would move its cursor, or turn the
    direction of text, are shown as escapes."""
    return UNSAFE.sub(lambda found: ascii(found.group())[1:-1], text)


def size_of(text):
    return len(text.encode(errors="backslashreplace"))


def cut(text, most):
    """Return the beginning of a text, and how much more there was."""
    data = text.encode(errors="backslashreplace")
    if len(data) <= most:
        return text
    kept = data[:most].decode(errors="ignore")
    return f"{kept}… ({len(data.decode()) - len(kept)} characters left out)"


def shorten(items):
    """Let long messages, and notes, end early, so that all of them fit into half of a report; the other half is for frames."""
    places = []  # an object, the name of what is cut, and the text
    for item in items:
        for name in ("_str", "msg"):
            places.append((item, name, getattr(item, name, None)))
        notes = getattr(item, "__notes__", None)
        if isinstance(notes, (list, tuple)) and all(isinstance(note, str) for note in notes):
            item.__notes__ = ["\n".join(notes)]
            places.append((item.__notes__, 0, item.__notes__[0]))
    places = [place for place in places if isinstance(place[2], str) and len(place[2]) > LONG]
    for holder, name, text in places:
        text = cut(plain(text), max(LONG, MAX_REPORT // 2 // len(places)))
        if name == 0:
            holder[0] = text
        else:
            setattr(holder, name, text)


def bounded(text):
    """Return a text that is no longer than what may be printed: of a longer one the beginning and more of the end, where the
    innermost frames and the message are."""
    data = text.encode(errors="backslashreplace")
    if len(data) <= MAX_REPORT:
        return text
    head = data[: MAX_REPORT // 4].decode(errors="ignore")
    tail = data[len(data) - MAX_REPORT * 3 // 4 + 64 :].decode(errors="ignore")
    return f"{head}… ({len(data.decode()) - len(head) - len(tail)} characters left out) …{tail}"


def formatted(error):
    """Return what Python would print of an error, without our frames, and with names similar to a missing one."""
    report = traceback.TracebackException(type(error), error, error.__traceback__, compact=True)
    items = trim(report)
    text = "".join(report.format())
    if size_of(plain(text)) > MAX_REPORT:
        shorten(items)
        text = "".join(report.format())
    try:
        hint = hint_of(error)
    except Exception:  # an error of the script's own class may do anything
        hint = ""
    if hint:  # newer versions have one of their own
        text = NATIVE.sub("", text.rstrip()) + hint + "\n"
    return text, hint


def hint_of(error):
    """Return the hint for an error's message: names that may have been meant."""
    if isinstance(error, ModuleNotFoundError):
        return ""
    if isinstance(error, ImportError):
        module, wanted = sys.modules.get(error.name or ""), imported(error)
        return names(wanted, public(module)) if module is not None and wanted else ""
    if isinstance(error, AttributeError) and isinstance(error.obj, types.ModuleType):
        return names(error.name, public(error.obj))
    if isinstance(error, AttributeError) and isinstance(error.obj, dict) and error.name in error.obj:
        return f"; it is a key: write [{error.name!r}]"
    if isinstance(error, NameError) and not isinstance(error, UnboundLocalError):
        return names(error.name, visible(error))
    return ""


def imported(error):
    """Return the name that an import statement did not find."""
    name = getattr(error, "name_from", None)
    if name is None and error.msg and error.msg.startswith("cannot import name '"):
        name = error.msg.split("'")[1]
    return name


def public(module):
    found = [name for name in dir(module) if not name.startswith("_")]
    return sorted({*found, *_mcprun_modules.inside(getattr(module, "__path__", ()))})


def visible(error):
    """Return the names that were defined at the place of the error."""
    at = error.__traceback__
    while at is not None and at.tb_next is not None:
        at = at.tb_next
    frame = at and at.tb_frame
    library = getattr(sys.modules.get("mcprun"), "__all__", ())  # not all of it may be among the builtins
    return sorted({*(frame.f_locals if frame else ()), *(frame.f_globals if frame else ()), *dir(builtins), *library})


def names(wanted, there):
    near = _mcprun_modules.close(wanted or "", there)
    return f". Did you mean: {' or '.join(map(repr, near))}?" if near else ""


def uncaught(error, hook):
    """Print an uncaught error, as Python would, and return it as members of done."""
    text, hint = formatted(error)
    if sys.excepthook is not hook:
        try:
            sys.excepthook(type(error), error, error.__traceback__)
        except Exception:
            traceback.print_exc()
    else:
        show(text)
    try:
        message = str(error) + hint
    except Exception:
        message = ""
    fields = {"name": type(error).__qualname__, "message": message[:MAX_STACK], "stack": text[:MAX_STACK]}
    # Errors may hold what UTF-8 cannot.
    return b',"error":' + json.dumps(fields, ensure_ascii=False).encode(errors="replace")


def show(text):
    try:
        sys.stdout.flush()
        sys.stderr.write(bounded(plain(text)))
    except (OSError, ValueError, AttributeError):
        pass  # it is closed at one of its ends


def in_thread(args):
    """Report an error that ended a thread."""
    if args.exc_type is not SystemExit and args.exc_value is not None:
        name = args.thread.name if args.thread else threading.get_ident()
        show(f"Exception in thread {name}:\n{formatted(args.exc_value)[0]}")
