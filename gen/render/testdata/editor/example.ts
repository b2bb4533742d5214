import fs from "node:fs/promises";
import { aggregateStats, callMCPTool, filterByField, formatOutput, isHandle, listFiles, MCPToolError, readFile, summarizeList, vars, writeFile } from "mcprun";
import { detokenizePii, listSkills, loadSkill, saveSkill, searchTools, showImage, tokenizePii } from "mcprun";
import { getDocument } from "./servers/google_drive";
import * as docs from "#servers/docs";
import { prompts, resources } from "servers/docs";
import { MCPError } from "./servers/client.ts";
import { getDocument as hyphen, GetDocumentInput, type GetDocumentOutput } from "./servers/google-drive";
import * as all from "./servers/index.ts";
import * as bare from "./servers";
import { getDocument as absolute } from "/workspace/servers/google-drive";
import { getDocument as other } from "/mcp/servers/google_drive/getDocument.ts";
import { google_drive } from "#servers";

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
const input: GetDocumentInput = { document_id: "x" };
let later: string[] | undefined; // is not sent while it is undefined
const asked: GetDocumentInput = { document_id: "x", fields: later };
later = [(await getDocument(asked)).text];
let output: GetDocumentOutput | undefined;
output = await hyphen(input);
output = (await all.googleDrive.getDocument(input)) ?? output;
console.log(output, bare.docs, all.google_drive.getDocument === absolute, other === google_drive.getDocument);
// @ts-expect-error: there is no such function, so the import above is known
hyphen.nope();
const found = await searchTools("read a document", { detail: "full", limit: 3 });
console.log(found[0]?.tool, found[0]?.signature, await searchTools("", { server: "docs" }));
console.log((await saveSkill("top", "console.log(1)", { description: "The first" })).version, (await loadSkill("top")).code, (await listSkills())[0]?.reason);
const hidden: { to: string[] } = await tokenizePii({ to: ["ann@example.com"] }, { types: ["EMAIL", "PHONE"] });
const shown: string = await detokenizePii(await tokenizePii("ann@example.com", { types: "EMAIL" }));
await showImage("chart.png");
await showImage(new Uint8Array(3), { mimeType: "image/svg+xml" });
// @ts-expect-error: there is no such type
await tokenizePii("x", { types: "NAME" });
export const result = [kept, hidden, shown];
