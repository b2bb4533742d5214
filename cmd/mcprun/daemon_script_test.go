package main

import (
	"context"
	"errors"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/mcpgen/mcpgen/runner/daemon"
)

// TestScriptsByDaemon runs the scripts of TestScripts again, with the daemon: nobody must be able to tell the difference.
// Each script has a daemon of its own, which ends with it. The daemon never does --check.
func TestScriptsByDaemon(t *testing.T) {
	params := scriptParams(t, "mcprun")
	files, err := filepath.Glob(filepath.Join(params.Dir, "*.txtar"))
	if err != nil {
		t.Fatal(err)
	}
	params.Dir, params.Files = "", slices.DeleteFunc(files, func(file string) bool { return filepath.Base(file) == "check.txtar" })
	setup := params.Setup
	params.Setup = func(env *testscript.Env) error {
		env.Setenv("MCPRUN_DAEMON", "auto")
		return errors.Join(setup(env), daemonFolder(env))
	}
	testscript.Run(t, params)
}

// TestDaemonScripts runs the scripts about the daemon itself.
func TestDaemonScripts(t *testing.T) {
	params := scriptParams(t, "mcprundaemon")
	setup := params.Setup
	params.Setup = func(env *testscript.Env) error { return errors.Join(setup(env), daemonFolder(env)) }
	params.Cmds["killdaemon"] = killDaemon
	params.Cmds["nest"] = nest
	params.Cmds["waitfile"] = waitFile
	params.Cmds["waitidle"] = waitIdle
	testscript.Run(t, params)
}

// daemonFolder gives a script a place for its daemon, and ends that when the script is over.
func daemonFolder(env *testscript.Env) error {
	dir := filepath.Join(env.WorkDir, ".run")
	env.Setenv("XDG_RUNTIME_DIR", dir)
	env.Defer(func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		if _, _, err := daemonOf(dir).Stop(ctx, true, nil); err != nil {
			env.T().Log("the daemon does not end: ", err)
			env.T().FailNow()
		}
	})
	return os.Mkdir(dir, 0o700)
}

func daemonOf(runtimeDir string) *daemon.Client {
	return daemon.NewClient(daemon.Options{Dir: filepath.Join(runtimeDir, "mcprun-daemon")}, nil)
}

// killDaemon kills the daemon as kill -9 does, and waits until its socket is closed: until then the kernel accepts connections.
func killDaemon(ts *testscript.TestScript, neg bool, args []string) {
	dir := ts.Getenv("XDG_RUNTIME_DIR")
	s, ok, err := daemonOf(dir).Status(context.Background())
	if err != nil || !ok {
		ts.Fatalf("no daemon: %v", err)
	}
	ts.Check(syscall.Kill(s.PID, syscall.SIGKILL))
	for err == nil {
		var conn net.Conn
		if conn, err = net.Dial("unix", filepath.Join(dir, "mcprun-daemon", "daemon.sock")); err == nil {
			ts.Check(conn.Close())
			time.Sleep(10 * time.Millisecond)
		}
	}
}

const scriptPatience = time.Minute

// waitfile FILE waits until the file exists.
func waitFile(ts *testscript.TestScript, neg bool, args []string) {
	for began := time.Now(); ; time.Sleep(10 * time.Millisecond) {
		if _, err := os.Stat(ts.MkAbs(args[0])); err == nil {
			return
		}
		if time.Since(began) > scriptPatience {
			ts.Fatalf("%s does not appear", args[0])
		}
	}
}

// waitidle waits until the daemon has no run.
func waitIdle(ts *testscript.TestScript, neg bool, args []string) {
	for began := time.Now(); ; time.Sleep(10 * time.Millisecond) {
		s, ok, err := daemonOf(ts.Getenv("XDG_RUNTIME_DIR")).Status(context.Background())
		if err != nil || !ok {
			ts.Fatalf("no daemon: %v", err)
		}
		if s.Running == 0 {
			return
		}
		if time.Since(began) > scriptPatience {
			ts.Fatalf("%d runs go on", s.Running)
		}
	}
}

// nest FILE: writes a script that is nested more deeply than the bundler has stack for.
func nest(ts *testscript.TestScript, _ bool, args []string) {
	const levels = 90_000
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), []byte(strings.Repeat("[", levels)+strings.Repeat("]", levels)), 0o600))
}
