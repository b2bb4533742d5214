package sandboxtest

import (
	"net"
	"os"
	"path/filepath"
	"testing"

	"github.com/mcpgen/mcpgen/runner/sandbox"
)

func hostCases() []testCase {
	return []testCase{
		{name: "host files", setup: canaryIsThere},
		{name: "a walk through all folders"},
		{name: "environment", setup: func(t *testing.T, w *world) {
			if os.Getenv(canaryVariable) != w.secret {
				t.Fatal("the canary is not in the test's own environment")
			}
		}},
		{name: "proc and sys", setup: canaryIsThere},
		{name: "other processes in the sandbox", setup: canaryIsThere},
		// The host may have been started with a descriptor that children inherit.
		{name: "descriptors", serial: true, setup: func(t *testing.T, w *world) { inheritable(t, w.canary) }},
		{name: "links", setup: func(t *testing.T, w *world) {
			canaryIsThere(t, w)
			for name, target := range map[string]string{
				"link": w.canary, "dirlink": w.base, "relative": "../canary", "chain": "link", "rootlink": "/", "proclink": "/proc/1/root", "elselink": w.elsewhere,
			} {
				must(t, os.Symlink(target, filepath.Join(w.workspace, name)))
			}
		}},
		{name: "devices"},
		{name: "the machine name and addresses"},
		{name: "internals of node", setup: canaryIsThere},
		// The bundler runs on the host, and must read only what the script may see.
		{name: "imports of host files", setup: canaryIsThere, code: map[sandbox.Language]string{
			sandbox.LangTypeScript: `import text from "@CANARY@"; console.log(text);`}, check: notPrepared},
		{name: "imports of host files as text", setup: canaryIsThere, code: map[sandbox.Language]string{
			sandbox.LangTypeScript: `import text from "@CANARY@" with { type: "text" }; import "file://@CANARY@"; console.log(text);`}, check: notPrepared},
		{name: "computed imports of host files", setup: canaryIsThere, code: map[sandbox.Language]string{
			sandbox.LangTypeScript: "const x: string = process.argv[2] ?? 'canary'; console.log(await import(`../../../../../../../..@BASE@/${x}`));"}, check: notPrepared},
		{name: "source maps of host files", setup: canaryIsThere, code: map[sandbox.Language]string{
			sandbox.LangTypeScript: "console.log(1)\n//# sourceMappingURL=file://@CANARY@\n"}, check: notPrepared},
	}
}

// canaryIsThere checks that the canary can be found.
func canaryIsThere(t *testing.T, w *world) {
	t.Helper()
	if got, err := os.ReadFile(w.canary); err != nil || string(got) != w.secret {
		t.Fatalf("the canary is not readable on the host: %v", err)
	}
}

// notPrepared checks that the script was refused before it ran, or ran and failed.
func notPrepared(t *recorder, _ *world, r *result) {
	if r.refused == nil && r.exit.Code == 0 {
		t.Errorf("the script was prepared and ran")
	}
}

func networkCases() []testCase {
	reachable := func(t *testing.T, w *world) {
		for network, addr := range map[string]string{"tcp": "127.0.0.1:" + w.port, "unix": filepath.Join(w.workspace, "host.sock"), "udp": "127.0.0.1:" + w.udp} {
			conn, err := net.Dial(network, addr)
			must(t, err)
			if network == "udp" {
				_, err = conn.Write([]byte("x"))
				must(t, err)
			}
			got := make([]byte, 100)
			if n, _ := conn.Read(got); string(got[:n]) != w.secret {
				t.Fatalf("the %s listener does not answer on the host: %q", network, got[:n])
			}
			conn.Close()
		}
		w.connections.Store(0)
	}
	return []testCase{
		{name: "addresses", setup: reachable},
		{name: "names"},
		{name: "socket families"},
		{name: "sockets of the host", setup: reachable},
		{name: "listening for the host"},
		{name: "addresses with a network", code: programs("addresses"), network: true, coldOnly: true, setup: reachable, check: nothing},
		{name: "names with a network", code: programs("names"), network: true, coldOnly: true, check: nothing},
		{name: "socket families with a network", code: programs("socket-families"), network: true, coldOnly: true, check: nothing},
		{name: "sockets of the host with a network", code: programs("sockets-of-the-host"), network: true, coldOnly: true, setup: reachable, check: nothing},
		{name: "listening for the host with a network", code: programs("listening-for-the-host"), network: true, coldOnly: true, check: nothing},
	}
}

// proxyCases are about the port at which programs find the proxy of their run.
func proxyCases() []testCase {
	return []testCase{
		{name: "the proxy", network: true, code: map[sandbox.Language]string{
			sandbox.LangPython: `import socket, threading
def ask(n):
    s = socket.create_connection(("127.0.0.1", 3128), timeout=30)
    s.sendall(b"ab" * n); s.shutdown(socket.SHUT_WR)
    got = b""
    while part := s.recv(100000): got += part
    assert got == b"AB" * n, (n, len(got))
threads = [threading.Thread(target=ask, args=(n,)) for n in (1, 1000, 500_000, 2, 3, 4)]
for t in threads: t.start()
for t in threads: t.join()
print("reached")
`,
			sandbox.LangTypeScript: `import net from "node:net";
const ask = (n: number) => new Promise<void>((done, fail) => {
  const s = net.connect({ port: 3128, host: "127.0.0.1", allowHalfOpen: true });
  let got = "";
  s.on("data", (d) => { got += d.toString(); });
  s.on("end", () => (got === "AB".repeat(n) ? done() : fail(new Error(n + " " + got.length))));
  s.on("error", fail);
  s.end("ab".repeat(n));
});
await Promise.all([1, 1000, 500_000, 2, 3, 4].map(ask));
console.log("reached");
`}, check: prints("reached\n")},
	}
}

func kernelCases() []testCase {
	names := []string{"privileges", "mounts", "namespaces", "memory of other processes", "keyrings", "io_uring bpf and userfaultfd",
		"kernel modules reboot and clock", "files by handle", "other calling conventions", "priorities", "children are confined too", "input to the terminal"}
	var list []testCase
	for _, name := range names {
		list = append(list, testCase{name: name})
	}
	return list
}

func integrityCases() []testCase {
	return []testCase{
		{name: "the tree is read-only", setup: openTo},
		{name: "skills are read-only", setup: openTo},
		{name: "packages are read-only", packages: true},
		{name: "no other place is writable"},
		{name: "set-user-ID files"},
		{name: "programs in tmp"},
	}
}

// openTo lets everyone write to the tree and the skills, because their protection must not depend on permissions.
func openTo(t *testing.T, w *world) {
	t.Helper()
	must(t, os.Chmod(w.tree, 0o777))
	must(t, os.Chmod(w.skills, 0o777))
}
