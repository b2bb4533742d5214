import { callMCPTool } from "./servers/client.ts";
for (const name of ["test__ech\u043e", "TEST__echo", "test__echo\0", "test__echo ", "test__echo\u200b", "test__e\u0301cho", "../test__echo", "test__echo/../test__text", "test__echo\n", "__proto__", "constructor", "", "test__", "toString", "x".repeat(10_000), "test__echo\u202e", "%74est__echo"])
  await attempt(name.slice(0, 40), () => callMCPTool(name, {}));
let n = 0;
const seen = await callMCPTool<any>("test__echo", { get path() { return n++ === 0 ? "harmless" : "secret"; } } as any).catch(() => undefined);
if (seen && seen.path !== "harmless" && seen.path !== "secret") leak("neither of both", seen.path);
// A guest that takes its objects' members from their prototypes would say more than it means, which the host refuses.
(Object.prototype as any).approved = true;
(Object.prototype as any).toJSON = function () { return { tool: "test__forged" }; };
(Array.prototype as any).toJSON = () => "forged";
try { await callMCPTool("test__text", {}); } catch {}
console.log("checked");
