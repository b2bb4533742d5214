package render_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mcpgen/mcpgen/gen/render/internal/rendertest"
)

// TestPythonClient calls wrappers of the golden tree over a transport that answers with what it received.
func TestPythonClient(t *testing.T) {
	dir := rendertest.Write(t, renderGolden(t).Tree)
	const program = `
import json, sys, types
from servers.google_drive import get_document, create_sheet, query, list_documents
from servers import client
from servers.client import MCPConnectionError, MCPError, MCPToolError, call_mcp_tool
from concurrent.futures import ThreadPoolExecutor

def fails(f):
    try:
        f()
    except Exception as err:
        return err
    raise AssertionError("no error")

err = fails(lambda: get_document(document_id="x"))
assert type(err) is MCPConnectionError and "mcprun" in str(err), err

sent = []
class CallError(Exception):
    def __init__(self, fields):
        self.fields = fields
transport = types.ModuleType("_mcprun")
transport.call = lambda tool, args: (sent.append((tool, args)), "answer")[1]
sys.modules["_mcprun"] = transport

assert get_document(document_id="x") == "answer"
get_document(document_id="x", fields=None, revision=None)
get_document(document_id="x", fields=["a"], revision=3)
create_sheet(title="t", share_with=[{"email": "a"}], from_="y")
query({"text": "z"})
query(input={"text": "z"})
query(...)
create_sheet(title="t", kind=None, share_with=..., **{"a-b": None, "under_score": 1})
list_documents()
call_mcp_tool("a__b", {"x": None})
call_mcp_tool("a__b")
assert json.dumps(sent) == json.dumps([
    ["google_drive__get_document", {"document_id": "x"}],
    ["google_drive__get_document", {"document_id": "x", "revision": None}],
    ["google_drive__get_document", {"document_id": "x", "fields": ["a"], "revision": 3}],
    ["google_drive__create_sheet", {"title": "t", "share-with": [{"email": "a"}], "from": "y"}],
    ["google_drive__query", {"text": "z"}],
    ["google_drive__query", {"text": "z"}],
    ["google_drive__query", {}],
    ["google_drive__create_sheet", {"title": "t", "a-b": None, "under_score": 1}],
    ["google_drive__list_documents", {}],
    ["a__b", {"x": None}],
    ["a__b", {}],
]), sent

err = fails(lambda: get_document(document="x"))
assert isinstance(err, TypeError) and isinstance(err, client.MCPArgumentError) and err.tool == "google_drive__get_document", err
assert str(err).endswith("got an unexpected keyword argument 'document'. Did you mean 'document_id'?"), err
err = fails(lambda: get_document(documentId="x"))
assert str(err).endswith("Did you mean 'document_id'?") and err.server == "google_drive" and type(err).__name__ == "MCPArgumentError", err
err = fails(lambda: get_document(docId=1, documentId=2))
assert str(err).endswith("got an unexpected keyword argument 'docId'. Did you mean 'document_id'?"), err
err = fails(lambda: get_document())
assert isinstance(err, client.MCPArgumentError) and "document_id" in str(err), err
assert len(sent) == 11
err = fails(lambda: create_sheet("t"))
assert isinstance(err, client.MCPArgumentError) and "arguments are passed by name: title, kind" in str(err), err
err = fails(lambda: create_sheet(Title="t"))  # others are allowed: it is not wrong by itself
assert str(err).endswith("missing 1 required keyword-only argument: 'title' (there is 'Title')"), err
create_sheet(title="t", cell=[[1]], colour="red")  # the host warns
assert sent[-1][1] == {"title": "t", "cell": [[1]], "colour": "red"}, sent[-1]

def raising(fields):
    def call(tool, args):
        raise CallError(fields)
    return call
transport.call = raising({"kind": "tool", "message": "no such document", "server": "google_drive", "tool": "google_drive__get_document", "content": [{"type": "text", "text": "x"}]})
err = fails(lambda: get_document(document_id="x"))
assert type(err) is MCPToolError and err.content[0]["text"] == "x" and err.server == "google_drive", err
assert str(err) == "google_drive__get_document: no such document", err
for kind in ["protocol", "argument", "denied", "timeout", "connection", "cancelled", "internal", "other"]:
    transport.call = raising({"kind": kind, "message": "m", "code": -1, "data": {"a": 1}})
    err = fails(lambda: list_documents())
    want = "MCP" + kind.capitalize() + "Error" if kind not in ("cancelled", "internal", "other") else "MCPError"
    assert type(err).__name__ == want and isinstance(err, MCPError) and err.kind == kind and err.code == -1 and err.data == {"a": 1}, (kind, err)

import copy, pickle
for failing in [lambda: get_document(document_id="x"), lambda: get_document(document="x")]:
    err = fails(failing)
    for again in [pickle.loads(pickle.dumps(err)), copy.deepcopy(err), copy.copy(err)]:
        assert type(again) is type(err) and str(again) == str(err) and again.__dict__ == err.__dict__ and again is not err, again

transport.call = raising({"kind": "connection", "message": "m", "retryable": True})
assert fails(lambda: list_documents()).is_retryable and not err.is_retryable
transport.call = lambda tool, args, **options: options
assert call_mcp_tool("a__b", timeout=2.5, raw=True) == {"timeout": 2.5, "raw": True} and call_mcp_tool("a__b") == {}

from servers.docs import prompts, prompts_, resources, resources_
asked = []
transport.request = lambda method, params: (asked.append([method, params]), {"contents": ["c"], "messages": []})[1]
assert resources.read("docs://x") == ["c"]
resources.list(), resources.templates(), prompts.list(), prompts.get("greet"), prompts.get("summarize", {"document_id": "x"})
assert asked == [
    ["resources/read", {"server": "docs", "uri": "docs://x"}], ["resources/list", {"server": "docs"}],
    ["resources/templates", {"server": "docs"}], ["prompts/list", {"server": "docs"}],
    ["prompts/get", {"server": "docs", "name": "greet", "arguments": {}}],
    ["prompts/get", {"server": "docs", "name": "summarize", "arguments": {"document_id": "x"}}],
], asked
def refuse(method, params):
    raise CallError({"kind": "protocol", "message": "no such resource", "code": -32002})
transport.request = refuse
err = fails(lambda: resources.read("docs://y"))
assert type(err).__name__ == "MCPProtocolError" and err.server == "docs" and err.code == -32002 and str(err) == "no such resource", err
assert resources_() == {} and prompts_() == {}, "tools of these names"

transport.call = lambda tool, args: args["document_id"]
with ThreadPoolExecutor(8) as pool:
    assert list(pool.map(lambda i: get_document(document_id=str(i)), range(100))) == [str(i) for i in range(100)]
assert get_document.__name__ == "get_document" and "read-only" in get_document.__doc__
import servers.google_drive.get_document, servers.hostile
from servers.google_drive import get_document as again
assert again is get_document
print("done")
`
	cmd := exec.CommandContext(t.Context(), "python3", "-c", program)
	cmd.Dir = filepath.Dir(dir)
	if out, err := cmd.CombinedOutput(); err != nil || strings.TrimSpace(string(out)) != "done" {
		t.Errorf("%v, want strings.TrimSpace(string(out)) \"done\" and no error\n%s", err, out)
	}
}

// TestTypeScriptClient does the same in TypeScript, which the compiler converts to JavaScript.
func TestTypeScriptClient(t *testing.T) {
	files := renderGolden(t).Tree
	files["main.ts"] = []byte(`
import { prompts, resources } from "./docs/index.ts";
import { getDocument, listDocuments } from "./google_drive/index.ts";
import { callMCPTool, MCPConnectionError, MCPError, MCPToolError } from "./client.ts";

declare const console: { log(text: string): void };

async function fails(f: () => Promise<unknown>): Promise<unknown> {
  try {
    await f();
  } catch (err) {
    return err;
  }
  throw new Error("no error");
}

function assert(ok: boolean, what: unknown): void {
  if (!ok) throw new Error(String(what));
}

const early = await fails(() => listDocuments());
assert(early instanceof MCPConnectionError && early.message.includes("mcprun"), early);

const key = Symbol.for("mcprun.transport");
const holder = globalThis as { [key]?: { call(tool: string, args: unknown): Promise<unknown> } };
const sent: unknown[] = [];
holder[key] = { call: async (tool, args) => (sent.push([tool, args]), "answer") };

await getDocument({ document_id: "x", revision: null });
await listDocuments();
const answer: string = await callMCPTool<string>("a__b");
assert(answer === "answer", answer);
assert(
  JSON.stringify(sent) ===
    JSON.stringify([
      ["google_drive__get_document", { document_id: "x", revision: null }],
      ["google_drive__list_documents", {}],
      ["a__b", {}],
    ]),
  JSON.stringify(sent),
);

for (const kind of ["tool", "protocol", "argument", "denied", "timeout", "connection", "cancelled", "internal"]) {
  holder[key] = { call: () => Promise.reject({ kind, message: "m", server: "s", tool: "s__t", content: [1], code: -1, data: 2 }) };
  const err = await fails(() => listDocuments());
  assert(err instanceof MCPError && err.kind === kind && err.message === "s__t: m" && err.code === -1 && err.data === 2 && err.content[0] === 1, err);
  assert(err instanceof MCPToolError === (kind === "tool"), kind);
  const name = ["cancelled", "internal"].includes(kind) ? "MCPError" : "MCP" + kind[0]!.toUpperCase() + kind.slice(1) + "Error";
  assert((err as Error).name === name, (err as Error).name);
}

holder[key] = { call: () => Promise.reject({ kind: "connection", message: "m", retryable: true }) };
assert(((await fails(() => listDocuments())) as MCPError).isRetryable, "isRetryable");
holder[key] = { call: async (...all: unknown[]) => all };
const all = await callMCPTool<unknown[]>("a__b", {}, { timeoutMs: 5, signal: { aborted: false } });
assert(JSON.stringify(all[2]) === '{"timeoutMs":5,"signal":{"aborted":false}}', JSON.stringify(all));
const strange = await fails(() => callMCPTool("a__b", {}, { timeout: 5 } as object));
assert(
  strange instanceof MCPError && strange.name === "MCPArgumentError" &&
    strange.message === 'a__b: a call has no option "timeout"; its options are signal, timeoutMs, raw',
  strange,
);
assert(JSON.stringify(await callMCPTool("a__b", {}, null as never)) === '["a__b",{},{}]', "no options");

const asked: unknown[] = [];
const noCall = async () => undefined;
const early2 = await fails(() => resources.list());
assert(early2 instanceof MCPConnectionError && early2.server === "docs" && early2.message.includes("mcprun"), early2);
Object.assign(holder, { [key]: { call: noCall, request: async (method: string, params: unknown) => (asked.push([method, params]), { contents: ["c"], messages: [] }) } });
assert(JSON.stringify(await resources.read("docs://x")) === '["c"]', "contents");
await resources.list();
await resources.templates();
await prompts.list();
await prompts.get("greet");
await prompts.get("summarize", { document_id: "x" });
assert(
  JSON.stringify(asked) ===
    JSON.stringify([
      ["resources/read", { server: "docs", uri: "docs://x" }],
      ["resources/list", { server: "docs" }],
      ["resources/templates", { server: "docs" }],
      ["prompts/list", { server: "docs" }],
      ["prompts/get", { server: "docs", name: "greet", arguments: {} }],
      ["prompts/get", { server: "docs", name: "summarize", arguments: { document_id: "x" } }],
    ]),
  JSON.stringify(asked),
);
Object.assign(holder, { [key]: { call: noCall, request: () => Promise.reject({ kind: "protocol", message: "no", code: -32002, server: "docs" }) } });
const refused = await fails(() => resources.read("docs://y"));
assert(refused instanceof MCPError && refused.name === "MCPProtocolError" && refused.server === "docs" && refused.message === "no", refused);
assert(String((refused as Error).stack).includes("main.js"), "the caller's lines");

const own = new TypeError("own");
holder[key] = { call: () => Promise.reject(own) };
assert((await fails(() => listDocuments())) === own, "an error that is no failed call");
console.log("done");
`)
	dir := rendertest.Write(t, files)
	rendertest.Run(t, filepath.Dir(dir), rendertest.Checker(t, "tsc"), "-p", "servers", "--noEmit", "false", "--outDir", "js", "--rewriteRelativeImportExtensions")
	if err := os.WriteFile(filepath.Join(filepath.Dir(dir), "package.json"), []byte(`{"type":"module"}`), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), "node", "js/main.js")
	cmd.Dir = filepath.Dir(dir)
	if out, err := cmd.CombinedOutput(); err != nil || strings.TrimSpace(string(out)) != "done" {
		t.Errorf("%v, want strings.TrimSpace(string(out)) \"done\" and no error\n%s", err, out)
	}
}
