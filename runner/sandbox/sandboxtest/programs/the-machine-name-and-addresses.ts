const os = await mod("node:os"), fs = await mod("node:fs");
if (os.hostname() === "@HOSTNAME@") leak("host name");
await attempt("interfaces", () => { const list = Object.keys(os.networkInterfaces()).filter((n) => n !== "lo"); if (!list.length) throw 0; return list; });
for (const f of ["route", "arp"]) await attempt(f, () => { const lines = fs.readFileSync("/proc/net/" + f, "utf8").trim().split("\n"); if (lines.length < 2) throw 0; return lines[1]; });
await attempt("sockets", () => { const text = fs.readFileSync("/proc/net/unix", "utf8"); if (!/sandboxtest|containerd|dbus/.test(text)) throw 0; return text; });
await attempt("name servers", () => { const text = fs.readFileSync("/etc/resolv.conf", "utf8"); if (!text.includes("nameserver")) throw 0; return text; });
if (["root", os.userInfo?.().username].every((n) => n === "root")) leak("user");
console.log("checked");
