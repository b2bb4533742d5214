const fs = await mod("node:fs");
for (const place of ["@OTHER@/secret.txt", "/workspace/../../@OTHERID@", "/tmp/secret.txt", "/dev/shm/secret", "/var/tmp/secret", "/workspace/secret.txt", "/proc/1/cwd/secret.txt"])
  await attempt(place, () => fs.readFileSync(place, "utf8"));
try { for (const pid of fs.readdirSync("/proc").filter((n: string) => /^\d+$/.test(n))) for (const root of ["root/workspace", "cwd", "root/tmp"]) await attempt(pid, () => fs.readFileSync(`/proc/${pid}/${root}/secret.txt`, "utf8")); } catch {}
for (const d of ["@OTHER@", "/tmp", "/dev/shm", "/workspace"]) try { fs.writeFileSync(d + "/from the attacker", "x"); } catch {}
await attempt("link", () => (fs.symlinkSync("@OTHER@", "other"), fs.readFileSync("other/secret.txt", "utf8")));
for (const where of [{ path: "\0neighbour" }, { path: "/tmp/n.sock" }, { path: "@OTHER@/n.sock" }, { port: 4321, host: "127.0.0.1" }] as any[])
  await attempt("socket " + JSON.stringify(where), async () => { const net = await mod("node:net"); return await within(1000, () => new Promise((yes, no) => net.connect(where).on("connect", yes).on("error", no))); });
console.log("checked");
process.exit(0);
