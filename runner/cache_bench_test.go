package runner_test

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/mcpgen/mcpgen/gen/catalog"
	"github.com/mcpgen/mcpgen/gen/config"
	"github.com/mcpgen/mcpgen/gen/upstream"
	"github.com/mcpgen/mcpgen/gen/upstream/upstreamtest"
	"github.com/mcpgen/mcpgen/runner"
	"github.com/mcpgen/mcpgen/runner/cache"
	"github.com/mcpgen/mcpgen/runner/chain"
	"github.com/mcpgen/mcpgen/runner/sandbox"
	"github.com/mcpgen/mcpgen/runner/store"
	"github.com/mcpgen/mcpgen/runner/store/sqlite"
)

// BenchmarkCachedCall is what a call of a script costs, over the bridge, to a server that answers at once: sent, answered from the cache, and sent and
// kept there.
func BenchmarkCachedCall(b *testing.B) {
	for name, srv := range map[string]config.Server{
		"stdio": upstreamtest.Server(b, upstreamtest.ModernOnly), "http": upstreamtest.HTTPServer(b, upstreamtest.ModernOnly, nil),
	} {
		pool := upstream.NewPool([]config.Server{srv}, &upstream.Options{Lookup: os.LookupEnv})
		defer pool.Close()
		session, err := pool.Connect(b.Context(), srv.Key)
		if err != nil {
			b.Fatal(err)
		}
		list, err := session.ListTools(b.Context())
		if err != nil {
			b.Fatal(err)
		}
		server, _ := catalog.NewServer(srv.Key, "", "", list)
		cat, err := catalog.New([]catalog.Server{server})
		if err != nil {
			b.Fatal(err)
		}
		r, err := runner.New(&runner.Options{Catalog: cat, Upstreams: pool, Servers: map[string]chain.ServerSettings{srv.Key: {ReadOnly: []string{"*"}}}})
		if err != nil {
			b.Fatal(err)
		}
		b.Run(name+"/sent", func(b *testing.B) { benchmarkCached(b, r, nil, false) })
		b.Run(name+"/cached", func(b *testing.B) { benchmarkCached(b, r, newCache(b), false) })
		b.Run(name+"/sent and kept", func(b *testing.B) { benchmarkCached(b, r, newCache(b), true) })
	}
}

func newCache(b *testing.B) *cache.Cache {
	s, err := sqlite.Open(b.Context(), filepath.Join(b.TempDir(), "state.db"), sqlite.Options{})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = s.Close() })
	return cache.New(cache.Options{
		State: func(context.Context) (store.Store, error) { return s, nil }, TTL: func(string) time.Duration { return time.Hour },
		Secret: func() ([]byte, error) { return bytes.Repeat([]byte{7}, 32), nil },
	})
}

// benchmarkCached makes calls of a script, each with other arguments if differ is set.
func benchmarkCached(b *testing.B, r *runner.Runner, c *cache.Cache, differ bool) {
	backend := &fakeBackend{name: "docker", guest: func(g *guest) sandbox.Exit {
		g.begin()
		i, value := 0, ""
		for b.Loop() {
			if i++; differ {
				value = fmt.Sprint(i)
			}
			if reply := g.call(i, "fake__echo", object{"a": value}); reply["error"] != nil {
				b.Errorf("the call failed: %s", reply["error"])
			}
		}
		g.done(nil)
		return sandbox.Exit{}
	}}
	s := runner.Script{Name: "s.py", Code: "print(1)", Language: sandbox.LangPython, Backend: backend, Workspace: b.TempDir(), Calls: chain.Settings{Cache: c}}
	s.Timeout = time.Hour
	if _, err := r.Run(b.Context(), s); err != nil {
		b.Fatal(err)
	}
}
