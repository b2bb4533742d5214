const child = await mod("node:child_process").catch(() => undefined);
if (!child) { console.log("checked"); process.exit(0); }
// Each starts three of its kind, which know nothing but what is in their environment.
const bomb = `() => { const c = require("child_process"); for (let i = 0; i < 3; i++) try { c.spawn(process.execPath, ["-e", "(" + process.env.F + ")()"], { detached: true, stdio: "ignore", env: process.env }).on("error", () => {}); } catch {} setInterval(() => {}, 1000); }`;
console.log("running");
for (let i = 0; i < 10; i++) try { child.spawn(process.execPath, ["-e", `(${bomb})()`], { detached: true, stdio: "ignore", env: { F: bomb } }).on("error", () => {}); } catch {}
let refused = 0;
const refuse = () => { if (refused++ === 0) console.log("refused"); };
setInterval(() => { try { child.spawn(process.execPath, ["-e", ""], { stdio: "ignore" }).on("error", refuse).on("exit", (code: number) => code !== 0 && refuse()); } catch { refuse(); } }, 200);
await new Promise(() => {});
