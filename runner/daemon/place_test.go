//go:build linux || darwin

package daemon

import (
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// dupFile is another descriptor of a file, as a child has one.
func dupFile(f *os.File) (*os.File, error) {
	fd, err := syscall.Dup(int(f.Fd()))
	if err != nil {
		return nil, err
	}
	syscall.CloseOnExec(fd)
	return os.NewFile(uintptr(fd), f.Name()), nil
}

func TestPlace(t *testing.T) {
	env := map[string]string{"HTTPS_PROXY": "http://user:secret@proxy", "OTHER": "x"}
	lookup := func(name string) (string, bool) { v, ok := env[name]; return v, ok }
	here := func() Place {
		p, err := PlaceOf(lookup, []string{"HTTPS_PROXY", "HTTP_PROXY"})
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	p := here()
	if diff := p.differs(here()); diff != "" {
		t.Errorf("the same place differs in %s", diff)
	}
	for name, value := range p {
		if strings.Contains(name+value, "secret") {
			t.Errorf("%s %s shows a value", name, value)
		}
	}
	env["HTTP_PROXY"] = ""
	env["HTTPS_PROXY"] = "http://other"
	delete(env, "OTHER")
	if diff := here().differs(p); diff != "the variable HTTPS_PROXY, the variable HTTP_PROXY" {
		t.Errorf("differs in %q", diff)
	}
	if diff := p.differs(here()); diff != "the variable HTTPS_PROXY, the variable HTTP_PROXY" {
		t.Errorf("the other way round in %q", diff)
	}
	env = nil
	p = here()
	mask := syscall.Umask(0o137)
	other := here()
	syscall.Umask(mask)
	if diff := p.differs(other); diff != "the umask" {
		t.Errorf("differs in %q", diff)
	}
}

func TestBuildID(t *testing.T) {
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	id, err := BuildID(exe)
	if err != nil || id == "" {
		t.Fatalf("%q, %v", id, err)
	}
	script := filepath.Join(t.TempDir(), "script")
	if err := os.WriteFile(script, []byte("#!/bin/sh\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	other, err := BuildID(script)
	if err != nil || other == id || !strings.HasPrefix(other, "10-") {
		t.Errorf("%q, %v", other, err)
	}
	if _, err := BuildID(script + "no"); err == nil {
		t.Error("what is not there has a build")
	}
	copied := filepath.Join(t.TempDir(), "copy")
	if err := copyFile(copied, exe); err != nil {
		t.Fatal(err)
	}
	if again, err := BuildID(copied); err != nil || linker(t, exe) != "" && again != id {
		t.Errorf("a copy is %q, %v, and not %q", again, err, id)
	}
}

func linker(t *testing.T, exe string) string {
	t.Helper()
	f, err := os.Open(exe)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	return linkerID(f)
}

func copyFile(to, from string) error {
	r, err := os.Open(from)
	if err != nil {
		return err
	}
	defer r.Close()
	w, err := os.Create(to)
	if err != nil {
		return err
	}
	if _, err := io.Copy(w, r); err != nil {
		w.Close()
		return err
	}
	return w.Close()
}
