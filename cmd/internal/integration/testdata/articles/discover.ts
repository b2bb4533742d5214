import { readdir, readFile } from 'node:fs/promises';
import { callMCPTool } from "./servers/client.js";

enum Detail { Name, Full }
const detail: Detail = Detail.Full;
const servers = (await readdir('./servers', { withFileTypes: true })).filter((entry) => entry.isDirectory()).map((entry) => entry.name);
for (const server of servers.filter((name) => !name.startsWith('.')).sort()) {
  const tools = await import(`./servers/${server}/index.ts`);
  console.log(server, Object.keys(tools).filter((name) => typeof tools[name] === 'function').sort().join());
}
const source = await readFile('./servers/google_drive/getDocument.ts', 'utf8');
console.log(detail === Detail.Full && source.includes('google_drive__get_document'));
const doc: any = await callMCPTool('google_drive__get_document', { documentId: 'abc123' });
console.log(doc.title);
