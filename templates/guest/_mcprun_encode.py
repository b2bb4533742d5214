"""Values on their way out of a script: strict JSON. See guest.py."""

MAX_DEPTH = 500  # the host allows 512, counting the frame around a value

INFINITY = float("inf")
VIEWS = (type({}.keys()), type({}.values()), type({}.items()))
SCALARS = frozenset((str, int, float, bool, type(None)))
PACKAGE = []  # json, once it is loaded


def json():
    """Return the package json. It is loaded when there is a use for it, see guest.py, and kept: a script may have a file of
    that name."""
    if not PACKAGE:
        PACKAGE.append(__import__("json"))
    return PACKAGE[0]


class NotJSON(Exception):
    """A value that JSON cannot hold."""


class Stored:
    """The base class of handles on results in files; it can describe itself."""


def encode(value, where, default=None):
    """Encode a value as JSON, strictly: what JSON cannot hold, or would hold as something else, is an error.

    default converts a value that is not JSON, or raises TypeError; without it such a value is an error.
    """
    try:
        text = json().dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"), default=default).encode()
    except (ValueError, TypeError, RecursionError) as error:
        check(value, where)
        # For example an integer of more digits than Python will print.
        raise NotJSON(f"{where}: {error}") from None
    if not plain(value):
        check(value, where, default=default)
    return text


def plain(value):
    """Report whether an encoded value was encoded unchanged: keys are strings, and it is not nested too deep.

    This is fast and may say no where check finds nothing wrong.
    """
    level = [value]
    for _ in range(MAX_DEPTH):
        inner = []
        for item in level:
            kind = type(item)
            if kind is dict:
                for key in item:
                    if type(key) is not str:
                        return False
                inner += [each for each in item.values() if type(each) not in SCALARS]
            elif kind is list or kind is tuple:
                inner += [each for each in item if type(each) not in SCALARS]
            elif kind not in SCALARS:
                return False
        if not inner:
            return True
        level = inner
    return False


def check(value, where, depth=0, parents=(), default=None):
    """Raise NotJSON with the place if encode would fail on value or change it silently."""
    if value is None or isinstance(value, (bool, int)):
        return
    if isinstance(value, str):
        try:
            value.encode()
        except UnicodeEncodeError:
            raise NotJSON(f"{where} holds half of a surrogate pair, which JSON cannot hold") from None
        return
    if isinstance(value, float):
        if value != value or value in (INFINITY, -INFINITY):
            raise NotJSON(f"{where} is {value}, which JSON cannot hold")
        return
    if not isinstance(value, (dict, list, tuple)):
        if default is not None and isinstance(value, Stored):
            return
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
            check(item, f"{where}.{key}" if key.isidentifier() else f"{where}[{key!r}]", depth + 1, parents, default)
    else:
        for i, item in enumerate(value):
            check(item, f"{where}[{i}]", depth + 1, parents, default)


def as_text(value, describe, parents=frozenset()):
    """Return a copy of a value in which a text stands for what JSON cannot hold, as with json.dumps(value, default=str)."""
    if id(value) in parents or len(parents) > MAX_DEPTH:
        raise NotJSON("the value contains itself, or is nested too deep")
    inner = parents | {id(value)} if isinstance(value, (dict, list, tuple)) else parents
    if isinstance(value, dict):
        return {as_text(key if isinstance(key, str) else str(key), describe): as_text(item, describe, inner) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [as_text(item, describe, inner) for item in value]
    if isinstance(value, str):
        return value.encode(errors="replace").decode()
    if value is None or isinstance(value, (bool, int)):
        return value
    if isinstance(value, float):
        return value if value - value == 0 else json().dumps(value)
    if hasattr(value, "__next__") or hasattr(value, "__await__"):  # an iterator or awaitable is not its result
        raise NotJSON("the value has still to be computed")
    if isinstance(value, VIEWS):
        return as_text(list(value), describe, parents)
    return describe(value) if isinstance(value, Stored) else str(value)


def describe(value):
    """Describe a value that JSON cannot hold, and what to use instead if that is known."""
    if isinstance(value, Stored):
        return f"a stored result of {value.size:,} bytes; pass .json() or .text() of it"
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
    elif hasattr(value, "__await__"):
        hint = "; await it first"
    return f"of type {name}, which JSON cannot hold{hint}"
