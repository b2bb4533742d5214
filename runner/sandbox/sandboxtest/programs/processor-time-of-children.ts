console.log("running");
const child = await mod("node:child_process").catch(() => undefined);
if (!child) while (true) {}
for (let i = 0; i < 3; i++) child.spawn(process.execPath, ["-e", "for (;;);"], { stdio: "ignore", detached: true }).on("error", () => {});
await new Promise((ok) => setTimeout(ok, 60_000));
