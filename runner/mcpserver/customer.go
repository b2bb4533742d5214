package mcpserver

import (
	"context"
	"encoding/json"

	"github.com/mcpgen/mcpgen/runner/chain"
	"github.com/mcpgen/mcpgen/runner/pii"
	"github.com/mcpgen/mcpgen/runner/skill"
	"github.com/mcpgen/mcpgen/runner/workspace/customer"
)

// Customer owns the files, skills and tokens that a client works with. If a part is nil, the tools that need it answer that it is not
// available.
type Customer struct {
	// ID names the customer in results and logs.
	ID string
	// Files is the absolute path of the folder that scripts write to, created if missing. Empty: there is no workspace.
	Files string
	// Quota bounds the size of the folder, in bytes. Zero: only a run's own limits apply.
	Quota int64
	// Room returns how many more bytes the customer may store anywhere, in addition to Quota. Nil: there is no such limit.
	Room func(ctx context.Context) (int64, error)
	// Skills returns the customer's saved scripts, including shipped ones, for the current state of the project's tree.
	Skills func() (*skill.Store, error)
	// Vault returns the vault of what tokens stand for. It is called when a client first needs it, and again after an error.
	Vault func() (*pii.Vault, error)
	// Personal returns what is done with personal data now, or nil if it is passed on as it is. It may be nil too.
	Personal func() *chain.Personal
	// Labels records whose data the files hold. Nil: it is not recorded.
	Labels Labels
	// Used is called before a client gets personal data that tokens stood for, a file or a skill, and before it writes one. An error ends the
	// call. Nil: nobody is told.
	Used func(ctx context.Context, u Use) error
	// Log keeps runs. Nil: only totals are kept, until the server ends.
	Log Log
	// Close is called once, when the server ends. It may be nil.
	Close func() error
}

// Use is what a client does without a script.
type Use struct {
	Tool    string   // such as "restore_pii"
	Names   []string // the tokens, or the file or skill; hostile
	Session string   // as in Entry
	Client  Client
}

// used tells the customer's owner what the client does.
func (c *toolCall) used(ctx context.Context, names ...string) error {
	if c.cs.customer.Used == nil {
		return nil
	}
	return c.cs.customer.Used(ctx, Use{Tool: c.tool.name, Names: names, Session: c.session, Client: c.client})
}

// Log keeps a customer's runs beyond the life of the server.
type Log interface {
	Append(e Entry) error
	// Stats returns a JSON object that get_execution_stats adds to the totals of this server, or nil.
	Stats() (json.RawMessage, error)
}

// Entry is one run, or call without a script, in a customer's log.
type Entry struct {
	Session string // the client's HTTP session; empty in stateless requests and over stdio
	Run     *customer.Run
}

// Labels records whose data a customer's files hold, and whose data each client has received. A client is identified by its session, as in
// Entry.
type Labels interface {
	// Taint returns the servers whose data the client has received.
	Taint(ctx context.Context, session string) ([]string, error)
	// Wrote is called before the client writes a file, and Read before it gets files or their names. The paths are below
	// Customer.Files, with slashes.
	Wrote(ctx context.Context, session, file string) error
	Read(ctx context.Context, session string, files ...string) error
	// Got is called before the client gets data of servers. The values describe where the data was.
	Got(ctx context.Context, session string, from map[string]string) error
}
