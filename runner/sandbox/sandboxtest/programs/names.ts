await attempt("module", async () => {
  const dns = await mod("node:dns/promises");
  for (const name of ["example.com", "metadata.google.internal", "host.docker.internal", "gateway.docker.internal", "kubernetes.default.svc", "a".repeat(63) + ".exfiltrated.example.com"])
    await attempt("look up " + name, () => within(1500, () => dns.lookup(name)));
  for (const server of ["1.1.1.1", "127.0.0.53", "127.0.0.11", "172.17.0.1"])
    await attempt("ask " + server, () => { const r = new dns.Resolver({ timeout: 300, tries: 1 }); r.setServers([server]); return within(1000, () => r.resolve4("example.com")); });
  throw 0;
});
console.log("checked");
process.exit(0);
