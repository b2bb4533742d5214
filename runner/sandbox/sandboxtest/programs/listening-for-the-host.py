import socket, threading
from servers.client import call_mcp_tool
for address in [("0.0.0.0", @FREE@), ("127.0.0.1", @FREE@), ("::", @FREE@)]:
    try:
        s = socket.create_server(address, family=socket.AF_INET6 if ":" in address[0] else socket.AF_INET)
    except OSError: continue
    if call_mcp_tool("test__dial", {}): leak("the host reached", address)
    s.close()
attempt("host's port", lambda: socket.create_server(("127.0.0.1", @PORT@)).accept() if False else call_mcp_tool("test__dial", {}) or 1 / 0)
print("checked")
