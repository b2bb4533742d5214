import mcprun
from mcprun import MCPToolError, aggregate_stats, filter_by_field, vars
from servers.docs import prompts, resources
from servers.google_drive import get_document

text: str = read_file("notes.txt")
data: bytes = mcprun.read_file("x.png", True)
write_file("out.json", {"text": text, "who": vars["who"], "n": len(data)})
rows = [{"a": 1, "b": "x"}, {"a": 2, "b": "y"}]
kept = filter_by_field(rows, "a", 1, ">")
mean = aggregate_stats(kept, "a")["mean"]
by = aggregate_stats(rows, "a", group_by="b")
print(format_output(rows, "table"), summarize_list(rows)["count"], mean, by["x"]["sum"], list_files("**/*.csv"))
try:
    doc = get_document(document_id="x")
    print(is_handle(doc), callMCPTool("a__b", {}, timeout=1, raw=True))
except MCPToolError as err:
    print(err.is_retryable)
filled = prompts.get("summarize", {"document_id": "x"})
prompts.get("greet")
print(filled["messages"][0]["content"].text, resources.list()[0]["uri"])
for page in resources.read("docs://x"):
    page.save(f"{page.uri}.txt")
prompts.get("summarize", {})  # pyright: ignore[reportCallIssue, reportArgumentType]
filter_by_field(rows, "a", 1, "~")  # pyright: ignore[reportArgumentType]
result = kept
