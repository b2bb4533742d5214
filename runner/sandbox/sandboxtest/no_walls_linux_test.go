package sandboxtest

import (
	"context"
	"errors"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/mcpgen/mcpgen/runner/sandbox"
)

// open is a backend without isolation: it shows what the programs find if nothing protects it. Most of the suite must never run in it: as
// root it would rename, unmount and kill the machine it runs on.
type open struct{ t *testing.T }

func (open) Name() string               { return "open" }
func (open) Strength() sandbox.Strength { return sandbox.SharedKernel }
func (open) Runtime(lang sandbox.Language) (sandbox.Runtime, bool) {
	if lang == sandbox.LangPython {
		return sandbox.Python, true
	}
	return sandbox.Node, true
}
func (open) Probe(context.Context) sandbox.Status { return sandbox.Status{Usable: true} }
func (open) Sweep(context.Context) error          { return nil }
func (open) Close() error                         { return nil }

// Start starts the interpreter in the workspace itself, with a link beside it to the tree's own folder.
func (o open) Start(ctx context.Context, spec sandbox.Spec) (sandbox.Process, error) {
	root := o.t.TempDir()
	guest := filepath.Join(root, "guest", sandbox.GuestMain(spec.Runtime))
	must(o.t, os.Mkdir(filepath.Dir(guest), 0o755))
	for name, data := range spec.Guest {
		must(o.t, os.WriteFile(filepath.Join(filepath.Dir(guest), name), data, 0o644))
	}
	for name, dir := range map[string]string{"servers": spec.Tree, "skills": spec.Skills} {
		must(o.t, os.Symlink(dir, filepath.Join(root, name)))
		must(o.t, os.Symlink(dir, filepath.Join(spec.Workspace, name)))
	}
	program := map[sandbox.Runtime]string{sandbox.Node: "node", sandbox.Python: "python3"}[spec.Runtime]
	cmd := exec.CommandContext(ctx, program, append(slices.Clone(spec.Args), guest, sandbox.BridgeAddress)...)
	cmd.Dir, cmd.Stdin, cmd.Stdout, cmd.Stderr = spec.Workspace, spec.Stdin, spec.Stdout, spec.Stderr
	pair, err := syscall.Socketpair(syscall.AF_UNIX, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC, 0)
	must(o.t, err)
	host, inside := os.NewFile(uintptr(pair[0]), "host"), os.NewFile(uintptr(pair[1]), "guest")
	defer host.Close()
	defer inside.Close()
	conn, err := net.FileConn(host)
	must(o.t, err)
	r, w, err := os.Pipe()
	must(o.t, err)
	defer r.Close()
	_, err = io.WriteString(w, spec.Secret)
	must(o.t, errors.Join(err, w.Close()))
	cmd.ExtraFiles = []*os.File{inside, r}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	return &openProcess{cmd, conn, spec.Secret}, nil
}

type openProcess struct {
	cmd    *exec.Cmd
	conn   net.Conn
	secret string
}

func (p *openProcess) Bridge(context.Context) (net.Conn, error) { return p.conn, nil }
func (p *openProcess) Secret() string                           { return p.secret }
func (p *openProcess) Kill()                                    { _ = p.cmd.Process.Kill() }
func (p *openProcess) Wait() (sandbox.Exit, error) {
	_ = p.cmd.Wait()
	code := p.cmd.ProcessState.ExitCode()
	if st, ok := p.cmd.ProcessState.Sys().(syscall.WaitStatus); ok && st.Signaled() {
		code = 128 + int(st.Signal())
	}
	return sandbox.Exit{Code: code}, nil
}

// TestProgramsFindWhatIsOpen runs a few programs without isolation. Each must find something, because a program that tries nothing would
// pass everywhere. It uses only programs that, on a machine without isolation, read what the suite itself has put there, or write below the
// suite's folder, and none that change the machine, use the network or look for real secrets.
func TestProgramsFindWhatIsOpen(t *testing.T) {
	secret := newSecret()
	t.Setenv(canaryVariable, secret)
	for _, c := range cases() {
		if !slices.Contains([]string{"environment", "descriptors", "links", "file size limit"}, c.name) {
			continue
		}
		for lang := range c.code {
			t.Run(c.name+" "+string(lang), func(t *testing.T) {
				x := &execution{t: t, backend: open{t}, opt: Options{Elsewhere: true}, lang: lang, secret: secret}
				c.timeout = 20 * time.Second
				// What was found is not printed, because it may be somebody's secret.
				if j, _ := x.try(c); !slices.ContainsFunc(j.problems, func(p string) bool { return strings.Contains(p, "LEAK") }) {
					t.Error("nothing was found")
				}
			})
		}
	}
}
