// Package pgtest starts a private Postgres server for the tests of a package, from the binaries of Debian's package postgresql. It listens on
// a Unix socket in a temporary folder, and ends with the tests.
package pgtest

import (
	"bytes"
	"context"
	"crypto/rand"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	_ "github.com/jackc/pgx/v5/stdlib" // the driver pgx
)

// startTime bounds the start of the server.
const startTime = 60 * time.Second

// server is the server of this process.
var server struct {
	sync.Mutex
	dir     string
	user    *syscall.Credential // nil: that of this process
	command *exec.Cmd
	ended   chan struct{}
}

// Main runs the tests of a package, and stops the server if they have started one. Call it in TestMain.
func Main(m *testing.M) int {
	defer Stop()
	return m.Run()
}

// Stop stops the server if it runs, and removes its data, for tests that look for processes and files left behind.
func Stop() {
	server.Lock()
	defer server.Unlock()
	stop(syscall.SIGINT)
	if server.dir != "" {
		_ = os.RemoveAll(server.dir)
	}
	server.dir = ""
}

// Database returns the URL of a new, empty database, and starts the server if it does not run.
func Database(t testing.TB) string {
	t.Helper()
	address, err := New()
	if err != nil {
		t.Fatal(err)
	}
	return address
}

// New is Database for examples.
func New() (string, error) {
	server.Lock()
	defer server.Unlock()
	if server.command == nil {
		if err := start(); err != nil {
			return "", fmt.Errorf("start Postgres: %w", err)
		}
	}
	name := "test_" + strings.ToLower(rand.Text()[:12])
	db, err := sql.Open("pgx", address("postgres"))
	if err != nil {
		return "", err
	}
	defer db.Close()
	if _, err := db.Exec("CREATE DATABASE " + name); err != nil {
		return "", fmt.Errorf("create a database: %w", err)
	}
	return address(name), nil
}

// Restart kills the server as a crash does, and starts it again on its data.
func Restart(t testing.TB) {
	t.Helper()
	server.Lock()
	defer server.Unlock()
	stop(syscall.SIGQUIT)
	if err := run(); err != nil {
		t.Fatalf("start Postgres again: %v", err)
	}
}

// address returns the URL of a database.
func address(name string) string {
	return "postgres:///" + name + "?" + url.Values{"host": {server.dir}, "user": {"postgres"}, "sslmode": {"disable"}}.Encode()
}

// binary returns the path of a program of Postgres, of the newest version.
func binary(name string) (string, error) {
	found, err := filepath.Glob("/usr/lib/postgresql/*/bin/" + name)
	if err != nil || len(found) > 0 {
		slices.Sort(found)
		return found[len(found)-1], err
	}
	path, err := exec.LookPath(name)
	if err != nil {
		return "", errors.New("it is not installed: apt-get install postgresql")
	}
	return path, nil
}

// start creates the data of a server, and starts it. Postgres refuses to run as root.
func start() error {
	initdb, err := binary("initdb")
	if err != nil {
		return err
	}
	if server.dir, err = os.MkdirTemp("", "pgtest-"); err != nil {
		return err
	}
	if os.Getuid() == 0 {
		u, err := user.Lookup("nobody")
		if err != nil {
			return err
		}
		uid, err1 := strconv.ParseUint(u.Uid, 10, 32)
		gid, err2 := strconv.ParseUint(u.Gid, 10, 32)
		if err := errors.Join(err1, err2, os.Chown(server.dir, int(uid), int(gid))); err != nil {
			return err
		}
		server.user = &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}
	}
	cmd := command(initdb, "--pgdata", filepath.Join(server.dir, "data"), "--username", "postgres", "--auth", "trust", "--no-sync", "--encoding", "UTF8", "--locale", "C", "--locale-provider", "icu", "--icu-locale", "en") // as in the field, texts are not in the order of their bytes
	if output, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("initdb: %w: %s", err, output)
	}
	return run()
}

func command(path string, args ...string) *exec.Cmd {
	cmd := exec.Command(path, args...)
	cmd.Dir, cmd.Env = server.dir, []string{"PATH=/usr/bin:/bin", "LC_ALL=C", "TZ=UTC"}
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: server.user}
	return cmd
}

// run starts the server, and returns when it answers.
func run() error {
	postgres, err := binary("postgres")
	if err != nil {
		return err
	}
	cmd := command(postgres, "-D", filepath.Join(server.dir, "data"), "-k", server.dir, "-c", "listen_addresses=", "-c", "fsync=off", "-c", "max_connections=200")
	cmd.SysProcAttr.Pdeathsig = syscall.SIGQUIT
	var output bytes.Buffer
	cmd.Stdout, cmd.Stderr = &output, &output
	started, ended := make(chan error), make(chan struct{})
	go func() { // the signal comes when the thread dies that has started the server
		runtime.LockOSThread()
		err := cmd.Start()
		started <- err
		if err == nil {
			_ = cmd.Wait()
		}
		close(ended)
	}()
	if err := <-started; err != nil {
		return err
	}
	server.command, server.ended = cmd, ended
	db, err := sql.Open("pgx", address("postgres"))
	if err != nil {
		return err
	}
	defer db.Close()
	ctx, cancel := context.WithTimeout(context.Background(), startTime)
	defer cancel()
	for {
		err := db.PingContext(ctx)
		if err == nil {
			return nil
		}
		select {
		case <-ended:
			return fmt.Errorf("it ended: %s", output.String())
		case <-ctx.Done():
			return err
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// stop ends the server with a signal, and waits until it has ended.
func stop(signal os.Signal) {
	if server.command == nil {
		return
	}
	_ = server.command.Process.Signal(signal)
	select {
	case <-server.ended:
	case <-time.After(startTime):
		_ = server.command.Process.Kill()
		<-server.ended
	}
	server.command = nil
}
