const fs = await mod("node:fs");
for (const name of ["-rf", "--", "a\nb\tc", "\u001b]0;title\u0007", "\u202egnp.exe", "...", " ", "~", "$(id)", "`id`", "a".repeat(255), "e\u0301", "\u00e9", "CON", "NUL.txt", "x:y", "back\\slash", 'quo"te', ".git", ".mcpgen"])
  try { fs.writeFileSync(name, "x"); } catch {}
for (const [target, name] of [["loop", "loop"], ["/", "root"], ["x".repeat(4000), "long"]]) try { fs.symlinkSync(target, name); } catch {}
try { fs.mkdirSync("deep"); process.chdir("deep"); for (let i = 0; i < 1500; i++) { fs.mkdirSync("dd"); process.chdir("dd"); } } catch {}
try { process.chdir("/workspace"); } catch {}
try { fs.mkdirSync("/workspace/locked/inside", { recursive: true }); fs.writeFileSync("/workspace/locked/inside/f", "x"); fs.chmodSync("/workspace/locked/inside", 0); fs.chmodSync("/workspace/locked", 0); } catch {}
fs.mkdirSync("/workspace/wide");
for (let i = 0; i < 500; i++) fs.writeFileSync("/workspace/wide/" + i, "");
console.log("checked");
