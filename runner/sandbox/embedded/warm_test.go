package embedded

import (
	"bytes"
	"context"
	"os"
	"testing"
	"time"

	"github.com/mcpgen/mcpgen/runner/sandbox"
	"github.com/mcpgen/mcpgen/runner/sandbox/embedded/internal/testhost"
)

// idles runs f with idle guests of both kinds, each with its backend.
func idles(t *testing.T, ctx context.Context, f func(t *testing.T, b *Backend, i sandbox.Idle)) {
	for _, unjailed := range []bool{false, true} {
		b := New(&Options{unjailed: unjailed, RuntimeDir: privateDir(t)})
		i, err := b.Warm(ctx, sandbox.Spec{ID: "idle", Runtime: sandbox.QuickJS, Secret: "own"})
		if err != nil {
			t.Fatal(err)
		}
		f(t, b, i)
		if left, _ := os.ReadDir(b.opts.RuntimeDir); len(left) > 0 {
			t.Errorf("left behind: %v, want len(left) at most 0", left)
		}
	}
}

func ended(t *testing.T, i sandbox.Idle) {
	t.Helper()
	select {
	case <-i.Done():
	case <-time.After(30 * time.Second):
		t.Error("the guest lives on")
	}
}

func TestIdleEnds(t *testing.T) {
	idles(t, t.Context(), func(t *testing.T, b *Backend, i sandbox.Idle) {
		select {
		case <-i.Done():
			t.Error("it has ended")
		default:
		}
		if err := i.Close(); err != nil {
			t.Error(err)
		}
		ended(t, i)
	})
	ctx, cancel := context.WithCancel(t.Context())
	idles(t, ctx, func(t *testing.T, b *Backend, i sandbox.Idle) {
		if b.opts.unjailed { // the second kind: now for both
			cancel()
			ended(t, i)
		}
		if err := i.Close(); err != nil {
			t.Error(err)
		}
	})
	if _, err := New(&Options{RuntimeDir: privateDir(t)}).Warm(ctx, sandbox.Spec{ID: "idle", Runtime: sandbox.QuickJS}); err == nil {
		t.Error("warmed with a context that had ended: got no error, want an error")
	}
}

func TestAdoptErrors(t *testing.T) {
	idles(t, t.Context(), func(t *testing.T, b *Backend, i sandbox.Idle) {
		if _, err := i.Adopt(t.Context(), sandbox.Spec{ID: "run", Runtime: sandbox.QuickJS, Workspace: "/does/not/exist"}); err == nil && !b.opts.unjailed {
			t.Error("a workspace that does not exist was accepted")
		} else if err == nil {
			_ = i.Close()
		}
		ended(t, i)
	})
	idles(t, t.Context(), func(t *testing.T, b *Backend, i sandbox.Idle) {
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if p, err := i.Adopt(ctx, sandbox.Spec{ID: "run", Runtime: sandbox.QuickJS}); err == nil { // it is then killed at once
			if _, err := p.Wait(); err != nil {
				t.Error(err)
			}
		}
		ended(t, i)
	})
}

// TestAdoptedContexts checks that an adopted guest outlives its first context, and is killed when its run's context ends.
func TestAdoptedContexts(t *testing.T) {
	warm, forget := context.WithCancel(t.Context())
	idles(t, warm, func(t *testing.T, b *Backend, i sandbox.Idle) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		var out bytes.Buffer
		p, err := i.Adopt(ctx, sandbox.Spec{ID: "run", Runtime: sandbox.QuickJS, Secret: "ignored", Stdout: &out})
		if err != nil {
			t.Fatal(err)
		}
		if p.Secret() != "own" {
			t.Errorf("its secret is %q", p.Secret())
		}
		if b.opts.unjailed {
			forget()
		}
		conn, err := p.Bridge(ctx)
		if err != nil {
			t.Fatal(err)
		}
		h := testhost.Host{Secret: "own", Args: []string{"a", "b"}}
		if _, err := h.Serve(conn, `console.log(process.argv.slice(1).join(), performance.now() < 30000, typeof Math.random())`); err != nil {
			t.Error(err)
		}
		if exit, err := p.Wait(); err != nil || exit.Code != 0 || out.String() != "/workspace/script.ts,a,b true number\n" {
			t.Errorf("%+v %v %q, want Code 0, %q and no error", exit, err, out.String(), "/workspace/script.ts,a,b true number\n")
		}
	})
	idles(t, t.Context(), func(t *testing.T, b *Backend, i sandbox.Idle) {
		ctx, cancel := context.WithCancel(t.Context())
		p, err := i.Adopt(ctx, sandbox.Spec{ID: "run", Runtime: sandbox.QuickJS})
		if err != nil {
			t.Fatal(err)
		}
		cancel()
		if exit, err := p.Wait(); err != nil || exit.Code != 137 || exit.Killed != "" {
			t.Errorf(`%+v %v, want Code 137, Killed "" and no error`, exit, err)
		}
	})
}

func TestShape(t *testing.T) {
	b := New(nil)
	one := b.Shape(sandbox.Spec{Runtime: sandbox.QuickJS, Tree: "/a", Workspace: "/b", Limits: sandbox.Limits{Memory: 1}})
	if one != b.Shape(sandbox.Spec{Runtime: sandbox.QuickJS, Skills: "/c", Secret: "s"}) {
		t.Error("guests are tied to more than their runtime")
	}
}
