package postgres_test

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/mcpgen/mcpgen/runner/store"
	"github.com/mcpgen/mcpgen/runner/store/postgres"
	"github.com/mcpgen/mcpgen/runner/store/storetest"
	"github.com/mcpgen/mcpgen/runner/store/storetest/pgtest"
)

func openURL(ctx context.Context, address string) (store.Store, error) {
	s, err := postgres.Open(ctx, address)
	if err != nil {
		return nil, err
	}
	return s, nil
}

func TestMain(m *testing.M) {
	storetest.Child(openURL)
	os.Exit(pgtest.Main(m))
}

// opener returns a function that opens the store at a URL, and closes it with the test.
func opener(t *testing.T, address string) func() store.Store {
	return func() store.Store {
		s, err := openURL(t.Context(), address)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := s.Close(); err != nil {
				t.Errorf("Close() = %v", err)
			}
		})
		return s
	}
}

func TestStore(t *testing.T) {
	storetest.Test(t, func(t *testing.T) func() store.Store { return opener(t, pgtest.Database(t)) })
}

func TestKill(t *testing.T) {
	address := pgtest.Database(t)
	times := 25
	if testing.Short() {
		times = 5
	}
	storetest.Kill(t, address, opener(t, address), times)
}

// TestFirstOpening checks that those who open a new database at the same time all succeed.
func TestFirstOpening(t *testing.T) {
	address := pgtest.Database(t)
	var all sync.WaitGroup
	for range 6 {
		all.Go(func() {
			s, err := openURL(t.Context(), address)
			if err != nil {
				t.Errorf("Open() beside others = %v", err)
				return
			}
			_ = s.Close()
		})
	}
	all.Wait()
}

func TestNotOurs(t *testing.T) {
	address := pgtest.Database(t)
	opener(t, address)()
	db, err := sql.Open("pgx", address)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if _, err := db.Exec("INSERT INTO mcprun.goose_db_version (version_id, is_applied) VALUES (99, true)"); err != nil {
		t.Fatal(err)
	}
	if _, err := openURL(t.Context(), address); !errors.Is(err, store.ErrNewer) {
		t.Errorf("Open() of a newer database = %v, want ErrNewer", err)
	}
	for _, bad := range []string{"postgres://ann:hunter2@127.0.0.1:1/db", "postgres://ann:hunter2@127.0.0.1:port/db", "postgres://ann:hunter2%@x/"} {
		if _, err := openURL(t.Context(), bad); err == nil || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("Open(%q) = %v, want an error without the password", bad, err)
		}
	}
}

// TestSchemaOfTheOwner: a role that may not make the schema is told what the owner of the database has to do, which is enough.
func TestSchemaOfTheOwner(t *testing.T) {
	address := pgtest.Database(t)
	db, err := sql.Open("pgx", address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	run := func(statements ...string) {
		t.Helper()
		for _, text := range statements {
			if _, err := db.Exec(text); err != nil {
				t.Fatal(err)
			}
		}
	}
	run("CREATE ROLE guest LOGIN")
	t.Cleanup(func() { run("DROP OWNED BY guest", "DROP ROLE guest") })
	u, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	u.User = url.User("guest")
	if query := u.Query(); query.Has("user") {
		query.Set("user", "guest")
		u.RawQuery = query.Encode()
	}
	const remedy = "CREATE SCHEMA mcprun AUTHORIZATION guest"
	if _, err := openURL(t.Context(), u.String()); err == nil || !strings.Contains(err.Error(), remedy) {
		t.Fatalf("Open() = %v, want %s", err, remedy)
	}
	run(remedy)
	s, err := openURL(t.Context(), u.String())
	if err != nil {
		t.Fatal(err)
	}
	if about, err := s.About(t.Context()); err != nil || about.Version < 1 || about.Bytes == 0 {
		t.Errorf("About() = %+v, %v", about, err)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
}

// TestRestart checks that a store goes on after the server has crashed and come back, without an error.
func TestRestart(t *testing.T) {
	s := opener(t, pgtest.Database(t))()
	for range 4 { // connections of the pool that the crash closes
		var all sync.WaitGroup
		for range 8 {
			all.Go(func() {
				if _, err := storetest.Append(t.Context(), s, store.Row{Kind: "call"}); err != nil {
					t.Errorf("Extend() = %v", err)
				}
				if _, err := s.Size(t.Context()); err != nil {
					t.Errorf("Size() = %v", err)
				}
			})
		}
		all.Wait()
		pgtest.Restart(t)
	}
	if size := storetest.Check(t, s); size != 32 {
		t.Errorf("Size() = %d, want 32", size)
	}
}

// TestCommitWithoutAnswer breaks connections when the server has committed, and when it has not received the commit. No row may be there
// twice, and none may be missing.
func TestCommitWithoutAnswer(t *testing.T) {
	for _, c := range []struct {
		name      string
		committed bool
	}{{"committed", true}, {"not committed", false}} {
		t.Run(c.name, func(t *testing.T) {
			direct := pgtest.Database(t)
			p := newProxy(t, direct, c.committed)
			s := opener(t, p.url)()
			for i := range int64(5) {
				p.breaks.Store(1)
				if index, err := storetest.Append(t.Context(), s, store.Row{Kind: "call"}); err != nil || index != i {
					t.Errorf("Extend() = row %d, %v, want row %d", index, err, i)
				}
				if p.breaks.Load() != 0 {
					t.Error("no connection broke")
				}
			}
			if size := storetest.Check(t, opener(t, direct)()); size != 5 {
				t.Errorf("Size() = %d, want 5", size)
			}
			p.breaks.Store(1)
			_, err := s.SetDocument(t.Context(), &store.Document{Key: store.Key{Kind: "k"}})
			if err == nil {
				t.Error("SetDocument() without an answer to its commit succeeded, want an error")
			}
		})
	}
}

// proxy passes connections on to a server, and breaks those that commit.
type proxy struct {
	url       string
	breaks    atomic.Int32 // how many to break
	committed bool         // whether the server receives the commit
	silent    atomic.Bool  // whether answers are dropped, also that the server has closed the connection
}

func newProxy(t *testing.T, to string, committed bool) *proxy {
	target, err := url.Parse(to)
	if err != nil {
		t.Fatal(err)
	}
	query := target.Query()
	socket := filepath.Join(query.Get("host"), ".s.PGSQL.5432")
	dir := t.TempDir()
	listener, err := net.Listen("unix", filepath.Join(dir, ".s.PGSQL.5432"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = listener.Close() })
	query.Set("host", dir)
	target.RawQuery = query.Encode()
	p := &proxy{url: target.String(), committed: committed}
	go func() {
		for {
			client, err := listener.Accept()
			if err != nil {
				return
			}
			server, err := net.Dial("unix", socket)
			if err != nil {
				_ = client.Close()
				continue
			}
			go p.pass(client, server)
		}
	}()
	return p
}

func (p *proxy) pass(client, server net.Conn) {
	defer client.Close()
	var broken atomic.Bool
	answered := make(chan struct{})
	go func() {
		defer close(answered)
		defer server.Close()
		buffer := make([]byte, 1<<16)
		for {
			n, err := server.Read(buffer)
			if err != nil || broken.Load() {
				if !p.silent.Load() {
					_ = client.Close()
				}
				return
			}
			if !p.silent.Load() {
				_, _ = client.Write(buffer[:n])
			}
		}
	}()
	buffer := make([]byte, 1<<16)
	for {
		n, err := client.Read(buffer)
		if err != nil {
			_ = server.Close()
			return
		}
		if bytes.Contains(buffer[:n], []byte("commit\x00")) && p.breaks.CompareAndSwap(1, 0) {
			if broken.Store(true); !p.committed {
				_ = server.Close()
				return
			}
			_, _ = server.Write(buffer[:n])
			<-answered
			return
		}
		_, _ = server.Write(buffer[:n])
	}
}
