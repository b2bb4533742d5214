for (const name of Object.keys(process.env))
  if (!["PATH", "HOME", "LANG", "TZ", "HOSTNAME", "TMPDIR", "PWD"].includes(name)) leak(name, process.env[name]);
if (process.env["@VARIABLE@"]) leak("the canary variable");
await attempt("proc", async () => {
  const fs = await mod("node:fs");
  for (const pid of ["self", ...fs.readdirSync("/proc").filter((n: string) => /^\d+$/.test(n))])
    for (const name of ["environ", "cmdline"])
      try { const text = fs.readFileSync(`/proc/${pid}/${name}`, "latin1"); if (/@VARIABLE@|MCPRUN_|sandboxtest|canary-/.test(text)) leak(`/proc/${pid}/${name}`, text); } catch {}
  throw 0;
});
await attempt("report", async () => {
  const text = JSON.stringify((process as any).report.getReport());
  if (/@VARIABLE@|canary-|sandboxtest/.test(text)) return text;
  throw 0;
});
console.log("checked");
