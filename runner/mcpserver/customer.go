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

// Customer owns the files, skills and tokens that a client works with. The tools that need a nil part answer that it is
// not available.
type Customer struct {
	// ID names the customer in results and logs.
	ID string
	// Files is the absolute path of the folder that scripts write to, created if missing. Empty: there is no workspace.
	Files string
	// Quota bounds the size of the folder, in bytes. Zero: only a run's own limits apply.
	Quota int64
	// Room returns how many bytes the customer may add anywhere; it applies besides Quota. Nil: no such bound.
	Room func(ctx context.Context) (int64, error)
	// Skills returns the customer's saved scripts, including shipped ones, as the project's tree is now.
	Skills func() (*skill.Store, error)
	// Vault returns the vault of what tokens stand for. It is called when a client needs it, and again after an error.
	Vault func() (*pii.Vault, error)
	// Labels keeps whose data the files hold. Nil: nobody wants to know.
	Labels Labels
	// Log keeps runs. Nil: only totals are kept, until the server ends.
	Log Log
	// Close is called once, when the server ends. Nil: nothing is called.
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

// customerServer is the MCP server of one customer. Clients reach a customer through it only.
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
	skills := c.Skills != nil && s.opt.Mode != ModePassthrough // where no script can import one
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

// toolsTTL is how long clients may cache the list of tools. Those that do not listen for changes see a new server after it.
const toolsTTL = time.Minute

// cacheable lets clients cache results. The tools may name a customer's own servers.
func cacheable(_ context.Context, req mcp.Request, c *mcp.Cacheable) {
	c.CacheScope = "private"
	if _, ok := req.(*mcp.ListToolsRequest); ok {
		c.TTLMs = int(toolsTTL.Milliseconds())
	}
}

func (cs *customerServer) logger() *slog.Logger { return cs.s.log.With("customer", cs.customer.ID) }
