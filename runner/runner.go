// Package runner runs one script in a sandbox, with a bridge back to the real MCP servers. Start with [New] and [Runner.Launch], the only
// way to run a script: policy, ceilings and restrictions hold for every program. Package chain handles the script's tool calls on their way
// to a server. The package knows no concrete sandbox or server: both are passed in.
//
// # Compatibility
//
// Programs and people may rely on:
//
//   - what scripts use: the library mcprun, how a call is made, what it returns, which errors it throws, and the folders that scripts see;
//   - the exit codes of the package exit;
//   - the result as JSON, with the records of calls: later versions may add fields but do not change or remove any;
//   - files with a version, such as recordings and vaults: a file of another version is refused and left as it is, never misread.
//
// They may not rely on the text of messages and hints, on the sandbox that auto chooses, on default limits, on the versions of interpreters
// in the image, on what the check before a run finds (a new rule may raise the risk of a script), or on the Go API of this module. Flags
// and keys of settings change only with an entry in the changelog.
package runner

import (
	"log/slog"
	"time"

	"github.com/mcpgen/mcpgen/gen/catalog"
	"github.com/mcpgen/mcpgen/runner/chain"
	"github.com/mcpgen/mcpgen/runner/packages"
	"github.com/mcpgen/mcpgen/runner/policy"
	"github.com/mcpgen/mcpgen/runner/sandbox"
	"github.com/mcpgen/mcpgen/runner/script"
	"github.com/mcpgen/mcpgen/runner/telemetry"
)

// Options configure a Runner. The zero value runs scripts that call no tools.
type Options struct {
	// Tree is the absolute path of the generated folder. Empty: none, and every call is refused.
	Tree string
	// Skills is the absolute path of the folder of saved scripts, which scripts may read. Empty: none.
	Skills string
	// Packages are what scripts may import beside the standard library and what the image of a sandbox has. Nil: nothing.
	Packages *packages.Set
	// Trusted are the absolute paths of files that determine what is started on this machine, whether they exist or not. A
	// workspace that contains one is refused.
	Trusted []string
	// Catalog has the tools if Tree is empty, and they are called as they were listed. With a Tree it is not used.
	Catalog *catalog.Catalog
	// Upstreams makes the calls. Nil: every call is refused.
	Upstreams chain.Upstreams
	// Servers are the settings of calls to a server, by its key. A server without an entry has the zero value.
	Servers map[string]chain.ServerSettings
	// Taint is the absolute path of a folder, created if missing, that records across runs whose data each workspace holds, for policies
	// with conditions on taint. No workspace may contain it. If empty, such a condition knows only what the run itself receives.
	Taint string
	// Bundler bundles scripts in processes with limits. If nil, they are bundled in this process, without limits. The caller closes it
	// after the last run.
	Bundler *script.Bundler
	// Memory bounds the large results in memory. The runners of a process should share one. If nil, the Runner creates its own.
	Memory *chain.MemoryBudget
	// Telemetry records runs and their requests to servers. Nil: they are not recorded.
	Telemetry *telemetry.Telemetry
	// Logger receives diagnostics. Nil: they are discarded.
	Logger *slog.Logger
}

// Reading returns how a Runner with these options reads scripts. A script that was read so is not read again.
func (o *Options) Reading() script.Options {
	return script.Options{
		Tree: o.Tree, Skills: o.Skills, Closed: o.Trusted,
		Packages: o.Packages.JavaScript(), Installed: importable(o.Packages, nil, sandbox.LangTypeScript),
	}
}

// Runner runs scripts against one tree. It is safe for concurrent use.
type Runner struct {
	opt     Options
	log     *slog.Logger
	catalog *catalog.Catalog
	lock    *catalog.Lock // nil: there is no tree
	chain   *chain.Chain

	checking chan struct{}                  // holds a value while types are checked: one script at a time
	slow     map[sandbox.Language]time.Time // types are not checked before this time, after a check that took too long; only used while holding checking

	definitions definitionCount // tokens of the catalog's definitions
	sharing     sharing
	pythons     pythons
}

// New returns a Runner for the tree of opt, whose catalog it reads. A tree without a catalog is an error that says how to create it.
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
	r.chain = chain.New(chain.Options{Catalog: r.catalog, Upstreams: opt.Upstreams, Servers: opt.Servers, Memory: opt.Memory, Telemetry: opt.Telemetry, Logger: r.log})
	return r, nil
}

// Misspelt describes the names in a policy that match nothing in the tree.
func (r *Runner) Misspelt(p *policy.Policy) []string {
	if p == nil || r.lock == nil {
		return nil
	}
	return p.Misspelt(r.chain.Tools)
}
