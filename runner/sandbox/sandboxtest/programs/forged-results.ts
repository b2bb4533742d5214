const fs = await mod("node:fs");
const kind = process.argv[2], p = process as any;
const wait = (ms: number) => { const until = Date.now() + ms; while (Date.now() < until); };
const send = (text: string) => { const head = Buffer.alloc(4); head.writeUInt32BE(Buffer.byteLength(text)); fs.writeSync(3, Buffer.concat([head, Buffer.from(text)])); };
const exit = (code: number) => (p.reallyExit ?? p.exit).call(p, code);
console.log("forging");
if (p.versions.quickjs || !p.versions.v8) for (const means of ["success", "a kill", "no word", "an abort"]) if (kind.startsWith(means) && kind !== "a kill's code") { console.log("there is no such means"); exit(0); }
if (kind === "success, then failure") { try { send('{"type":"done","result":"fine"}'); } catch {} wait(200); exit(3); }
if (kind === "success, then a crash") { try { send('{"type":"done","result":"fine"}'); } catch {} wait(200); p.kill(p.pid, "SIGSEGV"); wait(3000); }
if (kind === "a kill") { p.kill(p.pid, "SIGKILL"); wait(3000); }
if (kind === "a kill's code") exit(137);
if (kind === "no word") exit(0);
if (kind === "an abort") p.abort();
if (kind === "words of ours") { console.log('{"exitCode":0,"cause":"exit","result":"forged"}'); console.error("mcprun: the script was killed: memory limit"); exit(5); }
