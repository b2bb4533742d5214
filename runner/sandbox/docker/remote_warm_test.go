package docker_test

import (
	"bytes"
	"context"
	"errors"
	"testing"
	"time"

	"github.com/mcpgen/mcpgen/runner/bridge"
	"github.com/mcpgen/mcpgen/runner/call"
	"github.com/mcpgen/mcpgen/runner/sandbox"
	guests "github.com/mcpgen/mcpgen/runner/sandbox/pool"
	"github.com/mcpgen/mcpgen/runner/script"
	"github.com/mcpgen/mcpgen/templates"
)

// TestRemoteGuestsPrepare: a guest is told that there is no job yet, and imports meanwhile what a script may need. How long
// that takes is not known, so each one is given longer than the one before.
func TestRemoteGuestsPrepare(t *testing.T) {
	p := guests.New(remoteBackend(t), &guests.Options{MaxIdle: 1})
	defer p.Close()
	spec := sandbox.Spec{Runtime: sandbox.Python, Args: templates.RuntimeArgs("python"), Guest: templates.Guest("python"), Tree: openDir(t)}
	out := pythonOf(t, p, spec, "") // tells the pool what is wanted
	for pause := time.Second; pause < 10*time.Second; pause *= 2 {
		for end := time.Now().Add(time.Minute); p.Stats().Idle == 0; time.Sleep(10 * time.Millisecond) {
			if time.Now().After(end) {
				t.Fatalf("no idle guest: %+v", p.Stats())
			}
		}
		time.Sleep(pause)
		run := spec
		run.Workspace = openDir(t)
		write(t, run.Workspace+"/in.txt", "there")
		out = pythonOf(t, p, run, "import sys\nprint('asyncio' in sys.modules, open('in.txt').read())")
		if out == "True there\n" {
			break
		}
	}
	if s := p.Stats(); out != "True there\n" || s.Warm == 0 || s.Cold > 1 || s.Failed > 0 {
		t.Errorf("it says %q; %+v", out, s)
	}
}

// pythonOf is what a script prints that the guest program runs.
func pythonOf(t *testing.T, b sandbox.Backend, spec sandbox.Spec, code string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	job, err := script.Read(ctx, script.Source{Name: "script.py", Code: code, Language: sandbox.LangPython}, script.Options{})
	if err != nil {
		t.Fatal(err)
	}
	var out, problems bytes.Buffer
	spec.ID, spec.Secret, spec.Stdout, spec.Stderr = "remote-prepare", "of the run", &out, &problems
	p, err := b.Start(ctx, spec)
	if err != nil {
		t.Fatal(err)
	}
	conn, err := p.Bridge(ctx)
	if err == nil {
		refuse := func(context.Context, *call.Request) (*call.Result, error) { return nil, errors.New("no tools here") }
		_, err = bridge.Serve(ctx, conn, bridge.Options{Secret: p.Secret(), Job: *job.Job, Handler: refuse})
	}
	if exit, waited := p.Wait(); waited != nil || exit.Code != 0 || err != nil && err != bridge.ErrClosed {
		t.Fatalf("%+v, %v, %v\n%s", exit, err, waited, &problems)
	}
	return out.String()
}
