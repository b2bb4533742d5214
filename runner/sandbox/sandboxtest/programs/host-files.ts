const fs = await mod("node:fs");
for (const f of ["@CANARY@", "@HOSTWORKSPACE@/../canary", "/workspace/../canary", "/workspace/../@CANARY@", "@ELSEWHERE@/somebody.txt", "/etc/shadow", "/etc/gshadow", "/etc/sudoers",
  "/root/.bashrc", "/root/.ssh/id_ed25519", "/root/.ssh/id_rsa", "/root/.ssh/authorized_keys", "/root/.aws/credentials", "/root/.kube/config", "/root/.docker/config.json", "/root/.netrc", "/root/.npmrc", "/root/.git-credentials",
  "/etc/ssh/ssh_host_ed25519_key", "/etc/ssl/private/ssl-cert-snakeoil.key", "/var/lib/docker/network/files/local-kv.db", "/var/log/syslog", "/var/log/dpkg.log", "/etc/fstab", "/etc/crontab",
  "/var/run/secrets/kubernetes.io/serviceaccount/token", "/run/secrets/token", "/host@CANARY@", "file://@CANARY@", "/workspace/servers/../../../..@CANARY@", "servers/../..@CANARY@", "/tmp/../..@CANARY@"]) {
  await attempt(f, () => { const text = fs.readFileSync(f, "latin1"); if (!text) throw 0; return text; });
  await attempt("URL of " + f, () => fs.readFileSync(new URL("file://" + f), "latin1"));
  await attempt("bytes of " + f, () => fs.readFileSync(Buffer.from(f), "latin1"));
  await attempt("promise of " + f, () => fs.promises.readFile(f, "latin1"));
}
for (const f of ["/var/run/docker.sock", "/run/docker.sock", "/run/containerd/containerd.sock", "/run/podman/podman.sock", "/run/dbus/system_bus_socket", "/run/systemd/private", "@HOSTWORKSPACE@", "@BASE@"])
  if (fs.existsSync(f)) leak("there is", f);
for (const d of ["/root", "/home", "/etc/ssl/private", "/etc/ssh", "/var/lib", "/var/log", "/boot", "/mnt", "/media", "/srv", "/opt"])
  await attempt(d, () => { const list = fs.readdirSync(d); if (!list.length) throw 0; return list; });
await attempt("copy", () => (fs.copyFileSync("@CANARY@", "/workspace/copy"), fs.readFileSync("/workspace/copy", "utf8")));
await attempt("cp", () => fs.promises.cp("@BASE@", "/workspace/base", { recursive: true }));
console.log("checked");
