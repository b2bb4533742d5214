package mcpserver

import (
	"context"
	"errors"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// sessionCalls are the long calls of a customer's HTTP sessions.
type sessionCalls struct {
	mu        sync.Mutex
	bySession map[string]map[*context.CancelCauseFunc]bool
}

// errSessionEnded is the cause with which the end of a session cancels its calls.
var errSessionEnded = errors.New("the client has ended its session")

// add records a call of a session and how to cancel it; forget removes it. Without a session nothing is recorded.
func (c *sessionCalls) add(session string, cancel context.CancelCauseFunc) (forget func()) {
	if session == "" {
		return func() {}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.bySession == nil {
		c.bySession = map[string]map[*context.CancelCauseFunc]bool{}
	}
	if c.bySession[session] == nil {
		c.bySession[session] = map[*context.CancelCauseFunc]bool{}
	}
	c.bySession[session][&cancel] = true
	return func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		delete(c.bySession[session], &cancel)
		if len(c.bySession[session]) == 0 {
			delete(c.bySession, session)
		}
	}
}

// cancel cancels the calls of a session. Closing a session waits for them.
func (c *sessionCalls) cancel(session string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for cancel := range c.bySession[session] {
		(*cancel)(errSessionEnded)
	}
}

// sessions returns the ids of the customer's HTTP sessions. Stateless requests have none.
func (cs *customerServer) sessions() []string {
	var ids []string
	for session := range cs.mcp.Sessions() {
		if id := session.ID(); id != "" {
			ids = append(ids, id)
		}
	}
	return ids
}

// clientOf returns the client of a request.
func clientOf(req interface{ ClientInfo() *mcp.Implementation }) Client {
	if c := req.ClientInfo(); c != nil {
		return Client{c.Name, c.Version}
	}
	return Client{}
}

// firstStateless is the first revision of the protocol in which a server sends no requests. A question is returned as the result of the
// client's request (input_required), and the answer comes with its next request.
const firstStateless = "2026-07-28"

// sessionOf returns the session of a request as in Entry: empty if it belongs to none.
func sessionOf(req interface {
	ProtocolVersion() string
	GetSession() mcp.Session
}) string {
	if req.ProtocolVersion() < firstStateless {
		return req.GetSession().ID()
	}
	return ""
}
