// The official client against mcprun serve --tools passthrough. Arguments: the folder of npm packages, legacy or modern, JSON of
// either {command, args, cwd} or {url, token}, and JSON of calls, each [tool, arguments]. It prints one JSON object of what it saw.
const [modules, era, where, calls] = process.argv.slice(2);
const { Client, StreamableHTTPClientTransport } = await import(`${modules}/@modelcontextprotocol/client/dist/index.mjs`);
const { StdioClientTransport } = await import(`${modules}/@modelcontextprotocol/client/dist/stdio.mjs`);

const target = JSON.parse(where);
const seen = { asked: [], described: [], names: [], results: [] };
const client = new Client({ name: "test", version: "1" }, {
  capabilities: { elicitation: { form: {} } },
  versionNegotiation: { mode: era === "modern" ? { pin: "2026-07-28" } : "legacy" },
});
client.setRequestHandler("elicitation/create", async (request) => {
  seen.asked.push(request.params.message);
  return { action: "accept", content: { name: "Ada" } };
});
await client.connect(target.url
  ? new StreamableHTTPClientTransport(new URL(target.url), { requestInit: { headers: { Authorization: `Bearer ${target.token}` } } })
  : new StdioClientTransport({ command: target.command, args: target.args, cwd: target.cwd, env: process.env, stderr: "inherit" }));

for (const tool of (await client.listTools()).tools) {
  seen.names.push(tool.name);
  if (tool.outputSchema) seen.described.push(tool.name);
}
for (const [name, args] of JSON.parse(calls)) {
  try {
    const { content, structuredContent = null, isError = false } = await client.callTool({ name, arguments: args });
    seen.results.push({ text: content[0]?.text ?? content[0]?.type, structured: structuredContent, isError });
  } catch (error) {
    seen.results.push({ thrown: error.message });
  }
}
await client.close();
console.log(JSON.stringify(seen));
