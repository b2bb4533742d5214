// The requester of @modelcontextprotocol/ext-tasks against mcprun serve over HTTP. Arguments: the folder of npm packages, a URL, a token, a
// tool, and JSON of its arguments. It prints one JSON object of what it saw.
const [modules, url, token, tool, args] = process.argv.slice(2);
const { Client, StreamableHTTPClientTransport } = await import(`${modules}/@modelcontextprotocol/client/dist/index.mjs`);
const { createTaskSessionFromClient, resultFromTaskOutcome } = await import(`${modules}/@modelcontextprotocol/ext-tasks/dist/client/index.js`);

const protocolVersion = "2026-07-28";
const clientInfo = { name: "test", version: "1" };
const clientCapabilities = { elicitation: { form: {} }, extensions: { "io.modelcontextprotocol/tasks": {} } };
const seen = { statuses: [], asked: [], names: [] };
const client = new Client(clientInfo, { capabilities: clientCapabilities, versionNegotiation: { mode: { pin: protocolVersion } } });
const authorization = { Authorization: `Bearer ${token}` };
await client.connect(new StreamableHTTPClientTransport(new URL(url), { requestInit: { headers: authorization } }));

// The SDK's own codecs refuse tasks, so requests that may have to do with them are sent here.
let id = 1000;
async function rawDispatch(request, options = {}) {
  seen.names.push(request.method);
  const response = await fetch(url, {
    method: "POST", signal: options.signal, body: JSON.stringify({ ...request, jsonrpc: "2.0", id: ++id }),
    headers: {
      "Content-Type": "application/json", Accept: "application/json, text/event-stream", "Mcp-Protocol-Version": protocolVersion, "Mcp-Method": request.method,
      ...authorization, "Mcp-Name": request.params?.taskId ?? request.params?.name ?? "", ...options.context?.headers,
    },
  });
  const text = await response.text();
  for (const line of text.split("\n")) {
    const json = line.replace(/^data: /, "");
    if (!json.startsWith("{")) continue;
    const message = JSON.parse(json);
    if (message.id !== id) continue;
    if (message.result?.taskId) seen.statuses.push(message.result.status);
    return message.error ? { kind: "error", error: message.error } : { kind: "result", result: message.result };
  }
  throw new Error(`no answer in ${response.status} ${text}`);
}

const session = createTaskSessionFromClient(client, {
  endpointId: "mcprun", rawDispatch, v2RequestFraming: { protocolVersion, clientInfo, clientCapabilities },
  onInputRequest: async (request, context) => {
    seen.asked.push(`${request.kind} ${context.scope} ${context.delivery} ${request.params.message}`);
    return { action: "accept", content: { name: "Ada" } };
  },
});
const execution = await session.callTool(tool, JSON.parse(args));
seen.kind = execution.kind;
const { outcome } = await execution.settle();
seen.result = resultFromTaskOutcome(outcome);
await session.close();
await client.close();
console.log(JSON.stringify(seen));
