"""Calls the tools of @modelcontextprotocol/server-filesystem below the folder that is the first argument."""

import json
import re
import sys
from collections.abc import Callable
from typing import Any

import servers.filesystem as files
from servers.client import MCPArgumentError, MCPError, MCPToolError

folder = sys.argv[1]
note = f"{folder}/notes/a b.md"
text = "first\nsecond ü\nthird\n"


def failure(kind: type[MCPError], call: Callable[[], object]) -> object:
    try:
        return {"answered": call()}
    except kind as err:
        return {"name": type(err).__name__, "denied": "outside allowed" in str(err)}
    except Exception as err:
        return {"unexpected": repr(err)}


files.create_directory(path=f"{folder}/notes")
files.write_file(path=note, content=text)
whole = files.read_text_file(path=note)
head = files.read_text_file(path=note, head=1)
edited = files.edit_file(path=note, edits=[{"oldText": "second ü", "newText": "SECOND"}])
files.move_file(source=note, destination=f"{folder}/notes/moved.md")
files.write_file(path=f"{folder}/pixel.png", content="not a picture")
info = files.get_file_info(path=f"{folder}/notes/moved.md")
media = files.read_media_file(path=f"{folder}/pixel.png")
several = files.read_multiple_files(paths=[f"{folder}/notes/moved.md", f"{folder}/nothing.md"])["content"]
tree: list[dict[str, Any]] = json.loads(files.directory_tree(path=folder)["content"])
size = re.search(r"size: (\d+)", info["content"])
unfit: Any = {"path": note}

result = {
    "whole": whole["content"] == text,
    "head": head["content"],
    "diff": [line for line in edited["content"].split("\n") if re.match(r"[-+][^-+]", line)],
    "list": sorted(files.list_directory(path=folder)["content"].split("\n")),
    "sizes": "moved.md" in files.list_directory_with_sizes(path=f"{folder}/notes", sortBy="size")["content"],
    "found": files.search_files(path=folder, pattern="**/*.md")["content"].replace(folder, "~"),
    "size": size[1] if size else None,
    "media": [block["type"] for block in media["content"]],
    "several": "SECOND" in several and "nothing.md: Error" in several,
    "tree": sorted(str(entry["name"]) for entry in tree),
    "allowed": files.list_allowed_directories()["content"].startswith("Allowed directories:"),
    "toolError": failure(MCPToolError, lambda: files.read_text_file(path="/etc/hostname")),
    "argumentError": failure(MCPArgumentError, lambda: files.write_file(**unfit, content=unfit)),
}
