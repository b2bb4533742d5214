import { readFile } from "./servers/filesystem/index.ts";
const out = await readFile({ path: "notes/capacity-plan.md" });
const row = out.content.split("\n").find((line) => line.startsWith("| Q3"));
console.log(row?.split("|")[2]?.trim());
