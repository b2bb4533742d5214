import fs from "node:fs/promises";
import { aggregateStats, callMCPTool, filterByField, formatOutput, isHandle, listFiles, MCPToolError, readFile, summarizeList, vars, writeFile } from "mcprun";
import { getDocument } from "./servers/google_drive";
import * as docs from "#servers/docs";
import { prompts, resources } from "servers/docs";
import { MCPError } from "./servers/client.ts";

const text: string = await readFile("notes.txt");
await writeFile("out.json", { text, who: vars.who });
const rows = [{ a: 1, b: "x" }, { a: 2, b: "y" }];
const kept: { a: number; b: string }[] = filterByField(rows, "a", 1, ">");
const mean: number | null = aggregateStats(kept, "a").mean;
console.log(formatOutput(rows, "table"), summarizeList(rows).count, mean, await listFiles("**/*.csv"), process.argv);
try {
  const doc = await getDocument({ document_id: "x" });
  if (isHandle(doc)) for (const line of doc.lines()) console.log(line);
  const raw = await callMCPTool("a__b", {}, { raw: true, timeoutMs: 1000, signal: AbortSignal.timeout(10) });
  await raw.content?.[0]?.save("x.png");
} catch (err) {
  if (err instanceof MCPToolError && err.isRetryable) console.error(err.content.length, err instanceof MCPError);
}
const filled = await prompts.get("summarize", { document_id: "x" });
await prompts.get("greet");
await docs.prompts.get("Prompts");
console.log(filled.messages[0]?.content.text, (await resources.list())[0]?.uri, (await fs.readFile("x")).length);
for (const page of await resources.read("docs://x")) page.save(`${page.uri.length}.txt`);
// @ts-expect-error: an argument is missing
await prompts.get("summarize", {});
// @ts-expect-error: there is no such prompt
await prompts.get("nope");
// @ts-expect-error: no such operator
filterByField(rows, "a", 1, "~");
export const result = kept;
