const fs = await mod("node:fs");
console.log("running");
let n = 0;
const piece = Buffer.alloc(1 << 20, 120);
try { for (let i = 0; i < 100; i++) { for (let k = 0; k < 8; k++) { fs.appendFileSync("part" + i, piece); n += 1 << 20; } if (i > 4) await new Promise((ok) => setTimeout(ok, i < 10 ? 20 : 300)); } } catch (e: any) { console.log(e.code); }
if (n > 700 << 20) leak("bytes", n);
console.log("checked");
