import { callMCPTool } from "./servers/client.ts";
for (const host of ["0.0.0.0", "127.0.0.1", "::"]) try {
  const net = await mod("node:net");
  const server = net.createServer();
  await within(1000, () => new Promise((yes, no) => server.listen(Number("@FREE@"), host, () => yes(1)).on("error", no)));
  if (await callMCPTool("test__dial", {})) leak("the host reached", host);
  server.close();
} catch {}
// Node's own debugger listens for whoever comes.
try { (await mod("node:inspector")).open(Number("@FREE@"), "0.0.0.0"); if (await callMCPTool("test__dial", {})) leak("the host reached the inspector"); } catch {}
try { process.kill(process.pid, "SIGUSR1"); } catch {}
if (await callMCPTool("test__dial", {})) leak("something listens");
console.log("checked");
process.exit(0);
