for f in ["@CANARY@", "@HOSTWORKSPACE@/../canary", "/workspace/../canary", "/workspace/../@CANARY@", "@ELSEWHERE@/somebody.txt", "/etc/shadow", "/etc/gshadow", "/etc/sudoers",
          "/root/.bashrc", "/root/.ssh/id_ed25519", "/root/.ssh/id_rsa", "/root/.ssh/authorized_keys", "/root/.aws/credentials", "/root/.kube/config", "/root/.docker/config.json", "/root/.netrc", "/root/.git-credentials", "/root/.config/gh/hosts.yml",
          "/etc/ssh/ssh_host_ed25519_key", "/etc/ssh/ssh_host_rsa_key", "/etc/ssl/private/ssl-cert-snakeoil.key", "/var/lib/docker/network/files/local-kv.db", "/var/log/syslog", "/var/log/dpkg.log", "/etc/fstab", "/etc/crontab", "/etc/machine-id.host",
          "/var/run/secrets/kubernetes.io/serviceaccount/token", "/run/secrets/token", "/mnt/canary", "/host@CANARY@", "/.dockerenv/../@CANARY@"]:
    attempt(f, lambda: open(f, "rb").read(100).decode("latin-1") or 1 / 0)
for f in ["/var/run/docker.sock", "/run/docker.sock", "/run/containerd/containerd.sock", "/run/podman/podman.sock", "/run/crio/crio.sock", "/run/dbus/system_bus_socket", "/run/systemd/private", "/run/systemd/notify", "/tmp/.X11-unix/X0", "@HOSTWORKSPACE@", "@BASE@"]:
    if os.path.lexists(f): leak("there is", f)
for d in ["/root", "/home", "/etc/ssl/private", "/etc/ssh", "/var/lib", "/var/log", "/boot", "/mnt", "/media", "/srv", "/opt", "/lost+found"]:
    attempt(d, lambda: os.listdir(d)[0])
print("checked")
