const fs = await mod("node:fs");
if (fs.readFileSync("skills/saved.txt", "utf8") !== "a skill" || fs.readFileSync("/mcp/skills/saved.txt", "utf8") !== "a skill") throw new Error("the skills are not there");
for (const dir of ["skills", "/workspace/skills", "/mcp/skills"]) {
  const f = dir + "/saved.txt";
  for (const [what, go] of Object.entries<() => unknown>({ write: () => fs.writeFileSync(f, "x"), create: () => fs.writeFileSync(dir + "/new.ts", "x"), remove: () => fs.unlinkSync(f), mode: () => fs.chmodSync(f, 0o777), rename: () => fs.renameSync(dir, dir + "2"),
    "rename over": () => (fs.writeFileSync("over", "x"), fs.renameSync("over", f)), link: () => (fs.linkSync(f, "hard"), fs.writeFileSync("hard", "x")), append: () => fs.appendFileSync(f, "x"), "copy over": () => (fs.writeFileSync("over", "x"), fs.copyFileSync("over", f)) })) await attempt(`${what} ${dir}`, go);
}
console.log("checked");
