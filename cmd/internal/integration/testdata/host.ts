// Tries what a script must not be able to do. The arguments are a file of the host, and a port that is listened on.
import * as fs from "node:fs";

const [secretFile = "", port = "0", gateway = "127.0.0.1"] = process.argv.slice(2);

const refused = (what: () => unknown): boolean => {
  try {
    what();
    return false;
  } catch {
    return true;
  }
};
const read = (path: string): string => {
  try {
    return fs.readFileSync(path, "utf8");
  } catch {
    return "";
  }
};
const connects = async (host: string): Promise<boolean> => {
  const net = await import("node:net").catch(() => undefined);
  if (!net) return false;
  return new Promise((resolve) => {
    const socket = net.connect({ host, port: Number(port), timeout: 2000 });
    socket.on("connect", () => resolve(true));
    socket.on("error", () => resolve(false));
    socket.on("timeout", () => resolve(false));
  });
};
const status = read("/proc/self/status");
const member = (name: string) => new RegExp(`^${name}:\\s*(\\S+)`, "m").exec(status)?.[1];

fs.writeFileSync("mine.txt", "written inside");
fs.writeFileSync("/tmp/scratch.txt", "gone soon");
export const result = {
  env: Object.keys(process.env).sort(),
  environ: ["self", "1"].map((pid) => read(`/proc/${pid}/environ`)).join(""),
  secretFile: refused(() => fs.readFileSync(secretFile)),
  config: refused(() => fs.readFileSync("../.mcp.json")),
  escape: refused(() => fs.readFileSync("./way-out/secret.txt")),
  writeRoot: refused(() => fs.writeFileSync("/planted", "")),
  writeEtc: refused(() => fs.writeFileSync("/etc/planted", "")),
  writeTree: refused(() => fs.writeFileSync("./servers/planted.ts", "")),
  writeLock: refused(() => fs.writeFileSync("./servers/.mcpgen/lock.json", "{}")),
  sockets: ["/var/run/docker.sock", "/run/docker.sock"].filter((path) => fs.existsSync(path)),
  network: (await connects("127.0.0.1")) || (await connects(gateway)),
  status: status && { capabilities: member("CapEff"), bounding: member("CapBnd"), privileges: member("NoNewPrivs"), seccomp: member("Seccomp"), user: member("Uid") },
};
