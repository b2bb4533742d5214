package schedules

import (
	"context"
	"errors"
	"log/slog"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/mcpgen/mcpgen/cmd/internal/cli"
	"github.com/mcpgen/mcpgen/cmd/mcprun/internal/resources"
	"github.com/mcpgen/mcpgen/runner/store"
	"github.com/mcpgen/mcpgen/runner/store/storetest/pgtest"
)

func TestMain(m *testing.M) { os.Exit(pgtest.Main(m)) }

// TestStateComesBack follows the schedules of a project whose database cannot be reached yet: they are followed once it can.
func TestStateComesBack(t *testing.T) {
	address, err := url.Parse(pgtest.Database(t))
	if err != nil {
		t.Fatal(err)
	}
	query := address.Query()
	server, later := query.Get("host"), filepath.Join(t.TempDir(), "server")
	query.Set("host", later)
	address.RawQuery = query.Encode()
	dir := t.TempDir()
	for name, text := range map[string]string{
		".mcp.json":   `{"mcpServers": {}}`,
		"mcpgen.yaml": "version: 1\nschedules: { nightly: { cron: '@yearly', script: a.ts } }\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	env := map[string]string{"MCPRUN_STATE": address.String(), "MCPGEN_TRUST": "1", "XDG_STATE_HOME": t.TempDir()}
	app := &cli.App{Dir: dir, LookupEnv: func(name string) (string, bool) { v, ok := env[name]; return v, ok }}
	log := slog.New(slog.NewTextHandler(t.Output(), nil))
	at := resources.NewWarm(log)
	defer at.Close()
	p := NewProjects(at, log)
	stopping, ended := make(chan struct{}), make(chan struct{})
	go func() { p.Run(context.Background(), stopping); close(ended) }()
	defer func() { close(stopping); <-ended }()
	if _, err := p.Follow(app, true); !errors.Is(err, store.ErrUnreachable) || !p.Busy() {
		t.Fatalf("Follow() = %v, and the daemon is busy: %v, want an error, and true", err, p.Busy())
	}
	if err := os.Symlink(server, later); err != nil {
		t.Fatal(err)
	}
	for began := time.Now(); !strings.Contains(strings.Join(p.Describe(), "\n"), "nightly"); time.Sleep(50 * time.Millisecond) {
		if time.Since(began) > time.Minute {
			t.Fatalf("the daemon follows %q", p.Describe())
		}
	}
}
