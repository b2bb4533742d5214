const fs = await mod("node:fs");
let n = 0;
try { for (; n < 2000; n++) fs.openSync("/workspace/servers/a.txt", "r"); leak("descriptors", n); } catch {}
console.log("checked");
