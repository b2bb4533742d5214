import { callMCPTool } from "./servers/client.ts";
const fs = await mod("node:fs");
for (const dir of ["servers", "/workspace/servers", "/mcp/servers"]) {
  if (fs.readFileSync(dir + "/a.txt", "utf8") !== "generated") leak("not the tree", dir);
  await attempt("write " + dir, () => fs.writeFileSync(dir + "/new.txt", "x"));
}
await attempt("somebody's", () => fs.readFileSync("servers/somebody.txt", "utf8"));
if (await callMCPTool("test__text", {}) !== "plain text") throw new Error("a call failed");
console.log("checked");
