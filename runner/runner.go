// Package runner runs one script in a sandbox, with a bridge back to the real MCP servers. Start with [New] and [Runner.Launch], the only
// way to run a script: policy, ceilings and restrictions hold for every program. What happens to a tool call of the script on its way to a
// server is in package chain. The package knows no concrete sandbox or server: both are passed in.
//
// # Compatibility
//
// Programs and people may rely on:
//
//   - what scripts use: the library mcprun, how a call is made, what it returns, which errors it throws, and the folders that scripts see;
//   - the exit codes of the package exit;
//   - the result as JSON, with the records of calls: later versions add fields, but change or remove none;
//   - files with a version, such as recordings and vaults: one of another version is refused and stays as it is. It is never misread.
//
// They may not rely on the text of messages and hints, on the sandbox that auto takes, on default limits, on the versions of interpreters
// in the image, on what the check before a run finds (a new rule may raise the risk of a script), or on the Go API of this module.
// Flags and keys of settings change only with an entry in the changelog.
package runner

import (
	"log/slog"
	"time"

	"github.com/mcpgen/mcpgen/gen/catalog"
	"github.com/mcpgen/mcpgen/runner/chain"
	"github.com/mcpgen/mcpgen/runner/policy"
	"github.com/mcpgen/mcpgen/runner/sandbox"
	"github.com/mcpgen/mcpgen/runner/script"
	"github.com/mcpgen/mcpgen/runner/traffic"
)

// Options configure a Runner. The zero value runs scripts that call no tools.
type Options struct {
	// Tree is the absolute path of the generated folder. Empty: none, and every call is refused.
	Tree string
	// Skills is the absolute path of the folder of saved scripts, which scripts may read. Empty: none.
	Skills string
	// Trusted are the absolute paths of files that determine what is started on this machine, whether they exist or not. A
	// workspace that contains one is refused.
	Trusted []string
	// Catalog has the tools if there is no tree; they are called as they were listed. With a Tree it is not used.
	Catalog *catalog.Catalog
	// Upstreams makes the calls. Nil: every call is refused.
	Upstreams chain.Upstreams
	// Servers are the settings of calls to a server, by its key. A server without an entry has the zero value.
	Servers map[string]chain.ServerSettings
	// Taint is the absolute path of a folder, created if missing, that keeps whose data workspaces hold beyond the runs, for policies with
	// conditions on taint. No workspace may hold it. Empty: such a condition knows only what the run itself receives.
	Taint string
	// Traffic is the absolute path of a file, created if missing, that keeps the shapes of results of tools that declare none. No
	// workspace may hold it. Empty: none are kept.
	Traffic string
	// Bundler makes the bundles of scripts in processes with limits. Nil: they are made in this process, without limits. The
	// caller closes it after the last run.
	Bundler *script.Bundler
	// Memory bounds the large results in memory. The runners of a process should share one. Nil: the Runner makes its own.
	Memory *chain.MemoryBudget
	// Logger receives diagnostics. Nil: they are discarded.
	Logger *slog.Logger
}

// Runner runs scripts against one tree. It is safe for concurrent use.
type Runner struct {
	opt     Options
	log     *slog.Logger
	catalog *catalog.Catalog
	lock    *catalog.Lock // nil: there is no tree
	chain   *chain.Chain
	traffic *traffic.Store // nil: no shapes are kept

	checking chan struct{}                  // holds a value while types are checked: one script at a time
	slow     map[sandbox.Language]time.Time // until when types are not checked, after a check that took too long; belongs to whom checking lets in

	definitions definitionCount // tokens of the catalog's definitions
	sharing     sharing
}

// New returns a Runner for the tree of opt, whose catalog it reads. A tree without a catalog is an error that says how to make it.
func New(opt *Options) (*Runner, error) {
	if opt == nil {
		opt = &Options{}
	}
	r := &Runner{opt: *opt, log: opt.Logger, catalog: &catalog.Catalog{}, checking: make(chan struct{}, 1), slow: map[sandbox.Language]time.Time{}}
	if r.log == nil {
		r.log = slog.New(slog.DiscardHandler)
	}
	if opt.Catalog != nil {
		r.catalog = opt.Catalog
	}
	if opt.Tree != "" {
		var err error
		if r.catalog, r.lock, err = catalog.LoadTree(opt.Tree); err != nil {
			return nil, err
		}
	}
	of := chain.Options{Catalog: r.catalog, Upstreams: opt.Upstreams, Servers: opt.Servers, Memory: opt.Memory, Logger: r.log}
	if opt.Traffic != "" {
		r.traffic = traffic.New(opt.Traffic)
		of.Observer = r.traffic
	}
	r.chain = chain.New(of)
	return r, nil
}

// Close writes what is not written yet of the shapes of results. The Runner may be used further.
func (r *Runner) Close() error {
	if r.traffic == nil {
		return nil
	}
	return r.traffic.Close()
}

// keepShapes writes the shapes that the calls of a run have shown.
func (r *Runner) keepShapes(calls *chain.Calls) {
	if r.traffic == nil {
		return
	}
	if err := r.traffic.Flush(); err != nil {
		calls.Warn("the shapes of results are not kept (learn: traffic): %v", err)
	}
}

// Misspelt describes the names in a policy that the tree does not have.
func (r *Runner) Misspelt(p *policy.Policy) []string {
	if p == nil || r.lock == nil {
		return nil
	}
	return p.Misspelt(r.chain.Tools)
}
