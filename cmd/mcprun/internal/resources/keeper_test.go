package resources

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mcpgen/mcpgen/gen/config"
	"github.com/mcpgen/mcpgen/gen/upstream"
	"github.com/mcpgen/mcpgen/runner"
	"github.com/mcpgen/mcpgen/runner/chain"
)

func TestKeeper(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var closed []string
		made := 0
		k := newKeeper(2, time.Minute, func(s string) { closed = append(closed, s) })
		get := func(key string) func() {
			v, release, err := k.get(key, func() (string, error) {
				made++
				time.Sleep(time.Second)
				return key, nil
			})
			if v != key || err != nil {
				t.Fatalf("%q, %v, want %q and no error", v, err, key)
			}
			return release
		}
		var all sync.WaitGroup
		for range 8 {
			all.Go(func() { defer get("a")() })
		}
		all.Wait()
		if made != 1 {
			t.Errorf("made %d times for those at the same time, want 1", made)
		}
		keep := get("a")
		get("b")()
		time.Sleep(time.Second)
		get("c")()
		time.Sleep(time.Second)
		get("d")() // one too many; the one in use does not count
		if !slices.Equal(closed, []string{"b"}) {
			t.Errorf("closed %q", closed)
		}
		time.Sleep(time.Hour)
		k.tidy()
		if !slices.Equal(closed, []string{"b", "c", "d"}) {
			t.Errorf("closed after an hour: %q", closed)
		}
		k.drop()
		if len(closed) != 3 {
			t.Errorf("closed what was in use: %q, want len(closed) 3", closed)
		}
		get("e")()
		k.drop()
		if closed[len(closed)-1] != "e" {
			t.Errorf(`closed after drop: %q, want closed[len(closed)-1] "e"`, closed)
		}
		closed = closed[:3]
		k.shut()
		if len(closed) != 3 {
			t.Errorf("closed what was in use: %q, want len(closed) 3", closed)
		}
		keep()
		if !slices.Equal(closed, []string{"b", "c", "d", "a"}) {
			t.Errorf("closed at last: %q", closed)
		}
	})
}

func TestKeeperKeepsNoError(t *testing.T) {
	k := newKeeper[int](2, time.Minute, func(int) { t.Error("closed nothing") })
	no := errors.New("no")
	for i := range 3 {
		_, release, err := k.get("x", func() (int, error) { return 0, fmt.Errorf("%d: %w", i, no) })
		release()
		if want := fmt.Sprintf("%d: no", i); err == nil || err.Error() != want {
			t.Errorf("error %v, want %s", err, want)
		}
	}
	k.shut()
}

// TestServersKey checks that connections are shared only by clients that would have made the same ones.
func TestServersKey(t *testing.T) {
	file := filepath.Join(t.TempDir(), "secret")
	server := config.Server{Key: "s", Transport: config.TransportStdio, Command: "serve", Args: []string{"${TOKEN}"}, Dir: "/p"}
	env := map[string]string{"TOKEN": "1", "PATH": "/bin", "OTHER": "x"}
	key := func() string {
		_, k := serversKey([]config.Server{server}, &upstream.Options{Lookup: func(name string) (string, bool) { v, ok := env[name]; return v, ok }}, "/state", true)
		return k
	}
	first := key()
	env["OTHER"] = "y"
	if key() != first {
		t.Error("a variable that nobody reads counts")
	}
	seen := map[string]string{first: "the first"}
	for name, change := range map[string]func(){
		"a variable":           func() { env["TOKEN"] = "2" },
		"none":                 func() { delete(env, "TOKEN") },
		"an empty one":         func() { env["TOKEN"] = "" },
		"an inherited one":     func() { env["PATH"] = "/usr/bin" },
		"a header":             func() { server.Headers = map[string]string{"A": "b"} },
		"a login":              func() { server.OAuth = &config.OAuth{} },
		"a file that is named": func() { server.Env = map[string]string{"X": "${file:" + file + "}"} },
	} {
		old, oldEnv := server, map[string]string{}
		for k, v := range env {
			oldEnv[k] = v
		}
		if name == "a file that is named" {
			if err := os.WriteFile(file, []byte("one"), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		change()
		k := key()
		if other, ok := seen[k]; ok {
			t.Errorf("%s makes no difference to %s", name, other)
		}
		seen[k] = name
		if name == "a file that is named" {
			if err := os.WriteFile(file, []byte("two"), 0o600); err != nil {
				t.Fatal(err)
			}
			if key() == k {
				t.Error("the text of a file makes no difference")
			}
		}
		server, env = old, oldEnv
	}
	if key() != first {
		t.Error("the same is not the same")
	}
	known, _ := serversKey([]config.Server{server}, &upstream.Options{Lookup: func(name string) (string, bool) { v, ok := env[name]; return v, ok }}, "", true)
	if v, ok := known.lookup("TOKEN"); v != "1" || !ok {
		t.Errorf("TOKEN is %q, %v", v, ok)
	}
	if _, ok := known.lookup("OTHER"); ok {
		t.Error("a variable is kept that nothing refers to")
	}
}

func TestRunnerKey(t *testing.T) {
	tree := t.TempDir()
	lock := filepath.Join(tree, ".mcpgen", "lock.json")
	if err := errors.Join(os.Mkdir(filepath.Dir(lock), 0o700), os.WriteFile(lock, []byte("1"), 0o600)); err != nil {
		t.Fatal(err)
	}
	key := func(opt runner.Options) string {
		k, err := runnerKey(opt)
		if err != nil {
			t.Fatal(err)
		}
		return k
	}
	opt := runner.Options{Tree: tree, Servers: map[string]chain.ServerSettings{"b": {Parallel: 1}, "a": {Idempotent: []string{"x"}}}}
	first := key(opt)
	if key(opt) != first {
		t.Error("the same is not the same")
	}
	if other := opt; true {
		other.Skills = "/skills"
		if key(other) == first {
			t.Error("skills make no difference")
		}
		other = opt
		other.Upstreams = upstream.NewPool(nil, nil)
		if key(other) == first {
			t.Error("connections make no difference")
		}
		other = opt
		other.Servers = map[string]chain.ServerSettings{"b": {Parallel: 2}, "a": {Idempotent: []string{"x"}}}
		if key(other) == first {
			t.Error("settings make no difference")
		}
	}
	if err := os.WriteFile(lock, []byte("another"), 0o600); err != nil {
		t.Fatal(err)
	}
	if key(opt) == first {
		t.Error("another lock makes no difference")
	}
	if _, err := runnerKey(runner.Options{Tree: filepath.Join(tree, "no")}); err == nil {
		t.Error("a tree that is not there has a key: got no error, want an error")
	}
}
