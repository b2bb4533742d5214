console.log("running");
const keep: string[] = [];
for (let i = 0; ; i++) keep.push(Buffer.alloc(1 << 20, 97 + (i % 26)).toString("latin1") + i);
