// Package gen generates the tree of wrappers: it reads the configuration, asks the servers for their tools, and writes the difference
// between their lists and the tree on disk. [Sync] does all of this; a check or a diff uses the same code path. The parts are in the
// packages below; this one only calls them in order and converts between their types.
//
// A server that cannot be reached does not affect the others: what the tree has of it stays, and the [Report] names it.
//
// # Compatibility
//
// Programs and people may rely on:
//
//   - how scripts use the tree: the names of files and functions, the imports, and what a call takes and returns;
//   - the lock: it has a version, and a lock of another version is refused with an error that says how to write it again ([catalog.VersionError]).
//     It is never misread;
//   - the exit codes of the package exit;
//   - the report as JSON: later versions add fields, but change or remove none.
//
// They may not rely on the text of generated files (comments, layout, private names), so the first sync after an update may change files
// although no server has changed; on the text of messages, warnings and reports for people; on the order of search results; or on the
// Go API of this module. Flags and keys of settings change only with an entry in the changelog.
package gen

import (
	"context"
	"encoding/json"
	"time"

	"github.com/mcpgen/mcpgen/gen/catalog"
	"github.com/mcpgen/mcpgen/gen/config"
)

// Lister asks one configured server for its tools. It opens and closes its own session; see [Listing.Ended].
type Lister func(ctx context.Context, server config.Server) (*Listing, error)

// Listing is what a server listed. All of it is foreign text.
type Listing struct {
	Title, Instructions string
	// Tools are the definitions as sent, in the server's order.
	Tools []json.RawMessage
	// Resources and HasPrompts report what the server offers besides tools. Prompts are the definitions as sent.
	Resources, HasPrompts bool
	Prompts               []json.RawMessage
	// PromptsErr says why its prompts could not be listed. In that case, what the tree has of them stays.
	PromptsErr error
	// Omitted describes what was left out of the lists, and why.
	Omitted []string
	// Ended is closed when the server's session is gone. A server may take its time to exit, and only the end of a sync waits for that.
	// Nil: the session is gone.
	Ended <-chan struct{}
}

// Options are the settings of [Sync].
type Options struct {
	// Configs are files of servers, in any form that [config.ReadFile] knows. If two servers have one name, the later one is used. Settings
	// and tree are those of the first file's project. Empty: [config.Locate] looks for a file.
	Configs []string
	// Dir is the absolute working directory, at which relative paths in Configs and Out start.
	Dir string
	// Out is the folder of the tree. Empty: the one from the settings.
	Out string
	// Servers are the keys of the servers to ask; for the others, what the tree has of them stays. Empty: all.
	Servers []string
	// Offline asks no server, and generates the tree from its stored lists.
	Offline bool
	// Check writes nothing.
	Check bool
	// Diff fills Report.Diff.
	Diff bool
	// Strict writes nothing if a tool cannot be generated or a server's text is suspicious.
	Strict bool
	// Frozen writes nothing if a definition is not the one that the lock pins. If there is no lock, it is an error.
	Frozen bool
	// Prune decides whether all wrappers of servers may be removed: of servers that are no longer configured, and of servers of which
	// include and exclude leave no tool. Nil: they must not be removed, and a sync that would write returns a *[PruneError].
	Prune func(ctx context.Context, gone *PruneError) (bool, error)
	// LookupEnv finds the variables of the configuration, for warnings about it. Nil is an empty environment.
	LookupEnv func(name string) (string, bool)
	// Consent decides whether a configuration may be used. It is called before anything that the configuration names is started or
	// connected to. Nil: it may be used.
	Consent func(context.Context, *config.Config) error
	// relearn changes what is known about tools' replies, by server and tool, before the tree is generated.
	relearn func(map[string]map[string]catalog.Learned)
	// Lister asks a server. It is required unless Offline is set; [UpstreamLister] returns the real one.
	Lister Lister
	// Progress is called for each server that is asked, possibly by several goroutines at once. It may be nil.
	Progress func(Event)
}

// Event reports that a server is about to be asked, has answered, or has failed.
type Event struct {
	Server string
	Done   bool
	// Tools, Err and Duration are set if Done is.
	Tools    int
	Err      error
	Duration time.Duration
}

// Tool is one tool of a [Tree], as its server listed it.
type Tool = catalog.Tool

// Server is one server of a [Tree], as it described itself.
type Server = catalog.Server
