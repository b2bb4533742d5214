package postgres_test

import (
	"context"
	"io"
	"net"
	"net/url"
	"path/filepath"
	"testing"
	"time"

	"golang.org/x/mod/sumdb/tlog"

	"github.com/mcpgen/mcpgen/runner/store"
	"github.com/mcpgen/mcpgen/runner/store/postgres"
	"github.com/mcpgen/mcpgen/runner/store/storetest"
	"github.com/mcpgen/mcpgen/runner/store/storetest/pgtest"
)

// TestStalledWriter checks that others can add rows while a process that has begun to stands still, as one does on a machine that has lost its
// network, and that it adds its own rows once it goes on: whether it finds the connection closed, or reads first why.
func TestStalledWriter(t *testing.T) {
	for _, c := range []struct {
		name    string
		through func(t *testing.T, address string) string
	}{
		{"closed", func(_ *testing.T, address string) string { return address }},
		{"told why", halfClosing},
	} {
		t.Run(c.name, func(t *testing.T) {
			address := pgtest.Database(t)
			other := opener(t, address)()
			stalled := opener(t, c.through(t, address)+"&idle_in_transaction_session_timeout=200")()
			began, goOn, done := make(chan struct{}), make(chan struct{}), make(chan error, 1)
			calls := 0
			go func() {
				done <- stalled.Extend(t.Context(), func(size int64, hashes tlog.HashReader) (add store.Addition, err error) {
					if calls++; calls == 1 {
						close(began)
						<-goOn
					}
					content := storetest.Content(size)
					add.Rows = []store.Row{{Index: size, Time: time.Now(), Kind: "call", Content: content}}
					add.Hashes, err = tlog.StoredHashes(size, content, hashes)
					return add, err
				})
			}()
			<-began
			ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
			defer cancel()
			if index, err := storetest.Append(ctx, other, store.Row{Kind: "call"}); err != nil || index != 0 {
				t.Errorf("Extend() beside a writer that stands still = row %d, %v, want row 0", index, err)
			}
			close(goOn)
			if err := <-done; err != nil || calls != 2 {
				t.Errorf("Extend() of the writer that stood still = %v after %d calls of next, want success after 2", err, calls)
			}
			if size := storetest.Check(t, other); size != 2 {
				t.Errorf("Size() = %d, want 2", size)
			}
		})
	}
}

// TestSilentServer checks that a caller gets away from a server that does not answer any more, and that the store works again when it does.
func TestSilentServer(t *testing.T) {
	p := newProxy(t, pgtest.Database(t), true)
	s := opener(t, p.url)().(*postgres.Store)
	s.SetCommitTime(100 * time.Millisecond)
	set := func(name string) error {
		ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
		defer cancel()
		_, err := s.SetDocument(ctx, &store.Document{Key: store.Key{Kind: "k", Name: name}})
		return err
	}
	if err := set("before"); err != nil {
		t.Fatal(err)
	}
	p.silent.Store(true)
	done := make(chan error, 1)
	go func() { done <- set("during") }()
	select {
	case err := <-done:
		if err == nil {
			t.Error("SetDocument() without an answer succeeded, want an error")
		}
	case <-time.After(30 * time.Second): // less than what bounds a transaction whose caller waits
		t.Fatal("SetDocument() waits for a server that is silent, after its context has ended")
	}
	p.silent.Store(false)
	if _, err := s.SetDocument(t.Context(), &store.Document{Key: store.Key{Kind: "k", Name: "after"}}); err != nil {
		t.Errorf("SetDocument() after the server was silent = %v", err)
	}
}

// TestConfigure checks that neither a connection nor a transaction may stand still for long, unless the URL says so.
func TestConfigure(t *testing.T) {
	for _, c := range []struct {
		url     string
		connect time.Duration
		idle    string
	}{
		{"postgres://db/name", 10 * time.Second, "10000"},
		{"postgres://db/name?connect_timeout=3&idle_in_transaction_session_timeout=0", 3 * time.Second, "0"},
	} {
		config, _, err := postgres.Configure(c.url)
		if err != nil {
			t.Fatal(err)
		}
		if idle := config.RuntimeParams["idle_in_transaction_session_timeout"]; config.ConnectTimeout != c.connect || idle != c.idle {
			t.Errorf("configure(%s) waits %v for a connection and %s ms for a transaction, want %v and %s", c.url, config.ConnectTimeout, idle, c.connect, c.idle)
		}
	}
}

// halfClosing returns the URL of a proxy that goes on reading what a client sends after the server has closed a connection.
func halfClosing(t *testing.T, address string) string {
	target, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	query, dir := target.Query(), t.TempDir()
	socket := filepath.Join(query.Get("host"), ".s.PGSQL.5432")
	listener, err := net.Listen("unix", filepath.Join(dir, ".s.PGSQL.5432"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = listener.Close() })
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
			go func() {
				_, _ = io.Copy(client, server)
				_ = client.(*net.UnixConn).CloseWrite()
			}()
			go func() {
				_, _ = io.Copy(server, client)
				_, _ = io.Copy(io.Discard, client)
				_ = client.Close()
				_ = server.Close()
			}()
		}
	}()
	query.Set("host", dir)
	target.RawQuery = query.Encode()
	return target.String()
}
