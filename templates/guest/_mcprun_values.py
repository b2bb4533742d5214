"""What a script gets from a call, where it is more than plain JSON: content that can be saved, a large result that lies
in a file, and in a dry run what stands for an answer that does not exist. See guest.py.
"""

import base64
import functools
import json
import os
import sys

from _mcprun_encode import Stored

SHOWN = 200  # characters of a block's data that are printed; of a preview, half as many again


class Content(dict):
    """One block of content, or one resource's contents, as MCP has it; its members are keys and attributes."""

    def __init__(self, members, read):
        super().__init__(members)
        self.__dict__["_read"] = read  # reads a resource by its URI

    def __getattr__(self, name):
        try:
            return self[name]
        except KeyError:
            raise AttributeError(f"this content has no {name!r}; it has {', '.join(self)}", name=name, obj=self) from None

    def __setattr__(self, name, value):
        self[name] = value

    def __repr__(self):
        shown = {}
        for name, value in self.items():
            if name in ("data", "blob") and isinstance(value, str) and len(value) > SHOWN:
                value = Shown(f"<{len(value) * 3 // 4:,} bytes: .bytes, .save(path)>")
            shown[name] = value
        return repr(shown)

    @property
    def bytes(self):
        """The decoded data: of a text its UTF-8, of a link what it leads to, which is requested from the server."""
        if isinstance(self.get("resource"), Content):
            return self["resource"].bytes
        for name in ("data", "blob"):
            if (data := whole(self.get(name))) is not None:
                try:
                    return base64.b64decode(data, validate=True)
                except ValueError as error:
                    raise ValueError(f"the content's {name} is not base64: {error}") from None
        if (text := whole(self.get("text"))) is not None:
            return text.encode(errors="replace")
        if self.get("type") == "resource_link":
            return self._read(self["uri"]).bytes
        raise ValueError(f"this content holds no data; it has {', '.join(self)}")

    def save(self, path):
        """Write the data to a file of the workspace, and return the file's path. Missing folders are made."""
        place = within(path)
        data = self.bytes
        os.makedirs(os.path.dirname(place), exist_ok=True)
        with open(place, "wb") as file:
            file.write(data)
        return place


class Shown:
    """A text that is printed without quotes."""

    def __init__(self, text):
        self.text = text

    def __repr__(self):
        return self.text


class Reader:
    """Reads resources of one server. A copy, also one in another process, asks by itself."""

    def __init__(self, server, request=None):
        self.server = server
        self.request = request

    def __reduce__(self):
        return Reader, (self.server,)

    def __call__(self, uri):
        contents = (self.request or sys.modules["_mcprun"].request)("resources/read", {"server": self.server, "uri": uri})["contents"]
        if not contents:
            raise ValueError(f"the resource {uri!r:.200} is empty")
        return contents[0]


class Handle(Stored):
    """A result that was too large to be passed to the script: it is in a file. size is in bytes; preview is its beginning.

    A script that knows nothing of handles still works: whatever is not a member of the handle is taken from the value, which is
    read when it is first needed.
    """

    def __init__(self, members, tool=None):
        self._tool = tool if members.get("content") else None  # what it is content of, which can be saved
        self._is_text = members["type"] == "text" or members.get("text", False)
        self.path = members["path"]
        self.size = members["size"]
        self.type = members["type"]
        self.preview = members["preview"]

    def text(self):
        """The whole result, as text."""
        with open(self.path, encoding="utf-8", newline="") as file:
            return file.read()

    def json(self):
        """The whole result, as a value."""
        if self._is_text:
            return parsed(self.text())
        value = json.loads(self.text())
        if self._tool is None:
            return value
        made = Values(sys.modules["_mcprun"].request)
        if isinstance(value, dict):
            return {**value, "content": made.blocks(value.get("content"), self._tool)}
        return made.blocks(value, self._tool)

    def lines(self):
        """The lines, one at a time, without their ends."""
        with open(self.path, encoding="utf-8") as file:
            for line in file:
                yield line.removesuffix("\n")

    @functools.cached_property
    def _value(self):
        return self.text() if self.type == "text" else self.json()

    def __repr__(self):
        begins = self.preview[: SHOWN * 3 // 2]
        return f"<a result of {self.size:,} bytes in {self.path}; read it with .json(), .text() or .lines(); it begins: {begins!r}>"

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return getattr(self._value, name)

    def __getitem__(self, key):
        return self._value[key]

    def __setitem__(self, key, item):
        self._value[key] = item

    def __iter__(self):
        return iter(self._value)

    def __reversed__(self):
        return reversed(self._value)

    def __len__(self):
        return len(self._value)

    def __contains__(self, item):
        return item in self._value

    def __bool__(self):
        return True  # it is large

    def __eq__(self, other):
        return self is other or self._value == (other._value if isinstance(other, Handle) else other)

    __hash__ = object.__hash__

    def __add__(self, other):
        return self._value + (other._value if isinstance(other, Handle) else other)

    def __radd__(self, other):
        return other + self._value

    def __format__(self, spec):
        return format(self.text() if "_value" not in vars(self) else self._value, spec) if self._is_text else repr(self)


class Placeholder(dict):
    """Stands, in a dry run, for the answer to a call that was not made. It can be passed on to other calls, and each of its
    members is the placeholder itself.
    """

    def _itself(self, *args, **kwargs):
        return self

    __getitem__ = get = __call__ = __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = __truediv__ = _itself

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return self

    def __repr__(self):
        return f"<result of call {dict.__getitem__(self, 'call')}>"

    __str__ = __repr__

    def __format__(self, spec):
        return repr(self)

    def __iter__(self):
        return iter(())

    def __len__(self):
        return 0

    def __bool__(self):
        return True

    def __contains__(self, key):
        return True

    def __lt__(self, other):
        return False

    __gt__ = __le__ = __ge__ = __lt__

    def __eq__(self, other):
        return self is other

    __hash__ = object.__hash__

    def __int__(self):
        return 0

    __index__ = __int__

    def __float__(self):
        return 0.0


notes = {}  # for the host, by what they are about


class Text(str):
    """A text that a tool returned. It notes where its characters are taken for the items of a list."""

    def __iter__(self):
        notes.setdefault(f"text {self.tool}", 1)
        return super().__iter__()

    def __reduce__(self):
        return str, (str(self),)


class ParsedText:
    """The base class of an object or list that was a JSON text. As a text it is that text, or the JSON of what it has become since."""

    __slots__ = ()

    def __str__(self):
        if json.loads(self._text) == self:
            return self._text
        try:
            return json.dumps(self, ensure_ascii=False)
        except (TypeError, ValueError):
            return repr(self)

    def __reduce_ex__(self, protocol):
        kind = type(self).__mro__[2]
        return kind, (kind(self),)


class ParsedDict(ParsedText, dict):
    __slots__ = ("_text",)


class ParsedList(ParsedText, list):
    __slots__ = ("_text",)



def parsed(text):
    """Return the value in a JSON text; an object or list keeps the text."""
    value = json.loads(text)
    if not isinstance(value, (dict, list)):
        return value
    made = (ParsedDict if isinstance(value, dict) else ParsedList)(value)
    made._text = text
    return made


def loads(s, **kw):
    if not isinstance(s, _mcprun_values):
        return _mcprun_loads(s, **kw)
    return _mcprun_loads(s.text() if isinstance(s, _mcprun_values[1]) else str(s), **kw)


def load_values():
    """Let json.loads take a value that was a JSON text. It gets other code, because scripts also import the function itself."""
    plain = type(loads)(json.loads.__code__, vars(json), "loads")
    plain.__kwdefaults__ = json.loads.__kwdefaults__
    json._mcprun_loads, json._mcprun_values = plain, (ParsedText, Handle)  # globals of the code
    json.loads.__code__, json.loads.__kwdefaults__ = loads.__code__, None


load_values()

class Members(dict):
    """An object in a result. It notes the members that a script asks it for with get and that it does not have; others are errors."""

    __slots__ = ("_note",)

    def get(self, key, default=None):
        if key not in self and isinstance(key, str) and key not in ("error", "errors", "isError") and len(notes) < 100:
            tool, path = self._note
            notes.setdefault(f"member {tool} {json.dumps([*path, key])}", 1)
        return super().get(key, default)

    def __reduce_ex__(self, protocol):
        return dict, (dict(self),)


def watch_members(value, tool):
    """Make Members of the objects in a result; of a list, of its first items."""
    left = 100

    def watch(value, path):
        nonlocal left
        left -= 1
        if left < 0:
            return value
        if isinstance(value, list):
            value[:3] = [watch(item, (*path, None)) for item in value[:3]]
        elif isinstance(value, dict):
            value = Members({name: watch(item, (*path, name)) for name, item in value.items()})
            value._note = tool, path
        return value

    return watch(value, ())


# In the interpreter's messages they are what they stand for.
for of, name in ((Text, "str"), (ParsedDict, "dict"), (ParsedList, "list"), (Members, "dict")):
    of.__name__ = of.__qualname__ = name
    of.__module__ = "builtins"


class Values:
    """Makes values from replies. request sends a request to the host."""

    def __init__(self, request):
        self.request = request

    def decode(self, kind, value, tool):
        """Make the kind of value that the reply names."""
        if kind == b"content":
            return self.blocks(value, tool)
        if kind == b"handle":
            return Handle(value, tool)
        if kind == b"dry":
            return Placeholder(value)
        if kind == b"json":
            return parsed(value)
        if kind == b"members":
            return watch_members(value, tool)
        if kind == b"text":
            value = Text(value)
            value.tool = tool
        return value

    def from_request(self, method, value, params):
        """Make the content objects in the reply to a request."""
        if not isinstance(value, dict):
            return value
        if method == "resources/read":
            value["contents"] = self.blocks(value.get("contents"), None, params)
            for item in value["contents"] if isinstance(value["contents"], list) else ():
                unstored(item)
        elif method == "prompts/get":
            for message in value.get("messages") or ():
                if isinstance(message, dict) and isinstance(message.get("content"), dict):
                    message["content"] = self.block(message["content"], self.reader(None, params))
        return value

    def blocks(self, value, tool, params=None):
        """Make content of a list of blocks; anything else stays what it is."""
        if not isinstance(value, list):
            return value
        read = self.reader(tool, params)
        return [self.block(item, read) if isinstance(item, dict) else item for item in value]

    def block(self, members, read):
        if isinstance(members.get("resource"), dict):
            members["resource"] = Content(members["resource"], read)
        return Content(members, read)

    def reader(self, tool, params):
        """Return the function that reads a link's resource from the server that sent the link."""
        server = params.get("server") if isinstance(params, dict) else (tool or "").partition("__")[0]
        return Reader(server, self.request)


def unstored(contents):
    """Replace the parts of a resource that are stored in files by handles."""
    for name in ("text", "blob"):
        part = contents.get(name) if isinstance(contents, dict) else None
        if isinstance(part, dict) and "mcprun/handle" in part:
            contents[name] = Handle(part["mcprun/handle"])


def whole(value):
    """Return a text, which may be stored in a file; None for other values."""
    if isinstance(value, Handle):
        return value.text()
    return value if isinstance(value, str) else None


def within(path):
    """Return the absolute path of a file of the workspace. A path outside of it is an error."""
    root = os.path.realpath(sys.modules["_mcprun"].home)
    place = os.path.realpath(os.path.join(root, os.fspath(path)))
    if not place.startswith(root.rstrip("/") + "/"):
        raise ValueError(f"{os.fspath(path)!r:.200} lies outside of the workspace; use a path below it, such as 'out/image.png'")
    return place
