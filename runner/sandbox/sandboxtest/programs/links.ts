const fs = await mod("node:fs");
for (const f of ["link", "dirlink/canary", "relative", "chain", "rootlink@CANARY@", "proclink@CANARY@"]) {
  await attempt(f, () => fs.readFileSync(f, "utf8"));
  await attempt("copied " + f, () => (fs.copyFileSync(f, "copy"), fs.readFileSync("copy", "utf8")));
}
for (const [i, target] of ["@CANARY@", "../canary", "/proc/1/root@CANARY@", "/proc/self/cwd/../..@CANARY@", "/workspace/../../..@CANARY@"].entries()) {
  await attempt("made to " + target, () => (fs.symlinkSync(target, "made" + i), fs.readFileSync("made" + i, "utf8")));
  if ((() => { try { return fs.lstatSync("made" + i).isSymbolicLink(); } catch { return false; } })())
    await attempt("written through to " + target, () => fs.writeFileSync("made" + i, "x"));
  await attempt("hard to " + target, () => fs.linkSync(target, "hard" + i));
}
await attempt("written elsewhere", () => (fs.symlinkSync("@ELSEWHERE@", "out"), fs.writeFileSync("out/new.txt", "x")));
await attempt("written over elsewhere", () => fs.writeFileSync("elselink/somebody.txt", "x"));
await attempt("appended elsewhere", () => fs.appendFileSync("elselink/somebody.txt", "x"));
await attempt("renamed out", () => (fs.writeFileSync("f", "x"), fs.renameSync("f", "elselink/f")));
await attempt("moved in", () => fs.renameSync("elselink/somebody.txt", "mine"));
await attempt("removed elsewhere", () => fs.unlinkSync("elselink/somebody.txt"));
await attempt("folder removed", () => { fs.rmSync("dirlink/", { recursive: true }); if (fs.existsSync("dirlink/canary")) return "still there"; throw 0; });
console.log("checked");
