// Another customer: leaves its secret wherever two sandboxes might meet, and goes on while somebody attacks.
import { callMCPTool } from "./servers/client.ts";
const fs = await mod("node:fs");
for (const place of ["/workspace/secret.txt", "/tmp/secret.txt", "/dev/shm/secret", "/var/tmp/secret"]) try { fs.writeFileSync(place, "the neighbour's secret"); fs.chmodSync(place, 0o666); } catch {}
for (const path of ["\0neighbour", "/tmp/n.sock"]) try {
  const net = await mod("node:net");
  const s = net.createServer((c: any) => c.end("the neighbour's secret")).on("error", () => {});
  s.listen({ path }); s.unref();
} catch {}
try { const net = await mod("node:net"); const s = net.createServer().on("error", () => {}); s.listen(4321, "127.0.0.1"); s.unref(); } catch {}
console.log("ready");
await callMCPTool("test__wait", {});
if (fs.readFileSync("/workspace/secret.txt", "utf8") !== "the neighbour's secret" || fs.existsSync("/workspace/from the attacker") || fs.existsSync("/tmp/from the attacker")) leak("written by the attacker");
console.log("alive");
process.exit(0);
