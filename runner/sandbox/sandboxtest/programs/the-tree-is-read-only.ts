const fs = await mod("node:fs");
if (fs.readFileSync("servers/a.txt", "utf8") !== "generated" || fs.readFileSync("/mcp/servers/a.txt", "utf8") !== "generated") throw new Error("the tree is not there");
for (const dir of ["servers", "/workspace/servers", "/mcp/servers", "./servers/../servers", "/workspace//servers/"]) {
  const f = dir + "/a.txt";
  for (const [what, go] of Object.entries<() => unknown>({
    write: () => fs.writeFileSync(f, "changed"), append: () => fs.appendFileSync(f, "x"), create: () => fs.writeFileSync(dir + "/new.txt", "x"), remove: () => fs.unlinkSync(f), rm: () => (fs.rmSync(f), 1),
    mode: () => fs.chmodSync(f, 0o777), owner: () => fs.chownSync(f, process.getuid!(), 65534), times: () => fs.utimesSync(f, 0, 0), truncate: () => fs.truncateSync(f, 0), "rename folder": () => fs.renameSync(dir, "/workspace/servers2"), "remove folder": () => fs.rmdirSync(dir),
    "rename over": () => (fs.writeFileSync("over", "x"), fs.renameSync("over", f)), "rename away": () => fs.renameSync(f, "away"), folder: () => fs.mkdirSync(dir + "/sub"), "copy over": () => (fs.writeFileSync("over", "x"), fs.copyFileSync("over", f)),
    "link in": () => fs.symlinkSync("/tmp", dir + "/l"), "by descriptor": () => fs.openSync("/proc/self/fd/" + fs.openSync(f, "r"), "r+"), "mode by descriptor": () => fs.fchmodSync(fs.openSync(f, "r"), 0o777), "write a read descriptor": () => fs.writeSync(fs.openSync(f, "r"), "x"),
    "by a hard link": () => (fs.linkSync(f, "hard"), fs.writeFileSync("hard", "changed")), "by a link": () => (fs.symlinkSync(f, "soft" + dir.length), fs.writeFileSync("soft" + dir.length, "changed")), "by a copy of the folder": async () => { await fs.promises.cp("/workspace/over", dir + "/over", { recursive: true, force: true }); },
    "recursive removal": () => { fs.rmSync(dir, { recursive: true }); return 1; }, "by a stream of the kernel": () => fs.closeSync(fs.openSync(f, "w+")),
  })) await attempt(`${what} ${dir}`, go);
}
await attempt("the workspace itself", () => fs.renameSync("/workspace", "/tmp/w"));
await attempt("the way to the tree", () => fs.renameSync("/mcp", "/mcp2"));
if (fs.readFileSync("/mcp/servers/a.txt", "utf8") !== "generated") leak("changed");
console.log("checked");
