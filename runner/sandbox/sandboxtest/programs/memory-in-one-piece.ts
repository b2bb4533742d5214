console.log("running");
for (const size of [2 ** 31 - 1, 2 ** 33, 2 ** 40])
  try { const b = new Uint8Array(size); for (let i = 0; i < size; i += 4096) b[i] = 1; leak("so many bytes", size); } catch {}
try { new Array(2 ** 32 - 1).fill(0); leak("so many elements"); } catch {}
try { "x".repeat(2 ** 31); leak("so long a text"); } catch {}
console.log("checked");
