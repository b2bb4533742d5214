//go:build linux || darwin

package daemon

import (
	"encoding/json"
	"errors"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestFolder(t *testing.T) {
	for name, make := range map[string]func(dir string) (string, error){
		"open to others": func(dir string) (string, error) { return dir, os.Chmod(dir, 0o750) },
		"a link":         func(dir string) (string, error) { return dir + "/l", os.Symlink(dir, dir+"/l") },
		"a file":         func(dir string) (string, error) { return dir + "/f", os.WriteFile(dir+"/f", nil, 0o600) },
		"no parent":      func(dir string) (string, error) { return dir + "/a/b", nil },
		"relative":       func(string) (string, error) { return "daemon", nil },
		"too long":       func(dir string) (string, error) { return filepath.Join(dir, strings.Repeat("x", 100)), nil },
	} {
		t.Run(name, func(t *testing.T) {
			opt := testOptions(t)
			var err error
			if opt.Dir, err = make(opt.Dir); err != nil {
				t.Fatal(err)
			}
			if err := Serve(t.Context(), ServeOptions{Options: opt, Handler: pid}); err == nil {
				t.Error("a daemon serves there: got no error, want an error")
			}
			l := &launching{t: t, opt: ServeOptions{Options: opt, Handler: pid}}
			_, err = NewClient(opt, l.launch).Run(t.Context(), &Job{}, Streams{})
			var no *UnavailableError
			if !errors.As(err, &no) || l.n.Load() > 0 {
				t.Errorf("%v, %d started", err, l.n.Load())
			}
		})
	}
}

func TestLog(t *testing.T) {
	opt := testOptions(t)
	elsewhere := filepath.Join(t.TempDir(), "mine")
	if err := os.WriteFile(elsewhere, []byte("mine"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(elsewhere, logPath(opt.Dir)); err != nil {
		t.Fatal(err)
	}
	f, err := OpenLog(opt.Dir)
	if err != nil {
		t.Fatal(err)
	}
	f.Close()
	st, err := os.Lstat(logPath(opt.Dir))
	if err != nil || st.Mode() != 0o600 {
		t.Errorf("%v, %v", st.Mode(), err)
	}
	if text, err := os.ReadFile(elsewhere); string(text) != "mine" {
		t.Errorf(`the file behind a link holds %q, %v, want "mine"`, text, err)
	}
}

// TestHostileHello checks that the daemon survives any first message.
func TestHostileHello(t *testing.T) {
	opt := testOptions(t)
	serving(t, ServeOptions{Options: opt, Handler: pid})
	job, err := json.Marshal(hello{Protocol: protocol, Op: opRun, Build: opt.Build, Environment: opt.Environment})
	if err != nil {
		t.Fatal(err)
	}
	for _, first := range [][]byte{
		{}, []byte("GET / HTTP/1.1\r\n\r\n"), {kindHello, 0xff, 0xff, 0xff, 0xff}, {kindHello, 0, 0, 0, 1, '{'}, {kindInput, 0, 0, 0, 0},
		append([]byte{kindHello, 0, 0, 0, 13}, `{"op":"what"}`...),
		append([]byte{kindHello, 0, 0, 0, byte(len(job))}, job...),
	} {
		conn, err := dial(t.Context(), opt.Dir)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := conn.Write(first); err != nil {
			t.Fatal(err)
		}
		_ = conn.(*net.UnixConn).CloseWrite()
		kind, payload, err := (&reader{r: conn}).next()
		if err == nil && kind != kindRefused {
			t.Errorf("%q is answered with %q %q", first, kind, payload)
		}
		conn.Close()
	}
	if code, err := NewClient(opt, nil).Run(t.Context(), &Job{}, Streams{}); code != 11 || err != nil {
		t.Errorf("afterwards: code %d, %v, want 11 and no error", code, err)
	}
}

func TestPeer(t *testing.T) {
	dir := testOptions(t).Dir
	l, err := listen(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	conn, err := net.Dial("unix", socketPath(dir))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if err := checkPeer(conn); err != nil {
		t.Error(err)
	}
	other, _ := net.Pipe()
	if checkPeer(other) == nil {
		t.Error("a pipe has a user")
	}
	if sameUser(1, 2) == nil || sameUser(0, 2) == nil || sameUser(2, 2) != nil {
		t.Error("users are mixed up")
	}
}
