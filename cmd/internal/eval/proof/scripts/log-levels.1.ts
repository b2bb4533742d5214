import { readFile } from "./servers/filesystem/index.ts";
const { content } = await readFile({ path: "logs/scheduler-2026-02-26.log" });
const levels: Record<string, number> = {};
for (const line of content.split("\n")) {
  const level = line.split(/\s+/)[1];
  if (level) levels[level] = (levels[level] ?? 0) + 1;
}
console.log(Object.keys(levels).sort().map((k) => k + " " + levels[k]).join(", "));
