const fs = await mod("node:fs");
fs.writeFileSync("f", "x");
for (const mode of [0o4755, 0o2755, 0o6777]) {
  await attempt("chmod", () => fs.chmodSync("f", mode));
  await attempt("lchmod", () => { fs.lchmodSync("f", mode); });
  await attempt("fchmod", () => fs.fchmodSync(fs.openSync("f", "r+"), mode));
  await attempt("promise", () => fs.promises.chmod("f", mode));
  try { fs.writeFileSync("g" + mode, "x", { mode }); } catch {}
  try { fs.closeSync(fs.openSync("h" + mode, "w", mode)); } catch {}
  try { fs.mkdirSync("d" + mode, { mode }); } catch {}
  for (const name of ["g", "h"]) { let m = 0; try { m = fs.statSync(name + mode).mode; } catch {} if (m & 0o6000) leak("made with it", name + mode.toString(8)); }
}
await attempt("root's file", () => fs.chownSync("f", 0, 0));
await attempt("group of root", () => fs.chownSync("f", -1, 0));
console.log("checked");
