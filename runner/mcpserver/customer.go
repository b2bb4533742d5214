package mcpserver

import (
	"context"
	"encoding/json"
	"log/slog"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

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
	// Labels records whose data the files hold. Nil: it is not recorded.
	Labels Labels
	// Log keeps runs. Nil: only totals are kept, until the server ends.
	Log Log
	// Close is called once, when the server ends. It may be nil.
	Close func() error
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

// customerServer is the MCP server of one customer, through which alone clients reach the customer.
type customerServer struct {
	s        *Server
	customer *Customer
	mcp      *mcp.Server
	parked   parkedCalls
	stats    stats
	calls    sessionCalls
}

func newCustomerServer(s *Server, c *Customer) *customerServer {
	cs := &customerServer{s: s, customer: c}
	//lint:ignore SA1019 clients of older revisions ask for logging, and those of the newest may
	caps := &mcp.ServerCapabilities{Logging: &mcp.LoggingCapabilities{}, Tools: &mcp.ToolCapabilities{ListChanged: true}}
	skills := c.Skills != nil && s.opt.Mode != ModePassthrough // in passthrough mode no script can import one
	if skills {
		caps.AddExtension(skillsExtension, nil)
		caps.Resources = &mcp.ResourceCapabilities{}
	}
	cs.mcp = mcp.NewServer(&mcp.Implementation{Name: "mcprun", Version: s.opt.Version},
		&mcp.ServerOptions{Capabilities: caps, Logger: s.log, SetCacheable: cacheable})
	for _, t := range s.now.Load().tools {
		cs.mcp.AddTool(t.definition(), cs.handler(t))
	}
	if skills {
		cs.serveSkills()
	}
	cs.mcp.AddReceivingMiddleware(s.refreshed, cs.listSkillResources, cs.listed)
	if s.opt.Mode == ModePassthrough {
		t := otherTool()
		cs.mcp.AddTool(t.definition(), cs.handler(t))
		cs.mcp.AddReceivingMiddleware(s.routed)
	}
	return cs
}

// toolsTTL is how long clients may cache the list of tools. Clients that do not listen for changes see a changed list after that time.
const toolsTTL = time.Minute

// cacheable lets clients cache results. The tools may name a customer's own servers.
func cacheable(_ context.Context, req mcp.Request, c *mcp.Cacheable) {
	c.CacheScope = "private"
	if _, ok := req.(*mcp.ListToolsRequest); ok {
		c.TTLMs = int(toolsTTL.Milliseconds())
	}
}

func (cs *customerServer) logger() *slog.Logger { return cs.s.log.With("customer", cs.customer.ID) }
