const fs = await mod("node:fs");
const kind = process.argv[2];
for (const name of ["servers", "skills"]) try {
  try { fs.rmdirSync(name); } catch {}
  if (kind === "link") fs.symlinkSync("@ELSEWHERE@", name);
  if (kind === "link to the root") fs.symlinkSync("/", name);
  if (kind === "link to the kernel") fs.symlinkSync("/proc/self/cwd/../..@ELSEWHERE@", name);
  if (kind === "file") fs.writeFileSync(name, "LEAK");
  if (kind === "folder") { fs.mkdirSync(name + "/sub", { recursive: true }); fs.writeFileSync(name + "/client.py", "print('LEAK planted')"); fs.writeFileSync(name + "/client.ts", "console.log('LEAK planted')"); }
  if (kind === "locked folder") { fs.mkdirSync(name); fs.chmodSync(name, 0); }
} catch {} // not everywhere may such things be made
console.log("checked");
