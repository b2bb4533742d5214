import { readFile } from "./servers/filesystem/index.ts";
import { createDocument } from "./servers/drive/index.ts";
const { content } = await readFile({ path: "notes/2026-03-02-ops-weekly.md" });
await createDocument({ title: "Ops weekly, 2 March", content });
console.log("The note is in the drive.");
