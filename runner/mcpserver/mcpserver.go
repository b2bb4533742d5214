// Package mcpserver is the MCP server of `mcprun serve`. Its tools run scripts in a sandbox, find tools, keep skills, hide personal data,
// and read and write a customer's files. Start with [New], then use [Server.Stdio] or [Server.Handler].
//
// The server speaks the stateless revision of the protocol (2026-07-28) and those before it, which have sessions. Everything a client sends
// is treated as hostile: arguments are checked here, bodies and queues are bounded, and one customer reaches nothing of another's. The
// package itself starts no sandbox and connects to no server: [Options] supplies the functions that do.
package mcpserver

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpgen/mcpgen/runner/internal/seal"
	"github.com/mcpgen/mcpgen/runner/mcpserver/internal/runqueue"
)

// New returns a Server. The error names the option that is wrong.
func New(opt *Options) (*Server, error) {
	if opt == nil || opt.Run == nil || opt.Customer == nil {
		return nil, errors.New("mcpserver: Run and Customer are required")
	}
	o := opt.WithDefaults()
	if !slices.Contains(Modes(), o.Mode) {
		return nil, fmt.Errorf("mcpserver: mode %q is not one of %s", o.Mode, Modes())
	}
	if o.Engine != nil && (o.State == nil || o.Secret == nil) {
		return nil, errors.New("mcpserver: Engine needs State and Secret")
	}
	if o.Engine == nil || o.Mode == ModeCode || o.Mode == ModePassthrough {
		o.Workflows = nil
	}
	s := &Server{opt: o, log: o.Logger, queue: runqueue.New(o.Parallel, o.Share, o.Waiting, o.MaxWait), customers: map[string]*customerServer{}}
	first, err := s.newView(&o.Project)
	if err != nil {
		return nil, err
	}
	s.now.Store(first)
	s.ctx, s.cancel = context.WithCancelCause(context.Background())
	if o.Engine != nil {
		if s.sealer, err = seal.New(o.Secret, nil, sealing); err == nil {
			err = s.launch(s.ctx)
		}
		if err != nil {
			return nil, errors.Join(err, s.Close())
		}
	}
	return s, nil
}

// customer returns the customer's server, and opens it on first use.
func (s *Server) customer(id string) (*customerServer, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil, errClosing
	}
	if cs, ok := s.customers[id]; ok {
		return cs, nil
	}
	c, err := s.opt.Customer(s.ctx, id)
	if err != nil {
		return nil, fmt.Errorf("open customer %q: %w", id, err)
	}
	cs := newCustomerServer(s, c)
	s.customers[id] = cs
	return cs, nil
}

func newCustomerServer(s *Server, c *Customer) *customerServer {
	cs := &customerServer{s: s, customer: c}
	cs.tasks.cs = cs
	//lint:ignore SA1019 clients of older revisions ask for logging, and those of the newest may
	caps := &mcp.ServerCapabilities{Logging: &mcp.LoggingCapabilities{}, Tools: &mcp.ToolCapabilities{ListChanged: true}}
	skills := c.Skills != nil && s.opt.Mode != ModePassthrough // in passthrough mode no script can import one
	if skills {
		caps.AddExtension(skillsExtension, nil)
		caps.Resources = &mcp.ResourceCapabilities{}
	}
	if s.opt.Mode != ModePassthrough {
		caps.Prompts = &mcp.PromptCapabilities{}
	}
	if s.opt.TaskAfter >= 0 {
		caps.AddExtension(tasksExtension, nil)
	}
	cs.mcp = mcp.NewServer(&mcp.Implementation{Name: "mcprun", Version: s.opt.Version},
		&mcp.ServerOptions{Capabilities: caps, Logger: s.log, SetCacheable: cacheable})
	for _, t := range s.now.Load().tools {
		cs.mcp.AddTool(t.definition(), cs.handler(t))
	}
	if skills {
		cs.serveSkills()
	}
	if caps.Prompts != nil {
		cs.servePrompt()
	}
	if s.opt.TaskAfter >= 0 {
		cs.serveTasks()
		cs.mcp.AddReceivingMiddleware(cs.tasked)
	}
	cs.mcp.AddReceivingMiddleware(cs.hidden, s.refreshed, cs.listSkillResources, cs.listed)
	if s.opt.Mode == ModePassthrough {
		t := otherTool()
		cs.mcp.AddTool(t.definition(), cs.handler(t))
		cs.mcp.AddReceivingMiddleware(s.routed)
	}
	if s.opt.Telemetry != nil {
		cs.mcp.AddReceivingMiddleware(s.traced) // outermost, so that it sees requests as clients send them
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

// Close ends runs in progress, waits for them, and closes the customers. With an engine, which it closes, tasks continue in another process,
// or in the next one.
func (s *Server) Close() error {
	s.mu.Lock()
	s.closed = true
	s.mu.Unlock() // from here on s.customers does not change
	s.end()
	var errs []error
	for _, cs := range s.customers {
		if rest := cs.refusals.takeRest(); rest != nil {
			s.opt.Refused(*rest)
		}
		if cs.customer.Close != nil {
			errs = append(errs, cs.customer.Close())
		}
	}
	return errors.Join(errs...)
}

// Definitions returns the result of tools/list as compact JSON, which is what a model pays for this server.
func (s *Server) Definitions() json.RawMessage {
	list := struct {
		Tools []*mcp.Tool `json:"tools"`
	}{}
	for _, t := range s.now.Load().tools {
		if s.lists(t.name) {
			list.Tools = append(list.Tools, t.definition())
		}
	}
	out, err := json.Marshal(list)
	if err != nil {
		panic(err) // the definitions are constants
	}
	return out
}
