// The official client against mcprun serve. Arguments: the folder of npm packages, legacy or modern, and JSON of either
// {command, args, cwd} or {url, token}. It prints one JSON object of what it saw.
const [modules, era, where] = process.argv.slice(2);
const { Client, StreamableHTTPClientTransport } = await import(`${modules}/@modelcontextprotocol/client/dist/index.mjs`);
const { StdioClientTransport } = await import(`${modules}/@modelcontextprotocol/client/dist/stdio.mjs`);

const target = JSON.parse(where);
const seen = { progress: [], asked: [] };
const client = new Client({ name: "test", version: "1" }, {
  capabilities: { elicitation: { form: {} } },
  versionNegotiation: { mode: era === "modern" ? { pin: "2026-07-28" } : "legacy" },
});
client.setRequestHandler("elicitation/create", async (request) => {
  seen.asked.push(request.params.message);
  return { action: "accept", content: { name: "Ada" } };
});
const transport = target.url
  ? new StreamableHTTPClientTransport(new URL(target.url), { requestInit: { headers: { Authorization: `Bearer ${target.token}` } } })
  : new StdioClientTransport({ command: target.command, args: target.args, cwd: target.cwd, env: process.env, stderr: "inherit" });
await client.connect(transport);

const text = (result) => result.content.filter((c) => c.type === "text").map((c) => c.text).join("\n");
const call = (name, args, options) => client.callTool({ name, arguments: args }, options);

seen.tools = (await client.listTools()).tools.map((tool) => tool.name).sort();
const streamed = await call("execute_code", {
  code: `import { add } from "./servers/calculator/index.ts";
console.log("begun");
await new Promise((done) => setTimeout(done, 400));
console.log((await add({ numbers: [n, 2] })).result);
export const result = { big: 12n ** 20n > 0n };`,
  context_vars: { n: 40 },
}, { onprogress: (p) => seen.progress.push(p.message) });
seen.streamed = { text: text(streamed), structured: streamed.structuredContent, isError: streamed.isError ?? false };

const failed = await call("execute_code", { code: "throw new Error('no luck')" });
seen.failed = { text: text(failed), isError: failed.isError };

seen.asking = text(await call("execute_code", {
  code: `import { callMCPTool } from "./servers/client.ts"; console.log(await callMCPTool("everything__trigger_elicitation_request", {}));`,
}));

const pixel = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";
const image = await call("execute_code", {
  code: `import { showImage } from "mcprun"; await showImage("dot.png");`,
});
seen.noImage = { isError: image.isError };
await call("write_workspace_file", { filename: "dot.b64", content: pixel });
const shown = await call("execute_code", {
  code: `import fs from "node:fs"; import { showImage } from "mcprun";
fs.writeFileSync("dot.png", Buffer.from(fs.readFileSync("dot.b64", "utf8"), "base64")); await showImage("dot.png");`,
});
seen.image = { text: text(shown), same: shown.content.some((c) => c.type === "image" && c.mimeType === "image/png" && c.data === pixel) };

seen.direct = (await call("call_tool", { tool: "calculator__add", arguments: { numbers: [1, 2] } })).structuredContent;

const gone = new AbortController();
setTimeout(() => gone.abort(), 500);
const began = Date.now();
seen.cancelled = await call("execute_code", { code: "await new Promise(() => setInterval(() => {}, 1000));", timeout_seconds: 60 }, { signal: gone.signal })
  .then(() => "answered", () => "rejected");
const stats = (await call("get_execution_stats", {})).structuredContent;
seen.soon = Date.now() - began < 30000;
seen.runs = stats.runs;
console.log(JSON.stringify(seen));
await client.close();
process.exit(0);
