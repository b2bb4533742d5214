package serve

import (
	"context"
	"path/filepath"

	"github.com/mcpgen/mcpgen/cmd/internal/cli"
	"github.com/mcpgen/mcpgen/runner/policy"
	"github.com/mcpgen/mcpgen/runner/taint"
)

// labels records whose data clients' conversations have read, and labels what they write, if the policy has a condition on that.
type labels struct {
	live      *live
	id, files string
}

// with calls do with the conversation of a client and the labels of workspaces, unless the policy has no condition on them.
func (l *labels) with(ctx context.Context, session string, do func(client *policy.Run, at *taint.Store, folder string) error) error {
	b, leave, err := l.live.enter(ctx)
	if err != nil {
		return err
	}
	defer leave()
	if !b.project.Policy.UsesTaint(l.id) {
		return nil
	}
	folder, err := filepath.Abs(l.files)
	if err != nil {
		return err
	}
	return do(l.live.clients.Of(l.id, session), taint.Open(b.project.Taint), cli.RealPath(folder))
}

// Taint implements [mcpserver.Labels].
func (l *labels) Taint(ctx context.Context, session string) (servers []string, err error) {
	err = l.with(ctx, session, func(client *policy.Run, _ *taint.Store, _ string) error {
		servers = client.Taint()
		return nil
	})
	return servers, err
}

// Wrote implements [mcpserver.Labels].
func (l *labels) Wrote(ctx context.Context, session, file string) error {
	return l.with(ctx, session, func(client *policy.Run, at *taint.Store, folder string) error {
		return at.Wrote(ctx, folder, file, client.Taint())
	})
}

// Read implements [mcpserver.Labels].
func (l *labels) Read(ctx context.Context, session string, files ...string) error {
	return l.with(ctx, session, func(client *policy.Run, at *taint.Store, folder string) error {
		from, err := at.Of(folder, files...)
		if err != nil {
			return err
		}
		return client.Inherit(from)
	})
}

// Got implements [mcpserver.Labels].
func (l *labels) Got(ctx context.Context, session string, from map[string]string) error {
	return l.with(ctx, session, func(client *policy.Run, _ *taint.Store, _ string) error {
		return client.Inherit(from)
	})
}
