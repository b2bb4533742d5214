package docker_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/moby/moby/client"
	dc "github.com/ory/dockertest/v3/docker"
	"golang.org/x/sys/unix"

	"github.com/mcpgen/mcpgen/runner/sandbox"
	"github.com/mcpgen/mcpgen/runner/sandbox/docker"
	"github.com/mcpgen/mcpgen/runner/sandbox/sandboxtest"
)

// rootless is a user that the machine need not have, with a folder and an engine of its own. The user's name and its range of
// further users are known in a mount namespace only, in which everything of it runs.
type rootless struct {
	t    *testing.T
	dir  string
	uid  int
	host string
	log  heard
	cmd  *exec.Cmd
}

// rootlessEngines are shell commands that become an engine, in the user's folder $D.
var rootlessEngines = map[string]string{
	// What the package's own script does, without a network. Where AppArmor is on, the engine must not see it.
	"docker": `exec rootlesskit --net=host --copy-up=/etc --copy-up=/run --propagation=rslave --state-dir "$D/k" sh -c '
rm -f /run/docker /run/containerd /run/xtables.lock
[ ! -d /sys/kernel/security/apparmor ] || mount -t tmpfs none /sys/kernel/security
exec dockerd --rootless --host="unix://$D/s" --data-root="$D/data" --exec-root="$D/x" --pidfile="$D/pid" --config-file="$D/none.json" \
	--bridge=none --iptables=false --ip6tables=false --ip-forward=false --log-level=error'`,
	"podman": `exec podman --storage-driver "$STORAGE" --root "$D/root" --runroot "$D/r" --tmpdir "$D/t" system service --time=0 "unix://$D/s"`,
}

// newRootless starts a rootless engine that has the pinned image.
func newRootless(t *testing.T, kind string) *rootless {
	t.Helper()
	needs := map[string][]string{"docker": {"rootlesskit", "dockerd", "newuidmap"}, "podman": {"podman", "newuidmap", "runc"}}[kind]
	for _, program := range append(needs, "setpriv", "unshare") {
		if _, err := exec.LookPath(program); err != nil || os.Geteuid() != 0 {
			cannotRun(t, "the test takes root, "+strings.Join(needs, ", "))
		}
	}
	r := &rootless{t: t, dir: shortDir(t), uid: 54000 + os.Getpid()%1000}
	r.host = "unix://" + filepath.Join(r.dir, "s")
	reaper, _ := exec.LookPath("docker-init")
	if reaper == "" {
		reaper, _ = exec.LookPath("tini")
	}
	passwd, err := os.ReadFile("/etc/passwd")
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{
		"passwd": string(passwd) + fmt.Sprintf("mcprun-test:x:%d:%d::%s:/bin/sh\n", r.uid, r.uid, r.dir),
		"subids": "mcprun-test:200000:65536\n", "none.json": "{}",
		"containers.conf": fmt.Sprintf("[containers]\ninit_path = %q\n[engine]\ninit_path = %q\ncgroup_manager = \"cgroupfs\"\nruntime = \"runc\"\nevents_logger = \"file\"\n", reaper, reaper),
	} {
		if err := os.WriteFile(filepath.Join(r.dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Chown(r.dir, r.uid, r.uid); err != nil {
		t.Fatal(err)
	}
	if out, err := r.command("unshare --user --map-root-user true").CombinedOutput(); err != nil {
		cannotRun(t, fmt.Sprintf("users other than root get no user namespaces: %v %s", err, out))
	}
	r.cmd = r.command(rootlessEngines[kind])
	r.cmd.Stderr = &r.log
	t.Cleanup(r.end)
	if err := r.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	r.ready()
	return r
}

// heard is what a program says while it runs.
type heard struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (h *heard) Write(p []byte) (int, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.text.Write(p)
}

func (h *heard) String() string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.text.String()
}

// command is one that the user runs, in the namespace in which it is known.
func (r *rootless) command(shell string) *exec.Cmd {
	const known = `set -e
mount --bind "$D/passwd" /etc/passwd
for file in subuid subgid; do [ -e /etc/$file ] || : >/etc/$file; mount --bind "$D/subids" /etc/$file; done
exec setpriv --reuid "$U" --regid "$U" --clear-groups sh -c "$1"`
	storage := "overlay"
	var st unix.Statfs_t
	if err := unix.Statfs(r.dir, &st); err == nil && st.Type == unix.OVERLAYFS_SUPER_MAGIC {
		storage = "vfs" // one does not go on top of another
	}
	cmd := exec.Command("sh", "-c", known, "sh", shell)
	cmd.Dir = r.dir
	cmd.Env = []string{
		"D=" + r.dir, "U=" + strconv.Itoa(r.uid), "STORAGE=" + storage, "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "HOME=" + r.dir, "USER=mcprun-test",
		"XDG_RUNTIME_DIR=" + r.dir, "TMPDIR=" + r.dir, "CONTAINERS_CONF=" + filepath.Join(r.dir, "containers.conf"), "CI=" + os.Getenv("CI"),
	}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Unshareflags: syscall.CLONE_NEWNS}
	return cmd
}

// ready waits for the engine and gives it the image.
func (r *rootless) ready() {
	r.t.Helper()
	c, err := client.New(client.WithHost(r.host))
	if err != nil {
		r.t.Fatal(err)
	}
	defer c.Close()
	for began := time.Now(); ; time.Sleep(50 * time.Millisecond) {
		if _, err := c.Ping(r.t.Context(), client.PingOptions{}); err == nil {
			break
		}
		if time.Since(began) > 30*time.Second {
			r.kill()
			r.cmd.Wait()
			r.t.Fatalf("the engine does not come up: %s", &r.log)
		}
	}
	copyImage(r.t, c)
}

// end kills whatever the user runs: an engine leaves helpers behind.
func (r *rootless) end() {
	r.cmd.Process.Signal(syscall.SIGTERM)
	done := make(chan struct{})
	go func() { r.cmd.Wait(); close(done) }()
	select {
	case <-done:
	case <-time.After(10 * time.Second):
	}
	for range 100 {
		if r.kill() == 0 {
			break
		}
		time.Sleep(20 * time.Millisecond)
	}
	<-done
}

func (r *rootless) kill() (n int) {
	dirs, _ := filepath.Glob("/proc/[0-9]*")
	for _, dir := range dirs {
		var st syscall.Stat_t
		pid, err := strconv.Atoi(filepath.Base(dir))
		if err != nil || syscall.Stat(dir, &st) != nil || int(st.Uid) != r.uid {
			continue
		}
		if stat, _ := os.ReadFile(dir + "/stat"); !bytes.Contains(stat, []byte(") Z ")) {
			n++
			syscall.Kill(pid, syscall.SIGKILL)
		}
	}
	return n
}

// asUser runs tests of this package as the user, with the engine: TestRootlessRuns, and of TestRootlessConformance what the
// column says. An error has what they and the engine said.
func (r *rootless) asUser(column string) error {
	r.t.Helper()
	program := filepath.Join(r.dir, "test")
	if _, err := os.Stat(program); err != nil {
		copyProgram(r.t, program)
	}
	col, ok := sandboxtest.Named(column)
	if !ok {
		r.t.Fatalf("there is no column %q", column)
	}
	tests := "^(TestRootlessRuns|TestRootlessConformance)$"
	var names []string
	for _, name := range col.Cases {
		names = append(names, regexp.QuoteMeta(strings.ReplaceAll(name, " ", "_")))
	}
	if names != nil {
		tests += "/./^(" + strings.Join(names, "|") + ")$"
	}
	cmd := r.command(`exec "$D/test" -test.run "$TESTS" -test.v -test.timeout 5m`)
	cmd.Env = append(cmd.Env, "TESTS="+tests, "DOCKER_HOST="+r.host, "MCPRUN_TEST_ROOTLESS="+column)
	out, err := cmd.CombinedOutput()
	passed := func(name string) {
		if !bytes.Contains(out, []byte("--- PASS: "+name+" (")) {
			err = errors.Join(err, fmt.Errorf("%s did not pass", name))
		}
	}
	passed("TestRootlessRuns/warm")
	for _, name := range col.Tests() {
		passed("TestRootlessConformance/" + name)
	}
	if err != nil {
		return fmt.Errorf("%v, the engine: %s\n%s\nthe engine: %s", err, &r.log, out, &r.log)
	}
	return nil
}

func copyProgram(t *testing.T, to string) {
	t.Helper()
	from, err := os.Open("/proc/self/exe")
	if err != nil {
		t.Fatal(err)
	}
	defer from.Close()
	into, err := os.OpenFile(to, os.O_CREATE|os.O_WRONLY, 0o755)
	if err != nil {
		t.Fatal(err)
	}
	_, err = io.Copy(into, from)
	if err := into.Close(); err != nil {
		t.Fatal(err)
	}
	if err != nil {
		t.Fatal(err)
	}
}

func TestRootlessDocker(t *testing.T) {
	if err := newRootless(t, "docker").asUser("docker rootless"); err != nil {
		t.Error(err)
	}
}

func TestRootlessPodman(t *testing.T) {
	for try := 1; ; try++ {
		r := newRootless(t, "podman")
		err := r.asUser("podman rootless")
		if err == nil {
			return
		}
		// Some versions write to a map from two requests, and crash. It is theirs, and may happen once.
		if said := r.log.String(); try == 1 && strings.Contains(said, "fatal error: concurrent map") {
			t.Logf("Podman crashed: %.4000s", said)
			r.end()
			continue
		}
		t.Fatal(err)
	}
}

// TestRootlessConformance is run by the others, as an ordinary user.
func TestRootlessConformance(t *testing.T) {
	column := os.Getenv("MCPRUN_TEST_ROOTLESS")
	if column == "" {
		return
	}
	sandboxtest.Run(t, newBackend(t), sandboxtest.Options{Column: column})
}

// TestRootlessRuns is run by the others, as an ordinary user.
func TestRootlessRuns(t *testing.T) {
	if os.Getenv("MCPRUN_TEST_ROOTLESS") == "" {
		return
	}
	dir := shortDir(t)
	b := newBackend(t, func(o *docker.Options) { o.RuntimeDir = dir })
	st := b.Probe(t.Context())
	if !strings.HasSuffix(st.Detail, ", rootless") {
		t.Errorf(`status %+v, want ", rootless" at its end`, st)
	}
	left := func(t *testing.T) {
		t.Helper()
		all, err := pool(t).Client.ListContainers(dc.ListContainersOptions{All: true, Filters: map[string][]string{"label": {"mcprun.run"}}})
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range all {
			t.Errorf("container %v is left: %s", c.Names, c.Status)
		}
		if files, _ := filepath.Glob(filepath.Join(dir, "*")); len(files) > 0 {
			t.Errorf("%v are left, want len(files) at most 0", files)
		}
	}
	t.Run("warm", func(t *testing.T) {
		for rt, code := range map[sandbox.Runtime]string{
			sandbox.Python: strings.ReplaceAll(lookAround, `"/proc/1/cwd/new"`, `"/mcp/new"`),
			sandbox.Node:   `const fs = await import("node:fs"); process.stdout.write(fs.readFileSync("in.txt", "utf8")); fs.writeFileSync("out.txt", "from the guest");`,
		} {
			g := newGuest(t, rt, waiting[rt])
			folders(t, &g.Spec)
			exit := runWarm(t, b, g, code)
			made, err := os.ReadFile(filepath.Join(g.Workspace, "out.txt"))
			if want := map[sandbox.Runtime]string{sandbox.Python: lookedAround, sandbox.Node: "workspace"}[rt]; exit.Code != 0 || g.out.String() != want || string(made) != "from the guest" {
				t.Errorf(`%s: exit %+v, printed %q %s, made %q, %v, want Code 0, g.out.String() %v and "from the guest"`, rt, exit, &g.out, &g.err, made, err, want)
			}
		}
		left(t)
	})
	t.Run("dead host", func(t *testing.T) {
		killedHost(t, "rootless-dead", dir, stubborn)
		goneWithin(t, goneTime, func() bool { return isLeft(t, "rootless-dead", dir) })
		left(t)
	})
	t.Run("figures", func(t *testing.T) {
		g := newGuest(t, sandbox.Python, "b = bytearray(b'x') * (50 << 20)\nimport time\ntime.sleep(3)")
		if exit := g.run(t, b); exit.Code != 0 || exit.MaxMemory < 50<<20 {
			t.Errorf("exit %+v, want Code 0 and MaxMemory at least %v", exit, 50<<20)
		}
		left(t)
	})
}
