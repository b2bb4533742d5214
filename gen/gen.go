// Package gen makes the tree of wrappers: it reads the configuration, asks the servers for their tools, and writes the
// difference between what they list and what is on the disk. [Sync] is all of it, and the same code path decides what
// a check or a diff reports. The parts are in the packages below; this one only puts them in order and converts
// between their types.
//
// A server that can't be reached does not affect the others: what the tree has of it stays, and the [Report] names it.
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
	// Resources and HasPrompts report what the server offers beside tools; Prompts are the definitions as sent.
	Resources, HasPrompts bool
	Prompts               []json.RawMessage
	// PromptsErr is why its prompts could not be listed; then what the tree has of them stays.
	PromptsErr error
	// Omitted describes what was left out of them, and why.
	Omitted []string
	// Ended is closed when the server's session is gone: a server may take its time to exit, and only the end of a sync
	// waits for that. Nil: it is gone.
	Ended <-chan struct{}
}

// Options are the settings of [Sync].
type Options struct {
	// Configs are files of servers, in any form that [config.ReadFile] knows; of two servers of one name the later
	// counts, and settings and tree are those of the first file's project. Empty: [config.Locate] looks for one.
	Configs []string
	// Dir is the absolute working directory; relative paths in Configs and Out start there.
	Dir string
	// Out is the folder of the tree. Empty: the one from the settings.
	Out string
	// Servers are the keys of those servers to ask; the others keep what the tree has of them. Empty: all.
	Servers []string
	// Offline asks no server, and makes the tree from what it has stored.
	Offline bool
	// Check writes nothing.
	Check bool
	// Diff fills Report.Diff.
	Diff bool
	// Strict writes nothing when a tool can't be generated, or a server's text is suspicious.
	Strict bool
	// Frozen writes nothing when a definition is not the one that the lock pins. Without a lock it is an error.
	Frozen bool
	// Prune decides whether all wrappers of servers may be removed: of those that are no longer configured, and of those of
	// which include and exclude leave no tool. Nil: they may not, and a
	// sync that would write is a *[PruneError].
	Prune func(ctx context.Context, gone *PruneError) (bool, error)
	// LookupEnv finds the variables of the configuration, for warnings about it. Nil is an empty environment.
	LookupEnv func(name string) (string, bool)
	// Consent decides whether a configuration may be used: it is called before anything is started or connected to that it
	// names. Nil: it may.
	Consent func(context.Context, *config.Config) error
	// relearn changes what is known of tools' replies, by server and tool, before the tree is made.
	relearn func(map[string]map[string]catalog.Learned)
	// Lister asks a server. Needed unless Offline; [UpstreamLister] makes the real one.
	Lister Lister
	// Progress is called for each server that is asked, possibly by several goroutines at once. May be nil.
	Progress func(Event)
}

// Event is a server that is about to be asked, or has answered or failed.
type Event struct {
	Server string
	Done   bool
	// Tools, Err and Duration are set when Done.
	Tools    int
	Err      error
	Duration time.Duration
}

// Tool is one tool of a [Tree], as its server listed it.
type Tool = catalog.Tool

// Server is one server of a [Tree], as it described itself.
type Server = catalog.Server
