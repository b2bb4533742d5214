package integration

import (
	"encoding/json"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
)

// seen is what a script has found when it looked around.
type seen struct {
	Env        []string
	Environ    string
	SecretFile bool // true if it was refused; the same holds for the following ones
	Config     bool
	Escape     bool
	WriteRoot  bool
	WriteEtc   bool
	WriteTree  bool
	WriteLock  bool
	Sockets    []string
	Network    bool
	Status     json.RawMessage // empty if there is no /proc
}

// TestHostIsOutOfSight checks that a script sees nothing of the host's environment, files and network, and writes only to its
// workspace and /tmp.
func TestHostIsOutOfSight(t *testing.T) {
	t.Parallel()
	for _, where := range places() {
		t.Run(where.String(), func(t *testing.T) {
			t.Parallel()
			where.need(t)
			p := newTracker(t, ticket())
			p.env = []string{"MCP_SECRET=" + secret, "MCPRUN_CANARY=" + secret}
			p.sync()
			script := p.write("host"+where.ext(), testdata(t, "host"+where.ext()))
			outside := p.write("outside/secret.txt", secret)
			// A link that somebody has put into the workspace must not lead out of it.
			if err := os.MkdirAll(p.workspace(where), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.Symlink(filepath.Dir(outside), filepath.Join(p.workspace(where), "way-out")); err != nil {
				t.Fatal(err)
			}
			before := takeSnapshot(t, p.path("servers"))
			port, accepted := listen(t)
			res := p.runJSON(t, where, 0, script, "--", outside, port, address())

			var got seen
			if err := json.Unmarshal(res.Value, &got); err != nil {
				t.Fatalf("%v: %s", err, res.Value)
			}
			checkSeen(t, where, got)
			if strings.Contains(string(res.Value)+res.Stdout+res.Stderr, secret) {
				t.Errorf("it has seen a secret of the host: %s, want no %q in it", res.Value, secret)
			}
			if n := accepted.Load(); n != 0 {
				t.Errorf("it reached the host's loopback interface %d times, want 0", n)
			}
			if text, err := os.ReadFile(filepath.Join(p.workspace(where), "mine.txt")); err != nil || string(text) != "written inside" {
				t.Errorf(`its file in the workspace: %q, %v, want "written inside" and no error`, text, err)
			}
			if len(res.Files) != 1 || res.Files[0] != "mine.txt" {
				t.Errorf(`files that it wrote: %q, want len(res.Files) 1 and res.Files[0] "mine.txt"`, res.Files)
			}
			for _, path := range []string{"/tmp/scratch.txt", "/planted", "/etc/planted"} {
				if _, err := os.Lstat(path); err == nil {
					t.Errorf("%s is on the host: got no error, want an error", path)
				}
			}
			if len(takeSnapshot(t, p.path("servers"))) != len(before) {
				t.Error("the tree has another number of files")
			}
		})
	}
}

func checkSeen(t *testing.T, where place, got seen) {
	t.Helper()
	for what, refused := range map[string]bool{
		"reading a file of the host": got.SecretFile, "reading beside the workspace": got.Config, "following a link out of the workspace": got.Escape,
		"writing to /": got.WriteRoot, "writing to /etc": got.WriteEtc, "writing to the tree": got.WriteTree, "overwriting the lock": got.WriteLock,
	} {
		if !refused {
			t.Errorf("%s is not refused", what)
		}
	}
	if got.Network || len(got.Sockets) != 0 {
		t.Errorf("network %v, sockets %q", got.Network, got.Sockets)
	}
	for _, name := range got.Env {
		if strings.HasPrefix(name, "MCP") || name == "XDG_RUNTIME_DIR" {
			t.Errorf("it sees the variable %s", name)
		}
	}
	// The initial environment of a process stays readable, whatever it has removed since.
	for pair := range strings.SplitSeq(strings.Trim(got.Environ, "\x00"), "\x00") {
		name, _, _ := strings.Cut(pair, "=")
		if !slices.Contains([]string{"", "PATH", "HOME", "LANG", "HOSTNAME", "TERM"}, name) {
			t.Errorf("its process was started with %s, want %v in it", pair, name)
		}
	}
	if where.sandbox == "embedded" {
		return // there is no process to look at
	}
	var status struct{ Capabilities, Bounding, Privileges, Seccomp, User string }
	if err := json.Unmarshal(got.Status, &status); err != nil {
		t.Fatalf("%v: %s", err, got.Status)
	}
	if where.sandbox == "gvisor" && status.Privileges == "" {
		status.Privileges = "1" // gVisor's kernel has no such line, and no set-user-ID programs from which to gain privileges
	}
	if strings.Trim(status.Capabilities+status.Bounding, "0") != "" || status.Privileges != "1" || status.Seccomp != "2" || status.User == "0" {
		t.Errorf("the script's process: %+v", status)
	}
}

// listen opens a loopback port of the host and counts connections.
func listen(t *testing.T) (port string, accepted *atomic.Int64) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	accepted = new(atomic.Int64)
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			accepted.Add(1)
			conn.Close()
		}
	}()
	return fmt.Sprint(l.Addr().(*net.TCPAddr).Port), accepted
}

// address returns an address of this machine in its network, or the loopback address.
func address() string {
	all, _ := net.InterfaceAddrs()
	for _, each := range all {
		if ip, ok := each.(*net.IPNet); ok && ip.IP.To4() != nil && !ip.IP.IsLoopback() {
			return ip.IP.String()
		}
	}
	return "127.0.0.1"
}
