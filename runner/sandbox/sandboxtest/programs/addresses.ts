for (const url of ["http://127.0.0.1:@PORT@/", "http://localhost:@PORT@/", "http://[::1]:@PORT6@/", "http://0.0.0.0:@PORT@/", "http://2130706433:@PORT@/", "http://0x7f.1:@PORT@/", "http://127.0.0.1:@PORT@\u0000.example.com/",
  "http://169.254.169.254/latest/meta-data/", "http://metadata.google.internal/", "http://host.docker.internal:@PORT@/", "http://172.17.0.1:@PORT@/", "https://example.com/", "http://user@127.0.0.1:@PORT@/", "file://@CANARY@", "data:text/plain,x#blob", "ws://127.0.0.1:@PORT@/"].filter((u) => !u.startsWith("data:"))) {
  await attempt("fetch " + url, () => within(1000, async () => (await fetch(url)).text()));
}
await attempt("socket of the web", () => within(1000, () => new Promise((yes, no) => { const s = new (globalThis as any).WebSocket("ws://127.0.0.1:@PORT@/"); s.onopen = yes; s.onerror = () => no(new Error("refused")); })));
await attempt("events of the web", () => within(1000, () => new Promise((yes, no) => { const s = new (globalThis as any).EventSource("http://127.0.0.1:@PORT@/"); s.onopen = yes; s.onerror = no; })));
for (const host of ["127.0.0.1", "localhost", "0.0.0.0", "::1", "::ffff:127.0.0.1", "172.17.0.1", "1.1.1.1"]) {
  const port = Number(host.startsWith("::1") ? "@PORT6@" : host === "1.1.1.1" ? 53 : "@PORT@");
  await attempt("tcp " + host, async () => { const net = await mod("node:net"); return await within(1000, () => new Promise((yes, no) => net.connect(port, host).on("connect", yes).on("error", no))); });
}
for (const [module, url] of [["node:http", "http://127.0.0.1:@PORT@/"], ["node:https", "https://127.0.0.1:@PORT@/"]])
  await attempt(module, async () => { const m = await mod(module); return await within(1000, () => new Promise((yes, no) => m.get(url, yes).on("error", no))); });
await attempt("http2", async () => { const m = await mod("node:http2"); return await within(1000, () => new Promise((yes, no) => m.connect("http://127.0.0.1:@PORT@").on("connect", yes).on("error", no))); });
await attempt("tls", async () => { const m = await mod("node:tls"); return await within(1000, () => new Promise((yes, no) => m.connect(Number("@PORT@"), "127.0.0.1").on("connect", yes).on("error", no))); });
for (const family of ["udp4", "udp6"]) await attempt(family, async () => {
  const d = await mod("node:dgram");
  return await within(1000, () => new Promise((yes, no) => { const s = d.createSocket(family); s.on("error", no); s.on("message", yes); s.send("x", Number("@UDP@"), family === "udp4" ? "127.0.0.1" : "::1", (e: any) => e && no(e)); }));
});
for (const name of ["HTTP_PROXY", "http_proxy", "HTTPS_PROXY", "NODE_USE_ENV_PROXY"]) process.env[name] = name.startsWith("NODE") ? "1" : "http://127.0.0.1:@PORT@";
await attempt("by a proxy", () => within(1000, async () => (await fetch("http://example.com/")).text()));
console.log("checked");
process.exit(0);
