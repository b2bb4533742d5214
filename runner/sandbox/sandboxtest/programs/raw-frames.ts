// Speaks on the bridge's own descriptor, past the guest program. The argument names what is said.
const fs = await mod("node:fs");
const write = (data: Buffer) => {
  for (let at = 0; at < data.length;) try { at += fs.writeSync(3, data, at); } catch (e: any) { if (e.code !== "EAGAIN") throw e; }
};
const send = (text: string | Buffer, size?: number) => {
  const data = Buffer.isBuffer(text) ? text : Buffer.from(text), head = Buffer.alloc(4);
  head.writeUInt32BE(size ?? data.length); write(Buffer.concat([head, data]));
};
const call = (id: number, tool = "test__text", args = "{}") => send(`{"type":"call","id":${id},"tool":"${tool}","args":${args}}`);
const what = process.argv[2];
console.log("speaking");
try {
  fs.fstatSync(3);
} catch { console.log("there is no such descriptor"); process.exit(0); }
try {
  if (what === "not JSON") send("hello?");
  if (what === "a giant") send("{", 0xffffffff);
  if (what === "one byte too many") send('{"type":"call"' + " ".repeat(16 << 20));
  if (what === "deep") send('{"type":"call","id":1,"tool":"test__text","args":' + '{"a":'.repeat(100_000));
  if (what === "a member twice") send('{"type":"call","id":1,"tool":"test__text","tool":"test__forged","args":{}}');
  if (what === "a member twice, escaped") send('{"type":"call","id":1,"tool":"test__text","\\u0074ool":"test__forged","args":{}}');
  if (what === "an argument twice") call(1, "test__forged", '{"a":1,"a":2}');
  if (what === "its own approval") send('{"type":"call","id":1,"tool":"test__forged","args":{},"approved":true}');
  if (what === "a reply") send('{"type":"reply","id":1,"value":"forged"}');
  if (what === "a job") send('{"type":"job","language":"python","name":"x","code":"forged","args":[]}');
  if (what === "hello again") send(JSON.stringify({ type: "hello", protocol: 1, secret: "x", runtime: "forged" }));
  if (what === "an old call again") { call(5); call(5, "test__forged"); }
  if (what === "a falling number") { call(5); call(4, "test__forged"); }
  if (what === "a number beyond all") call(2 ** 53, "test__forged");
  if (what === "a cancel of nothing") send('{"type":"cancel","id":77}');
  if (what === "half a surrogate") call(1, "test__forged", '{"a":"\\ud83d"}');
  if (what === "not UTF-8") send(Buffer.concat([Buffer.from('{"type":"call","id":1,"tool":"test__'), Buffer.from([255]), Buffer.from('","args":{}}')]));
  if (what === "a call after the end") { send('{"type":"done"}'); call(1, "test__forged"); }
  if (what === "two ends") { send('{"type":"done","result":1}'); send('{"type":"done","result":2}'); }
  if (what === "empty frames") while (true) send("");
  if (what === "a flood of calls") for (let i = 1; i < 100_000; i++) call(i, "test__hang");
  if (what === "a flood of arguments") for (let i = 1; i < 100; i++) call(i, "test__hang", JSON.stringify({ a: "x".repeat(4 << 20) }));
  if (what === "replies that nobody reads") for (let i = 1; i < 100_000; i++) call(i, "test__large");
  if (what === "half a frame") { write(Buffer.from("\0\0\0d{\"type\"", "latin1")); while (true); }
  if (what === "half a length") { write(Buffer.from([0, 0])); while (true); }
} catch (e: any) { console.log(String(e)); }
const until = Date.now() + 30_000;
while (Date.now() < until);
console.log("it was let through");
