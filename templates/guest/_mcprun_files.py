"""The part of the library mcprun that reads and writes files of the workspace."""

import json
import os
import re

import mcprun

__all__ = ["read_file", "write_file", "list_files", "delete_file", "save_checkpoint", "load_checkpoint", "list_checkpoints"]

_CHECKPOINTS = "checkpoints"

# Names at the top of the workspace that mcpgen and mcprun read as configuration. After a run, the host renames files with these
# names.
_RESERVED = ("mcpgen.yaml", "mcpgen.json", ".mcp.json", ".env")


_GENERATED = ("servers", "skills")


def _refuse(name, why):
    return PermissionError(f"{json.dumps(name, ensure_ascii=False)} {why}; paths are relative to the workspace, {mcprun.root}")


def _within(name, folder):
    return name == folder or name.startswith("/" if folder == "/" else folder + "/")


def _place(name):
    """Return the file that a path names. A path that leads out of the workspace, even through a symbolic link, is an error."""
    name = os.fspath(name) if isinstance(name, os.PathLike) else name
    if not isinstance(name, str) or not name or "\0" in name:
        raise TypeError(f"a path must be a text that is not empty, not {name!r}")
    full = os.path.normpath(os.path.join(mcprun.root, name))
    spelled = os.path.join(mcprun.root, "workspace")  # what scripts for other systems call the workspace
    if (full == spelled or full.startswith(spelled + "/")) and "workspace" not in os.listdir(mcprun.root):
        full = mcprun.root + full.removeprefix(spelled)
    if not _within(full, mcprun.root):
        raise _refuse(name, "is outside of the workspace")
    there = full
    while not os.path.exists(there):
        if os.path.islink(there):
            raise _refuse(name, "leads through a symbolic link to nowhere")
        there = os.path.dirname(there)
    if not _within(os.path.realpath(there), os.path.realpath(mcprun.root)):
        raise _refuse(name, "leads out of the workspace by a symbolic link")
    return full


def read_file(path, binary=False):
    """Return the text of a file of the workspace, which must be UTF-8, or with binary its bytes."""
    with open(_place(path), "rb") as file:
        data = file.read()
    if binary:
        return data
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise ValueError(f"{json.dumps(str(path), ensure_ascii=False)} is not a text in UTF-8; read it with binary=True") from error


def write_file(path, data, append=False):
    """Write a text, bytes, or any other value as JSON to a file of the workspace, and return its path. Missing folders are
    created. An existing file is replaced, or with append extended.
    """
    full = _place(path)
    if os.path.relpath(full, mcprun.root).split("/")[0].lower() in _RESERVED:
        raise _refuse(path, "is read as configuration by mcpgen and mcprun, so choose another name")
    data = mcprun.whole(data)
    if isinstance(data, str):
        data = data.encode()
    elif not isinstance(data, (bytes, bytearray, memoryview)):
        data = (json.dumps(data, ensure_ascii=False, indent=2) + "\n").encode()
    os.makedirs(os.path.dirname(full), exist_ok=True)
    with open(full, "ab" if append else "wb") as file:
        file.write(data)
    return os.path.relpath(full, mcprun.root)


def list_files(pattern="."):
    """Return the files below a folder of the workspace, or those whose path matches a pattern: * is any text within a name,
    ? any character, ** any number of folders. Folders, which end with a slash, are listed only where * or ? matches them.
    Hidden files and folders are left out. Only the top of servers and skills is listed, and ** does not look into them.
    """
    pattern, found = os.fspath(pattern), set()
    if "*" not in pattern and "?" not in pattern:
        folder = _place(pattern)
        prefix = "" if folder == mcprun.root else os.path.relpath(folder, mcprun.root) + "/"
        _walk(folder, prefix, ["*" if prefix.split("/")[0] in _GENERATED else "**"], found)
        return sorted(found)
    if pattern.startswith("/") or ".." in pattern.split("/"):
        raise _refuse(pattern, "is outside of the workspace")
    _walk(_place("."), "", [part for part in pattern.split("/") if part not in ("", ".")], found)
    return sorted(found)


def _shown(entry):
    return entry.name + ("/" if entry.is_dir(follow_symlinks=False) else "")


def _walk(folder, prefix, parts, found):
    """Add what matches parts below folder. ** is any number of folders, but not those that show the tree and skills."""
    part, rest = parts[0], parts[1:]
    if part == "**" and rest:
        _walk(folder, prefix, rest, found)
    match = _glob(part)
    with os.scandir(folder) as entries:
        listed = list(entries)
    for entry in listed:
        name, is_folder = entry.name, entry.is_dir(follow_symlinks=False)
        if not match(name) or (name.startswith(".") and not part.startswith(".")):
            continue
        if not rest and not (part == "**" and is_folder):
            found.add(prefix + _shown(entry))
        if not is_folder or (part == "**" and not prefix and name in _GENERATED):
            continue
        if part == "**" or rest:
            _walk(f"{folder}/{name}", f"{prefix}{name}/", parts if part == "**" else rest, found)


def _glob(part):
    source = re.escape(part).replace(r"\*", ".*").replace(r"\?", ".")
    return re.compile(source, re.DOTALL).fullmatch


def delete_file(path):
    """Delete a file of the workspace. A missing file is a FileNotFoundError."""
    full = _place(path)
    if os.path.isdir(full) and not os.path.islink(full):
        raise _refuse(path, "is a folder, and delete_file() removes files")
    os.unlink(full)


def _checkpoint(name):
    """The file of a checkpoint."""
    if not isinstance(name, str) or not re.fullmatch(r"[^\W_][\w. -]{0,63}", name):
        raise ValueError(f"a checkpoint's name has up to 64 letters, digits, blanks and . _ -, and begins with a letter or a digit: not {name!r}")
    return f"{_CHECKPOINTS}/{name}.json"


def save_checkpoint(name, data=None):
    """Keep data under the name of a step, for later runs in this workspace, and return the path of its file. A checkpoint of
    that name is replaced.
    """
    from datetime import datetime, timezone

    path = _checkpoint(name)
    now = datetime.now(timezone.utc).isoformat(timespec="milliseconds").replace("+00:00", "Z")
    return write_file(path, {"name": name, "time": now, "data": mcprun.whole(data)})


def load_checkpoint(name=None):
    """Return the value of a checkpoint: the last one, or the one with that name. None if it does not exist."""
    if name is None:
        last = list_checkpoints()[-1:]
        return load_checkpoint(last[0]["name"]) if last else None
    path = _checkpoint(name)
    return json.loads(read_file(path))["data"] if os.path.exists(_place(path)) else None


def list_checkpoints():
    """Return the name, time and path of each checkpoint, the last one last."""
    found = []
    if not os.path.exists(_place(_CHECKPOINTS)):
        return found
    for path in list_files(_CHECKPOINTS + "/*.json"):
        saved = json.loads(read_file(path))
        found.append({"name": saved["name"], "time": saved["time"], "path": path})
    return sorted(found, key=lambda each: (each["time"], each["name"]))
