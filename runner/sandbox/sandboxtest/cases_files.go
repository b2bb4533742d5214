package sandboxtest

import (
	"os"
	"path/filepath"
	"testing"
)

func fileCases() []testCase {
	return []testCase{
		{name: "workspace persists",
			setup: func(t *testing.T, w *world) {
				must(t, os.WriteFile(filepath.Join(w.workspace, "in.txt"), []byte("from before"), 0o666))
			},
			code: both(
				`import fs from "node:fs"; fs.mkdirSync("dir"); fs.writeFileSync("dir/out.txt", fs.readFileSync("in.txt", "utf8") + "!"); fs.renameSync("dir/out.txt", "/workspace/moved.txt"); console.log(process.cwd());`,
				`import os
os.mkdir("dir"); open("dir/out.txt", "w").write(open("in.txt").read() + "!"); os.rename("dir/out.txt", "/workspace/moved.txt"); print(os.getcwd())`),
			check: func(t *testing.T, w *world, r *result) {
				prints("/workspace\n")(t, w, r)
				if got, err := os.ReadFile(filepath.Join(w.workspace, "moved.txt")); err != nil || string(got) != "from before!" {
					t.Errorf("the file on the host: %q, %v", got, err)
				}
			}},
		{name: "tmp is private",
			setup: func(t *testing.T, w *world) {
				if list, err := filepath.Glob(filepath.Join(os.TempDir(), "sandboxtest-*")); err != nil || len(list) == 0 {
					t.Fatalf("the host's own folder for temporary files lacks what must not be seen inside: %v", err)
				}
			},
			code: both(`
const fs = await import("node:fs");
fs.writeFileSync("/tmp/@ID@", "x");
for (const name of fs.readdirSync("/tmp")) if (name.startsWith("sandboxtest-")) console.log("LEAK", name);
console.log(fs.readFileSync("/tmp/@ID@", "utf8"));`, `
import os
open("/tmp/@ID@", "w").write("x")
for name in os.listdir("/tmp"):
    if name.startswith("sandboxtest-"): print("LEAK", name)
print(open("/tmp/@ID@").read())`), check: prints("x\n")},
		{name: "tree is read-only",
			setup: func(t *testing.T, w *world) {
				must(t, os.WriteFile(filepath.Join(w.tree, "a.txt"), []byte("generated"), 0o666))
				must(t, os.Chmod(w.tree, 0o777)) // permissions are not what protects it
			},
			code: both(`
const fs = await import("node:fs");
console.log(fs.readFileSync("servers/a.txt", "utf8"), fs.readFileSync("/mcp/servers/a.txt", "utf8"));
for (const dir of ["servers", "/workspace/servers", "/mcp/servers"]) {
  for (const [what, f] of Object.entries<() => void>({
    write: () => fs.writeFileSync(dir + "/a.txt", "changed"), create: () => fs.writeFileSync(dir + "/new.txt", "x"),
    remove: () => fs.unlinkSync(dir + "/a.txt"), mode: () => fs.chmodSync(dir + "/a.txt", 0o777), rename: () => fs.renameSync(dir, dir + "2"),
  })) try { f(); console.log("LEAK", dir, what); } catch {}
}
console.log("checked");`, `
import os
print(open("servers/a.txt").read(), open("/mcp/servers/a.txt").read())
for dir in ["servers", "/workspace/servers", "/mcp/servers"]:
    for what, f in {"write": lambda: open(dir + "/a.txt", "w"), "create": lambda: open(dir + "/new.txt", "w"),
                    "remove": lambda: os.unlink(dir + "/a.txt"), "mode": lambda: os.chmod(dir + "/a.txt", 0o777),
                    "rename": lambda: os.rename(dir, dir + "2")}.items():
        try: f(); print("LEAK", dir, what)
        except OSError: pass
print("checked")`),
			check: func(t *testing.T, w *world, r *result) {
				prints("generated generated\nchecked\n")(t, w, r)
				if got, err := os.ReadFile(filepath.Join(w.tree, "a.txt")); err != nil || string(got) != "generated" {
					t.Errorf("on the host: %q, %v", got, err)
				}
			}},
		{name: "no other place is writable", code: both(`
const fs = await import("node:fs");
for (const dir of ["/", "/etc", "/usr", "/usr/bin", "/bin", "/lib", "/mcp", "/mcp/guest", "/root", "/home", "/var", "/var/tmp", "/run", "/dev", "/dev/shm", "/proc", "/sys", "/opt", "@HOSTWORKSPACE@", "/workspace/..", "/tmp/.."])
  try { fs.writeFileSync(dir + "/@ID@", "x"); console.log("LEAK", dir); } catch {}
console.log("checked");`, `
import os
for dir, _, _ in os.walk("/"):
    if dir.startswith(("/workspace", "/tmp", "/proc/self/task", "/proc/thread-self")): continue
    try: open(dir + "/@ID@", "w"); print("LEAK", dir)
    except OSError: pass
for dir in ["/workspace/..", "/tmp/..", "@HOSTWORKSPACE@"]:
    try: open(dir + "/@ID@", "w"); print("LEAK", dir)
    except OSError: pass
print("checked")`), check: nothing},
		{name: "host files are not there",
			setup: func(t *testing.T, w *world) {
				if got, err := os.ReadFile(w.canary); err != nil || string(got) != w.secret {
					t.Fatalf("the canary is not readable on the host: %v", err)
				}
			},
			code: both(`
const fs = await import("node:fs");
for (const f of ["@CANARY@", "@HOSTWORKSPACE@/../canary", "/workspace/../canary", "/etc/shadow", "/root/.bashrc", "/var/run/docker.sock", "/run/docker.sock", "/proc/1/root@CANARY@", "/proc/self/root@CANARY@", "/sys/class/net", "/proc/kcore", "/proc/kallsyms"])
  try { const text = fs.readFileSync(f, "utf8"); if (text) console.log("LEAK", f, text.slice(0, 200)); } catch {}
for (const d of ["/root", "/home", "/var/run", "/etc/ssl/private", "/proc/1/root/home"])
  try { const list = fs.readdirSync(d); if (list.length) console.log("LEAK", d, list); } catch {}
console.log("checked");`, `
import os
for f in ["@CANARY@", "@HOSTWORKSPACE@/../canary", "/workspace/../canary", "/etc/shadow", "/root/.bashrc", "/proc/1/root@CANARY@", "/proc/self/root@CANARY@", "/proc/kcore", "/proc/kallsyms"]:
    try: print("LEAK", f, open(f, "rb").read(200)) if open(f, "rb").read(1) else None
    except OSError: pass
for f in ["/var/run/docker.sock", "/run/docker.sock", "@HOSTWORKSPACE@"]:
    if os.path.exists(f): print("LEAK", f)
for d in ["/root", "/home", "/etc/ssl/private", "/proc/1/root/home"]:
    try:
        if os.listdir(d): print("LEAK", d, os.listdir(d))
    except OSError: pass
print("checked")`), check: nothing},
		{name: "links lead nowhere",
			setup: func(t *testing.T, w *world) {
				must(t, os.Symlink(w.canary, filepath.Join(w.workspace, "link")))
				must(t, os.Symlink(filepath.Dir(w.canary), filepath.Join(w.workspace, "dirlink")))
				must(t, os.Symlink("../canary", filepath.Join(w.workspace, "relative")))
			},
			code: both(`
const fs = await import("node:fs");
for (const f of ["link", "dirlink/canary", "relative"]) try { console.log("LEAK", fs.readFileSync(f, "utf8")); } catch {}
try { fs.symlinkSync("@CANARY@", "made"); console.log("LEAK", fs.readFileSync("made", "utf8")); } catch {}
try { fs.linkSync("@CANARY@", "hard"); console.log("LEAK hard"); } catch {}
console.log("checked");`, `
import os
for f in ["link", "dirlink/canary", "relative"]:
    try: print("LEAK", open(f).read())
    except OSError: pass
try: os.symlink("@CANARY@", "made"); print("LEAK", open("made").read())
except OSError: pass
try: os.link("@CANARY@", "hard"); print("LEAK hard")
except OSError: pass
print("checked")`), check: nothing},
	}
}
