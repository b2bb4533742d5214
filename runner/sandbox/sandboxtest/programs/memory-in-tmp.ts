const fs = await mod("node:fs");
console.log("running");
let written = 0;
try { while (written < 200 << 20) { fs.appendFileSync("/tmp/big" + (written >> 24), Buffer.alloc(1 << 20, 120)); written += 1 << 20; } } catch (e: any) { console.log(e.code); }
if (written > 40 << 20) leak("written to /tmp", written);
let n = 0;
const until = Date.now() + 4000;
try { for (; n < 200_000 && Date.now() < until; n++) fs.closeSync(fs.openSync("/tmp/f" + n, "w")); if (n === 200_000) leak("empty files in /tmp", n); } catch {}
console.log("checked");
