const child = await mod("node:child_process").catch(() => undefined);
if (!child) { console.log("checked"); process.exit(0); }
console.log("running");
const code = `const b = Buffer.alloc(40_000_000, 1); setTimeout(() => b, 20_000)`;
let gone = 0;
for (let i = 0; i < 8; i++) child.spawn(process.execPath, ["-e", code], { stdio: "ignore" }).on("error", () => gone++).on("exit", () => gone++);
await new Promise((ok) => setTimeout(ok, 2000));
if (gone === 0) leak("320 MB in eight processes");
console.log("checked");
process.exit(0);
