package gen

import (
	"context"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mcpgen/mcpgen/gen/config"
)

func TestWhatAServerLeftOutIsReported(t *testing.T) {
	p := newProject(t, map[string][]string{"a": {tool("t", "")}})
	r := p.mustSync(func(o *Options) {
		o.Lister = func(ctx context.Context, s config.Server) (*Listing, error) {
			l, err := p.list(ctx, s)
			l.Omitted = []string{"entry 1 of its list of tools is null; it was left out"}
			return l, err
		}
	})
	if !slices.ContainsFunc(r.Warnings, func(w Warning) bool {
		return w.Place == "a" && w.Message == "entry 1 of its list of tools is null; it was left out"
	}) {
		t.Errorf("warnings %+v", r.Warnings)
	}
}

// TestServersMayTakeTheirTimeToLeave: sessions end while the tree is written, and before the sync returns.
func TestServersMayTakeTheirTimeToLeave(t *testing.T) {
	p := newProject(t, map[string][]string{"a": {tool("t", "")}, "b": {tool("t", "")}})
	synctest.Test(t, func(t *testing.T) {
		ended := map[string]chan struct{}{"a": make(chan struct{}), "b": make(chan struct{})}
		start := time.Now()
		p.mustSync(func(o *Options) {
			o.Lister = func(ctx context.Context, s config.Server) (*Listing, error) {
				l, err := p.list(ctx, s)
				l.Ended = ended[s.Key]
				time.AfterFunc(time.Second, func() { close(ended[s.Key]) })
				return l, err
			}
		})
		if took := time.Since(start); took != time.Second {
			t.Errorf("the sync took %s, not the second that the servers took at the same time, want %s", took, time.Second)
		}
	})
}
