const fs = await mod("node:fs");
for (const place of ["/tmp"]) {
  // A library of 64 bits whose first instruction ends the process: it would be native code of the script's making.
  const code = Buffer.from([0xbf, 7, 0, 0, 0, 0xb8, 0xe7, 0, 0, 0, 0x0f, 0x05]); // exit_group(7)
  const elf = Buffer.alloc(0x200);
  elf.set([0x7f, 0x45, 0x4c, 0x46, 2, 1, 1, 0]);
  elf.writeUInt16LE(3, 16); elf.writeUInt16LE(62, 18); elf.writeUInt32LE(1, 20); elf.writeBigUInt64LE(64n, 32);
  elf.writeUInt16LE(64, 52); elf.writeUInt16LE(56, 54); elf.writeUInt16LE(2, 56);
  const segment = (at: number, type: number, flags: number, offset: number, size: number) => {
    elf.writeUInt32LE(type, at); elf.writeUInt32LE(flags, at + 4);
    for (const [i, v] of [offset, offset, offset, size, size, 0x1000].entries()) elf.writeBigUInt64LE(BigInt(v), at + 8 + 8 * i);
  };
  segment(64, 1, 7, 0, 0x200); segment(120, 2, 6, 0xc0, 0x80);
  for (const [i, v] of [[5, 0x1a0], [6, 0x1b0], [10, 1], [11, 24], [12, 0x180], [0, 0]].entries()) { elf.writeBigUInt64LE(BigInt(v[0]), 0xc0 + 16 * i); elf.writeBigUInt64LE(BigInt(v[1]), 0xc8 + 16 * i); }
  elf.set(code, 0x180);
  fs.writeFileSync(place + "/library.node", elf);
  await attempt("library in " + place, () => (process as any).dlopen({ exports: {} }, place + "/library.node"));
  const child = await mod("node:child_process").catch(() => undefined);
  if (!child) continue;
  await attempt("started in " + place, () => {
    fs.copyFileSync(process.execPath, place + "/program"); fs.chmodSync(place + "/program", 0o755);
    const r = child.spawnSync(place + "/program", ["-e", "1"], { timeout: 10_000 }); if (r.error) throw r.error; return r.status;
  });
  fs.rmSync(place + "/program", { force: true });
  await attempt("script started in " + place, () => {
    fs.writeFileSync(place + "/script", "#!" + process.execPath + "\n", { mode: 0o755 });
    const r = child.spawnSync(place + "/script", [], { timeout: 10_000 }); if (r.error) throw r.error; return r.status;
  });
}
console.log("checked");
