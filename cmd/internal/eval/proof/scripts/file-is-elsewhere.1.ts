import { readFile } from "./servers/filesystem/index.ts";
const { content } = await readFile({ path: "notes/ops-weekly.md" });
console.log(content.split("- [ ]").length - 1);
