// Package runner runs one script in a sandbox, with a bridge back to the real MCP servers. Start with [New] and
// [Runner.Run]. The file chain.go lists what happens to each call on its way to a server. The package names no concrete sandbox and
// no concrete server: both are handed in.
package runner

import (
	"context"
	"encoding/json"
	"log/slog"
	"sync"

	"github.com/mcpgen/mcpgen/gen/catalog"
	"github.com/mcpgen/mcpgen/gen/upstream"
	"github.com/mcpgen/mcpgen/runner/script"
)

// Upstreams calls configured servers by their key. *upstream.Pool implements it.
type Upstreams interface {
	Call(ctx context.Context, server, tool string, args json.RawMessage, opt *upstream.CallOptions) (*upstream.CallResult, error)
}

// Options configure a Runner. The zero value runs scripts that call no tools.
type Options struct {
	// Tree is the absolute path of the generated folder. Empty: none, and every call is refused.
	Tree string
	// Skills is the absolute path of the folder of saved scripts, which scripts may read. Empty: none.
	Skills string
	// Trusted are the absolute paths of files that determine what is started on this machine, whether they exist or not. A
	// workspace that contains one is refused.
	Trusted []string
	// Upstreams makes the calls. Nil: every call is refused.
	Upstreams Upstreams
	// Servers are the settings of calls to a server, by its key. A server without an entry has the zero value.
	Servers map[string]ServerSettings
	// Bundler makes the bundles of scripts in processes with limits. Nil: they are made in this process, without limits. The
	// caller closes it after the last run.
	Bundler *script.Bundler
	// Memory bounds the large results in memory. The runners of a process should share one. Nil: the Runner makes its own.
	Memory *MemoryBudget
	// Logger receives diagnostics. Nil: they are discarded.
	Logger *slog.Logger
}

// Runner runs scripts against one tree. It is safe for concurrent use.
type Runner struct {
	opt     Options
	log     *slog.Logger
	catalog *catalog.Catalog
	lock    *catalog.Lock // nil: there is no tree
	memory  *MemoryBudget

	definitions definitionCount // tokens of the catalog's definitions

	mu       sync.Mutex
	compiled map[string]*validators       // by tool id
	named    map[string]map[string]string // parameters by tool id
	servers  map[string]chan struct{}     // the calls in flight, by server
	same     map[string]json.RawMessage   // live definitions that equal the locked ones, by tool id
}

// New returns a Runner for the tree of opt, whose catalog it reads. A tree without a catalog is an error that says how to make it.
func New(opt *Options) (*Runner, error) {
	if opt == nil {
		opt = &Options{}
	}
	r := &Runner{opt: *opt, log: opt.Logger, catalog: &catalog.Catalog{},
		compiled: map[string]*validators{}, named: map[string]map[string]string{}, servers: map[string]chan struct{}{}, same: map[string]json.RawMessage{}}
	if r.memory = opt.Memory; r.memory == nil {
		r.memory = NewMemoryBudget(0)
	}
	if r.log == nil {
		r.log = slog.New(slog.DiscardHandler)
	}
	if opt.Tree == "" {
		return r, nil
	}
	cat, lock, err := catalog.LoadTree(opt.Tree)
	if err != nil {
		return nil, err
	}
	r.catalog, r.lock = cat, lock
	return r, nil
}
