await attempt("module", async () => {
  const net = await mod("node:net");
  for (const path of ["/workspace/host.sock", "host.sock", "@HOSTWORKSPACE@/host.sock", "\0@ABSTRACT@", "/var/run/docker.sock", "/run/containerd/containerd.sock", "/run/dbus/system_bus_socket"])
    await attempt(path, () => within(1000, () => new Promise((yes, no) => net.connect({ path }).on("connect", yes).on("error", no))));
  throw 0;
});
console.log("checked");
process.exit(0);
