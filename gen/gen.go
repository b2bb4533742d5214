// Package gen makes the tree of wrappers: it reads the configuration, asks the servers for their tools, and writes the
// difference between what they say and what is on the disk. [Sync] is all of it, and the same code path decides what
// a check or a diff reports. The parts are in the packages below; this one only puts them in order and converts
// between their types.
//
// One server that can't be reached never spoils the others' work: what the tree has of it stays as it is, and the
// [Report] says so.
package gen

import (
	"context"
	"encoding/json"
	"time"

	"github.com/mcpgen/mcpgen/gen/catalog"
	"github.com/mcpgen/mcpgen/gen/config"
)

// Lister asks one configured server for its tools. It opens and closes its own session.
type Lister func(ctx context.Context, server config.Server) (*Listing, error)

// Listing is what a server said. All of it is foreign text.
type Listing struct {
	Title, Instructions string
	// Tools are the definitions as sent, in the server's order.
	Tools []json.RawMessage
}

// Options are the settings of [Sync].
type Options struct {
	// Config is the path of a .mcp.json. Empty: it is looked for from Dir upwards.
	Config string
	// Dir is the absolute working directory; relative paths in Config and Out start there.
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
	// Strict writes nothing when a tool can't be generated.
	Strict bool
	// Lister asks a server. Needed unless Offline; [UpstreamLister] makes the real one.
	Lister Lister
	// Progress is told about each server that is asked. It may be called by several goroutines at once. Nil: nobody is.
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

// The files of a project's configuration.
const (
	ConfigName   = config.FileName
	SettingsName = config.SettingsName
)

// FindConfig looks for the configuration from dir upwards. Without one the error is an fs.ErrNotExist.
func FindConfig(dir string) (string, error) { return config.Find(dir) }

// Tool is one tool of a [Tree], as its server listed it.
type Tool = catalog.Tool
