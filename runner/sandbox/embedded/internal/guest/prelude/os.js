// node:os with constants only: it reveals nothing about the machine.
(function (host) {
  "use strict";
  return {
    EOL: "\n", devNull: "/dev/null", platform: () => "linux", type: () => "Linux", arch: () => "x64", release: () => "", version: () => "",
    machine: () => "x86_64", hostname: () => "sandbox", tmpdir: () => "/tmp", homedir: () => "/workspace", cpus: () => [],
    availableParallelism: () => 1, totalmem: () => host.memory(), freemem: () => 0, uptime: () => Math.round(host.now() / 1000),
    loadavg: () => [0, 0, 0], networkInterfaces: () => ({}), endianness: () => "LE",
    userInfo: () => ({ uid: 65534, gid: 65534, username: "nobody", homedir: "/workspace", shell: null }), constants: { signals: {} },
  };
})
