"""The part of the library mcprun that asks the host: tools of the catalogue, saved skills, forms, tokens, images to show."""

import mcprun

__all__ = ["search_tools", "save_skill", "load_skill", "list_skills", "fill_form", "tokenize_pii", "detokenize_pii", "show_image"]

_LACKS = {"tools": "no catalogue of tools", "skills": "no skills", "pii": "no vault for personal data", "output": "nobody to show an image to", "form": "no forms"}
_CLASSES = {"tool": "MCPToolError", "protocol": "MCPProtocolError", "argument": "MCPArgumentError", "denied": "MCPDeniedError",
            "timeout": "MCPTimeoutError", "connection": "MCPConnectionError"}


def _error(kind, message, fields):
    """An error of the client's, so that there is one class of each."""
    made = mcprun.__getattr__(_CLASSES.get(kind, "MCPError"))
    return made(message, kind=kind, code=fields.get("code"), data=fields.get("data"), is_retryable=fields.get("retryable") is True)


def _ask(function, method, **params):
    """Ask the host. Arguments that are None are not sent."""
    try:
        from _mcprun import request
    except ImportError:
        raise _error("connection", f"{function}() works only in a script that runs with `mcprun`", {}) from None
    try:
        return request(method, {name: value for name, value in params.items() if value is not None})
    except Exception as error:
        fields = getattr(error, "fields", None)
        if not isinstance(fields, dict):
            raise
        kind, message = fields.get("kind") or "internal", str(fields.get("message") or "the host did not answer")
        if message.startswith("unknown method "):
            message = f"{function}(): this run has {_LACKS[method.partition('/')[0]]}"
        raise _error(kind, message, fields) from None


_DETAILS = ("name", "description", "summary", "full")


def search_tools(query="", server=None, category=None, detail=None, limit=None, *, detail_level=None):
    """Return the tools that fit a text or a list of wordings, the best first: dicts with tool (the id, also as name), server,
    category, description, import, and signature where there are three or fewer; definition is the longest of these texts.
    detail is "name", "description" (or "summary") or "full", which adds the wrapper's source. It is also understood as
    detail_level, and as the second argument.
    """
    if server in _DETAILS and detail is None:
        server, detail = None, server
    detail = detail or detail_level
    hits = _ask("search_tools", "tools/search", query=query, server=server, category=category, detail="description" if detail == "summary" else detail,
                limit=limit)["hits"]
    return [_FoundTool(hit) for hit in hits]


class _FoundTool(dict):
    """A tool that was found. tool["name"] is its id too, and tool["definition"] how to call it; neither is listed, printed or
    encoded.
    """

    def __missing__(self, key):
        if key == "name" and "tool" in self:
            return self["tool"]
        if key == "definition":
            for member in ("source", "signature", "import"):
                if member in self:
                    return self[member]
        raise KeyError(key)

    def get(self, key, default=None):
        try:
            return self[key]
        except KeyError:
            return default


def save_skill(name, code, description=None, language=None):
    """Keep a script under a name, so that later ones can import it from skills, and return its name, version, path and
    warnings. An existing skill of that name becomes an earlier version. The language is detected from the code.
    """
    return _ask("save_skill", "skills/save", name=name, code=code, description=description, language=language)


class Skill(str):
    """The code of a skill, as a text. Its other properties are found by key: skill["version"]."""

    def __new__(cls, fields):
        self = super().__new__(cls, fields.get("code") or "")
        self._fields = fields
        return self

    def __getitem__(self, key):
        return self._fields[key] if isinstance(key, str) else super().__getitem__(key)

    def get(self, key, default=None):
        return self._fields.get(key, default)

    def keys(self):
        return self._fields.keys()

    def items(self):
        return self._fields.items()


def load_skill(name):
    """Return the code of a skill: a text that also has, by key, its name, description, language, code, version, path, and
    whether it is broken.
    """
    return Skill(_ask("load_skill", "skills/load", name=name))


def list_skills(query=None):
    """Return all skills, or those that fit a text: name, description, language, version, and whether each is broken, with the
    reason.
    """
    return _ask("list_skills", "skills/list", query=query)["skills"]


def fill_form(name, data=None, *, id=None, submit=None, ask=None):
    """Fill in a form of the project with data, and submit it by its tool if it is complete. Return its status ("submitted",
    "open" or "invalid"), its id, problems, what is missing, and the tool's result. A person is asked for what is missing, if one
    can be, unless ask is False. With the id of a form that stayed open, data has values of its fields.
    """
    return _ask("fill_form", "form/fill", form=name, data=mcprun.whole(data), id=id, submit=submit, ask=ask)


def _values(function, method, value, **params):
    value = mcprun.whole(value)
    # In a list, because None is a value here.
    return _ask(function, method, **params, value=[value])["value"][0]


_TOKEN = r"\[[A-Z_]+_[1-9][0-9]*\]"


def tokenize_pii(value, types=None):
    """Return a text with tokens such as [EMAIL_1] in the place of personal data, or of some types of it (EMAIL, PHONE, SSN,
    CARD, IBAN, IP, API_KEY, SECRET), and a dict of what each token stands for. Any other JSON value is returned with tokens,
    without such a dict.
    """
    out = _values("tokenize_pii", "pii/tokenize", value, types=[types] if isinstance(types, str) else types and list(types))
    if not isinstance(value, str):
        return out
    import re

    tokens = list(dict.fromkeys(re.findall(_TOKEN, out)))
    return out, dict(zip(tokens, detokenize_pii(tokens) if tokens else ()))


def detokenize_pii(value, tokens=None):
    """Return a text or any other JSON value with what its tokens stand for. An unknown token stays. With tokens, a dict such as
    tokenize_pii gives, only the tokens in it are restored.
    """
    if tokens is None:
        return _values("detokenize_pii", "pii/detokenize", value)
    import re

    def put_back(each):
        if isinstance(each, str):
            return re.sub(_TOKEN, lambda found: str(tokens.get(found[0], found[0])), each)
        if isinstance(each, dict):
            return {put_back(key): put_back(item) for key, item in each.items()}
        return [put_back(item) for item in each] if isinstance(each, (list, tuple)) else each

    return put_back(mcprun.whole(value))


_SIGNATURES = ((b"\x89PNG\r\n\x1a\n", "image/png"), (b"\xff\xd8\xff", "image/jpeg"), (b"GIF87a", "image/gif"),
               (b"GIF89a", "image/gif"))


def _type_of(data):
    for signature, name in _SIGNATURES:
        if data.startswith(signature):
            return name
    if data[:4] == b"RIFF" and data[8:12] == b"WEBP":
        return "image/webp"
    raise ValueError("the image is no PNG, JPEG, GIF or WebP; name its type, as \"image/svg+xml\"")


def show_image(image, mime_type=None):
    """Show an image to whoever reads the output of the script: bytes, the path of a file in the workspace, or an image that
    a tool returned. The type of PNG, JPEG, GIF and WebP need not be given.
    """
    import base64

    if isinstance(getattr(image, "bytes", None), bytes):  # a content block
        mime_type = mime_type or getattr(image, "mimeType", None)
        image = image.bytes
    elif not isinstance(image, (bytes, bytearray, memoryview)):
        image = mcprun.__getattr__("read_file")(image, binary=True)
    data = bytes(image)
    _ask("show_image", "output/image", mimeType=mime_type or _type_of(data), data=base64.b64encode(data).decode())
