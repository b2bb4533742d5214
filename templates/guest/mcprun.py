"""The library that scripts import as mcprun: files of the workspace, what makes long answers short, and what the host keeps.

Its names are also there without an import. mcprun.ts is the same for TypeScript, and both give the same results.
"""

import importlib
import os

import _mcprun_common

# Where each name comes from. A part is loaded when one of its names is asked for: most scripts use few of them.
_HOMES = {
    **dict.fromkeys(("read_file", "write_file", "list_files", "delete_file", "save_checkpoint", "load_checkpoint",
                     "list_checkpoints"), "_mcprun_files"),
    **dict.fromkeys(("filter_by_field", "summarize_list", "aggregate_stats", "format_output"), "_mcprun_lists"),
    **dict.fromkeys(("search_tools", "save_skill", "load_skill", "list_skills", "fill_form", "tokenize_pii", "detokenize_pii", "show_image"),
                    "_mcprun_host"),
    "workflow": "_mcprun_workflow",
    **dict.fromkeys(("MCPError", "MCPToolError", "MCPProtocolError", "MCPArgumentError", "MCPDeniedError",
                     "MCPTimeoutError", "MCPConnectionError"), "servers.client"),
}

__all__ = [*_HOMES, "call_mcp_tool", "callMCPTool", "is_handle", "workspace"]

root = os.getcwd()
"""The workspace."""


def _load(home):
    """Import a part. The client is the tree's, so that there is one class of each error; without a tree it is our own."""
    try:
        return importlib.import_module(home)
    except ModuleNotFoundError as error:
        if error.name not in ("servers", "servers.client"):
            raise
        return importlib.import_module("_mcprun_client")


def __getattr__(name):
    if name in _HOMES:
        value = getattr(_load(_HOMES[name]), name)
    elif name == "vars":
        value = importlib.import_module("_mcprun").vars
    elif name == "workspace":
        value = importlib.import_module("pathlib").Path(root)
    else:
        raise AttributeError(f"module 'mcprun' has no attribute {name!r}")
    globals()[name] = value
    return value


def __dir__():
    return sorted({*globals(), *_HOMES, "vars", "workspace"})


def publish(namespace, names, own=()):
    """Put names that are the library's, or common ones of Python's, where a script finds them without an import. The script's
    own modules, whose names are in own, come before Python's.
    """
    for name in names.difference(namespace.__dict__):
        if name in __all__:
            setattr(namespace, name, globals().get(name) or __getattr__(name))
        elif name in _mcprun_common.HOMES and _mcprun_common.HOMES[name].partition(".")[0] not in own:
            setattr(namespace, name, _mcprun_common.load(name))


def call_mcp_tool(tool, args=None, *, timeout=None, raw=False):
    """Call a tool by its id, server__tool, and return what it answered: its structured content, else its text, else
    its list of content blocks; with raw the whole answer, even if the tool failed. timeout is in seconds. Raises an MCPError.
    """
    return _load("servers.client").call_mcp_tool(tool, args, timeout=timeout, raw=raw)


callMCPTool = call_mcp_tool


def is_handle(value):
    """Whether an answer is too large to be passed to the script: read it with lines(), text() or json()."""
    return not isinstance(value, dict) and all(hasattr(value, name) for name in ("preview", "lines", "path"))


def whole(value):
    """The value itself; of a result that is stored in a file, its whole content."""
    if not is_handle(value):
        return value
    return value.json() if value.type == "json" else value.text()
