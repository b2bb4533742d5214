import json, random, asyncio, socket, typing, re, encodings, servers.client
from servers.client import call_mcp_tool
assert call_mcp_tool("test__echo", {"a": 1}) == {"a": 1}
for module in (json, random, asyncio, socket, typing, re, encodings, servers.client):
    if not module.__file__.startswith(("/usr/", "/mcp/", sys.prefix, os.path.dirname(os.__file__))): leak("a planted module", module.__file__)
if "/workspace" in sys.path or "" in sys.path or "/tmp" in sys.path: leak("the module path", sys.path)
if os.path.exists("ran"): leak("a planted program ran")
for f in ("/tmp/sitecustomize.py", "/tmp/x"):
    if os.path.exists(f): leak("left in /tmp", f)
print("checked")
