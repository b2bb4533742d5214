const fs = await mod("node:fs");
let status = "";
try { status = fs.readFileSync("/proc/self/status", "utf8"); } catch {}
if (status) {
  for (const line of status.split("\n")) if (/^Cap(Inh|Prm|Eff|Bnd|Amb):/.test(line) && !/\t0+$/.test(line)) leak(line);
  if (/^NoNewPrivs:\t0$/m.test(status)) leak("no_new_privs is off");
  if (!/^Seccomp:\t2$/m.test(status)) leak("seccomp is off");
  if (/^(Uid|Gid):.*\t0\b/m.test(status)) leak("root", status);
}
console.log("checked");
