const fs = await mod("node:fs");
for (const dir of ["/", "/etc", "/usr", "/usr/bin", "/usr/lib", "/bin", "/lib", "/mcp", "/mcp/guest", "/mcp/skills", "/root", "/home", "/var", "/var/tmp", "/run", "/run/lock", "/dev", "/dev/shm", "/dev/mqueue", "/proc", "/sys", "/opt", "/mnt", "/srv", "@HOSTWORKSPACE@", "@ELSEWHERE@", "@BASE@", "/workspace/..", "/tmp/..", "/workspace/../etc"]) {
  await attempt("file " + dir, () => fs.writeFileSync(dir + "/@ID@", "x"));
  await attempt("folder " + dir, () => { fs.mkdirSync(dir + "/@ID@d"); return 1; });
}
for (const path of [process.execPath, "/mcp/guest/guest.mjs", "/etc/passwd", "/etc/ld.so.cache", "/etc/ld.so.preload", "/usr/lib/os-release"]) {
  await attempt("append " + path, () => { if (!path) throw 0; fs.appendFileSync(path, "x"); });
  await attempt("replace " + path, () => (fs.writeFileSync("/tmp/r", "x"), fs.renameSync("/tmp/r", path)));
}
console.log("checked");
