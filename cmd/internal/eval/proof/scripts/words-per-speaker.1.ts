import { getDocument } from "./servers/drive/index.ts";
import { writeFile } from "./servers/filesystem/index.ts";
const { content } = await getDocument({ document_id: "harbor-pine-discovery-transcript" });
const words: Record<string, number> = {};
for (const [, name, said] of content!.matchAll(/^\[[\d:]+\] (.*?): (.*)$/gm)) words[name!] = (words[name!] ?? 0) + said!.split(/\s+/).filter(Boolean).length;
const rows = Object.entries(words).sort((a, b) => b[1] - a[1]);
await writeFile({ path: "reports/speakers.csv", content: ["speaker,words", ...rows.map((r) => r.join(","))].join("\n") + "\n" });
console.log("reports/speakers.csv is written.");
