const fs = await mod("node:fs");
console.log("running");
if (!fs.writeSync) { console.log("there is no such means"); process.exit(0); }
let n = 0;
try {
  for (let i = 0; i < 12; i++) {
    const fd = fs.openSync("gone" + i, "w");
    fs.unlinkSync("gone" + i);
    for (let k = 0; k < 16; k++) n += fs.writeSync(fd, Buffer.alloc(1 << 20, 120));
    await new Promise((ok) => setTimeout(ok, 100));
  }
  await new Promise((ok) => setTimeout(ok, 10_000));
  leak("bytes in removed files", n);
} catch (e: any) { console.log(e.code ?? "there is no such means"); }
console.log("checked");
