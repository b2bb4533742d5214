package mcpserver

import (
	"context"
	"errors"
	"maps"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpgen/mcpgen/runner/skill"
)

// wrote labels a file before it is written.
func (c *toolCall) wrote(ctx context.Context, file string) error {
	if l := c.cs.customer.Labels; l != nil {
		return l.Wrote(ctx, c.session, file)
	}
	return nil
}

// reads records that the client gets files.
func (c *toolCall) reads(ctx context.Context, files ...string) error {
	if l := c.cs.customer.Labels; l != nil {
		return l.Read(ctx, c.session, files...)
	}
	return nil
}

// taint returns the servers whose data the client has received.
func (c *toolCall) taint(ctx context.Context) ([]string, error) {
	if l := c.cs.customer.Labels; l != nil {
		return l.Taint(ctx, c.session)
	}
	return nil, nil
}

// gets records that a client gets skills.
func (cs *customerServer) gets(ctx context.Context, session string, skills ...*skill.Skill) error {
	from := map[string]string{}
	for _, k := range skills {
		maps.Copy(from, skill.Origin(k.Name, k.Taint))
	}
	if l := cs.customer.Labels; l != nil && len(from) > 0 {
		return l.Got(ctx, session, from)
	}
	return nil
}

// getsIn is gets for a request that may or may not belong to the session in which it came.
func (cs *customerServer) getsIn(ctx context.Context, client mcp.Session, skills ...*skill.Skill) error {
	return errors.Join(cs.gets(ctx, "", skills...), cs.gets(ctx, client.ID(), skills...))
}
