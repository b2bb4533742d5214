package mcpserver

import (
	"context"
	"errors"
	"reflect"
	"slices"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpgen/mcpgen/runner/telemetry"
)

// traced records each request of a client, below the span that its _meta names, and how long sessions last. Subscriptions are left out:
// they get no answer until they are cancelled.
func (s *Server) traced(next mcp.MethodHandler) mcp.MethodHandler {
	return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
		session, ok := req.GetSession().(*mcp.ServerSession)
		if method == methodSubscribe || !ok {
			return next(ctx, method, req)
		}
		about := telemetry.Request{Method: method}
		var meta map[string]any
		params := req.GetParams()
		if given := reflect.ValueOf(params); given.IsValid() && !given.IsNil() { // a notification may have none
			meta = params.GetMeta()
		}
		if p, ok := params.(*mcp.CallToolParamsRaw); ok && s.knows(p.Name) {
			about.Tool = p.Name
		}
		ctx, op := s.opt.Telemetry.Serve(ctx, about, meta)
		res, err := next(ctx, method, req)
		end := telemetry.Outcome{Connection: connectionOf(req), Session: session.ID()}
		var coded *jsonrpc.Error
		switch result, _ := res.(*mcp.CallToolResult); {
		case errors.As(err, &coded):
			end.Error, end.Code = "protocol", int(coded.Code)
		case errors.Is(err, context.Canceled):
			end.Error = "cancelled"
		case err != nil:
			end.Error = "internal"
		case result != nil && result.IsError:
			end.Error = telemetry.ToolError
		}
		if p, ok := params.(*mcp.ReadResourceParams); ok && err == nil {
			end.Resource = p.URI
		}
		op.End(end)
		if _, begun := res.(*mcp.InitializeResult); begun && err == nil && !end.Pipe { // Stdio measures the others
			began := time.Now()
			go func() {
				lost := session.Wait() != nil
				s.sessionEnded(session, telemetry.Connection{TCP: true}, time.Since(began), lost)
			}()
		}
		return res, err
	}
}

// sessionEnded records how long a session lasted.
func (s *Server) sessionEnded(session *mcp.ServerSession, over telemetry.Connection, lasted time.Duration, lost bool) {
	if p := session.InitializeParams(); p != nil {
		over.Protocol = p.ProtocolVersion
	}
	s.opt.Telemetry.ServerSession(lasted, known(over), lost)
}

// knows reports whether clients are shown a tool of this name. Other names are the client's text.
func (s *Server) knows(tool string) bool {
	_, ok := s.now.Load().place[tool]
	return ok
}

// connectionOf returns what a request came over.
func connectionOf(req mcp.Request) telemetry.Connection {
	http := req.GetExtra() != nil && req.GetExtra().Header != nil
	out := telemetry.Connection{Pipe: !http, TCP: http}
	if r, ok := req.(interface{ ProtocolVersion() string }); ok {
		out.Protocol = r.ProtocolVersion()
	}
	return known(out)
}

// known removes a revision that does not exist, which is the client's text.
func known(c telemetry.Connection) telemetry.Connection {
	if !slices.Contains(mcp.SupportedProtocolVersions(), c.Protocol) {
		c.Protocol = ""
	}
	return c
}
