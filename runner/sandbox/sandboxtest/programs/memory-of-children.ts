const child = await mod("node:child_process").catch(() => undefined);
if (!child) { console.log("checked"); process.exit(0); }
console.log("running");
const code = `const b = Buffer.alloc(40_000_000, 1); process.stdout.write("x"); setTimeout(() => b, 60_000)`;
let gone = 0, full = 0;
for (let i = 0; i < 8; i++) {
  const c = child.spawn(process.execPath, ["-e", code], { stdio: ["ignore", "pipe", "ignore"] }).on("error", () => gone++).on("exit", () => gone++);
  c.stdout?.on("data", () => full++);
}
for (let i = 0; i < 300 && gone + full < 8; i++) await new Promise((ok) => setTimeout(ok, 100));
for (let i = 0; i < 100 && gone === 0; i++) await new Promise((ok) => setTimeout(ok, 100)); // whoever is over the limit may be ended for it
if (gone === 0) leak("320 MB in eight processes");
console.log("checked");
process.exit(0);
