package workflow_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"

	"github.com/mcpgen/mcpgen/runner"
	"github.com/mcpgen/mcpgen/runner/durable"
	"github.com/mcpgen/mcpgen/runner/sandbox"
	"github.com/mcpgen/mcpgen/runner/sandbox/embedded"
	"github.com/mcpgen/mcpgen/runner/script"
	"github.com/mcpgen/mcpgen/runner/store/sqlite"
	"github.com/mcpgen/mcpgen/runner/workflow"
)

// A workflow runs in the embedded sandbox and waits for a value.
func Example() {
	const code = `import { vars, workflow } from "mcprun";
const doubled = await workflow.step("double", (n) => 2 * n, vars.input);
export const result = [doubled, await workflow.waitFor("paid")];`

	dir, err := os.MkdirTemp("", "workflow-")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	ctx, place := context.Background(), filepath.Join(dir, "state.db")
	state, err := sqlite.Open(ctx, place, sqlite.Options{})
	if err != nil {
		panic(err)
	}
	defer state.Close()
	work, err := durable.Open(ctx, durable.Options{State: place, Store: state})
	if err != nil {
		panic(err)
	}
	r, err := runner.New(&runner.Options{Bundler: script.NewBundler(&script.BundlerOptions{OneRun: true})})
	if err != nil {
		panic(err)
	}
	e, err := workflow.New(workflow.Options{
		Durable: work, State: state, Secret: []byte("a secret of the user"),
		Run: func(ctx context.Context, p *workflow.Part) (*runner.Result, error) {
			s := &runner.Script{}
			p.Apply(s)
			return r.Launch(ctx, s, runner.LaunchOptions{Sandboxes: []sandbox.Backend{embedded.New(nil)}})
		},
	})
	if err != nil {
		panic(err)
	}
	defer e.Close(ctx)
	if err := e.Launch(ctx); err != nil {
		panic(err)
	}
	id, err := e.Start(ctx, &workflow.Program{Name: "pay.ts", Code: code, Language: sandbox.LangTypeScript}, workflow.Start{Input: json.RawMessage("21")})
	if err != nil {
		panic(err)
	}
	if _, err := e.Send(ctx, id, "paid", json.RawMessage(`"in cash"`)); err != nil {
		panic(err)
	}
	status, err := e.Wait(ctx, id, 0)
	if err != nil {
		panic(err)
	}
	fmt.Println(status.State, string(status.Outcome.Result))
	// Output:
	// done [42,"in cash"]
}
