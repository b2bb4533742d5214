from servers.client import call_mcp_tool
for name in ("test__ech\u043e", "TEST__echo", "test__echo\0", "test__echo ", "test__echo\u200b", "test__e\u0301cho", "../test__echo", "test__echo/../test__text", "test__echo\n", "__proto__", "constructor", "", "test__", "__class__", "x" * 10_000, "test__echo\u202e", "%74est__echo"):
    attempt(name[:40], lambda: call_mcp_tool(name, {}))
class Changing(dict):
    n = 0
    def items(self): Changing.n += 1; return [("path", "harmless" if Changing.n < 2 else "secret")]
try:
    if call_mcp_tool("test__echo", Changing(path="harmless")) not in ({"path": "harmless"}, {"path": "secret"}): leak("neither of both")
except Exception: pass
print("checked")
