import { searchFiles, writeFile } from "./servers/filesystem/index.ts";
const { files } = await searchFiles({ path: "notes", content: "TODO", case_sensitive: true });
const lines = files.flatMap((f) => f.matches.map((m) => f.path + ":" + m.line + ": " + m.text));
await writeFile({ path: "reports/todo.txt", content: lines.join("\n") + "\n" });
console.log("reports/todo.txt is written.");
