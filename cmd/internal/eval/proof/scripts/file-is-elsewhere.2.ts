import { readFile, searchFiles } from "./servers/filesystem/index.ts";
const { files } = await searchFiles({ name_pattern: "*ops-weekly*" });
const { content } = await readFile({ path: files[0]!.path });
console.log(content.split("- [ ]").length - 1);
