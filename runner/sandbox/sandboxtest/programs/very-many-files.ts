const fs = await mod("node:fs");
console.log("running");
let n = 0;
try {
  for (; n < 60_000; n++) { if (n % 1000 === 0) { fs.mkdirSync("d" + n / 1000); await new Promise((ok) => setTimeout(ok, n < 10_000 ? 10 : 200)); } fs.writeFileSync(`d${Math.floor(n / 1000)}/f${n}`, ""); }
  await new Promise((ok) => setTimeout(ok, 10_000));
  leak("files", n);
} catch (e: any) { console.log(e.code); }
console.log("checked");
