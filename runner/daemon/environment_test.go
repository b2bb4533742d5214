//go:build linux || darwin

package daemon

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// dupFile returns a second descriptor for a file, as a child process has.
func dupFile(f *os.File) (*os.File, error) {
	fd, err := syscall.Dup(int(f.Fd()))
	if err != nil {
		return nil, err
	}
	syscall.CloseOnExec(fd)
	return os.NewFile(uintptr(fd), f.Name()), nil
}

func TestEnvironment(t *testing.T) {
	env := map[string]string{"HTTPS_PROXY": "http://user:secret@proxy", "OTHER": "x"}
	lookup := func(name string) (string, bool) { v, ok := env[name]; return v, ok }
	here := func() Environment {
		p, err := EnvironmentOf(lookup, []string{"HTTPS_PROXY", "HTTP_PROXY"})
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	p := here()
	if diff := p.differs(here()); diff != "" {
		t.Errorf("differs() of equal environments = %q, want none", diff)
	}
	for name, value := range p {
		if strings.Contains(name+value, "secret") {
			t.Errorf(`%s %s shows a value, want no "secret" in it`, name, value)
		}
	}
	env["HTTP_PROXY"] = ""
	env["HTTPS_PROXY"] = "http://other"
	delete(env, "OTHER")
	if diff := here().differs(p); diff != "the variable HTTPS_PROXY, the variable HTTP_PROXY" {
		t.Errorf("differs() = %q", diff)
	}
	if diff := p.differs(here()); diff != "the variable HTTPS_PROXY, the variable HTTP_PROXY" {
		t.Errorf("differs() the other way round = %q", diff)
	}
	env = nil
	p = here()
	mask := syscall.Umask(0o137)
	other := here()
	syscall.Umask(mask)
	if diff := p.differs(other); diff != "the umask" {
		t.Errorf("differs() = %q", diff)
	}
}

func TestBuildID(t *testing.T) {
	program := filepath.Join(t.TempDir(), "program")
	ids := map[string]bool{}
	for _, text := range []string{"old", "newer"} {
		if err := os.WriteFile(program, []byte(text), 0o700); err != nil {
			t.Fatal(err)
		}
		id, err := BuildID(program)
		if err != nil {
			t.Fatal(err)
		}
		ids[id] = true
	}
	if len(ids) != 2 {
		t.Errorf("BuildID() of two builds = %v, want len(ids) 2", ids)
	}
	if _, err := BuildID(program + "no"); err == nil {
		t.Error("BuildID() of a missing file = nil error, want one")
	}
}
