for dir in ("servers", "/workspace/servers", "/mcp/servers"):
    if open(dir + "/a.txt").read() != "generated": leak("not the tree", dir)
    attempt("write " + dir, lambda: open(dir + "/new.txt", "w"))
attempt("somebody's", lambda: open("servers/somebody.txt").read())
from servers.client import call_mcp_tool
assert call_mcp_tool("test__text", {}) == "plain text"
print("checked")
