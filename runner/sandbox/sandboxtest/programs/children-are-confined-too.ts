await attempt("module", async () => {
  const { spawnSync } = await mod("node:child_process");
  const code = `
    const fs = require("fs"), net = require("net");
    const t = (w, f) => { try { f(); console.log("LEAK in a child:", w); } catch {} };
    t("canary", () => fs.readFileSync("@CANARY@")); t("tree", () => fs.writeFileSync("/workspace/servers/new.txt", "x")); t("elsewhere", () => fs.writeFileSync("@ELSEWHERE@/new.txt", "x")); t("root", () => process.setuid(0));
    const s = fs.readFileSync("/proc/self/status", "utf8");
    if (!/Seccomp:\\t2/.test(s)) console.log("LEAK no filter in a child");
    net.connect(@PORT@, "127.0.0.1").on("connect", () => { console.log("LEAK network in a child"); process.exit(); }).on("error", () => process.exit());
    setTimeout(() => process.exit(), 1000);`;
  for (const options of [{}, { cwd: "/" }, { detached: true }, { env: { NODE_OPTIONS: "--inspect=0.0.0.0:@FREE@", LD_PRELOAD: "/workspace/x.so" } }] as any[]) {
    const r = spawnSync(process.execPath, ["-e", code], { encoding: "utf8", timeout: 20_000, ...options });
    if (/LEAK/.test(r.stdout ?? "")) console.log(r.stdout);
  }
  for (const program of ["/bin/sh", "/bin/bash", "/bin/su", "/usr/bin/sudo", "/bin/mount", "/usr/bin/newuidmap", "/usr/bin/pkexec", "/usr/bin/docker", "/usr/bin/nsenter", "/usr/bin/curl", "/usr/bin/gcc", "/usr/bin/perl", "sh", "cat"])
    await attempt(program, () => { const r = spawnSync(program, ["--version"], { timeout: 5000 }); if (r.error) throw r.error; return r.status; });
  await attempt("shell", () => { const r = spawnSync("cat @CANARY@", { shell: true, encoding: "utf8" }); if (r.error || r.status) throw 0; return r.stdout; });
  throw 0;
});
console.log("checked");
