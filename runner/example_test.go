package runner_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/mcpgen/mcpgen/gen/upstream"
	"github.com/mcpgen/mcpgen/gen/upstream/upstreamtest"
	"github.com/mcpgen/mcpgen/runner"
	"github.com/mcpgen/mcpgen/runner/sandbox"
	"github.com/mcpgen/mcpgen/runner/sandbox/embedded"
	"github.com/mcpgen/mcpgen/runner/script"
)

// TestMain begins like the main function of every program that runs scripts: bundles are made, and scripts run, in child
// processes of the same program.
func TestMain(m *testing.M) {
	upstreamtest.Main()
	script.Child()
	embedded.Child()
	os.Exit(m.Run())
}

// A sandbox with a kernel of its own is strong enough for any code; a confined process is, for code that a person has read.
func ExampleGoodFor() {
	fmt.Println(runner.GoodFor(sandbox.OwnKernel), runner.GoodFor(sandbox.SharedKernel))
	// Output: critical low
}

// crm stands for the server of the examples. A program uses upstream.NewPool, which starts and calls the real ones.
type crm struct{}

func (crm) Call(_ context.Context, _, tool string, args json.RawMessage, _ *upstream.CallOptions) (*upstream.CallResult, error) {
	answers := map[string]string{
		"get_record":    `{"object_type": "Lead", "id": "00Q1", "record": {"Name": "Ada Byron", "Email": "ada@engine.example"}}`,
		"delete_record": `{"object_type": "Lead", "id": "00Q1", "name": "Ada Byron"}`,
	}
	fmt.Println("the server gets", tool, string(args))
	structured := json.RawMessage(answers[tool])
	return &upstream.CallResult{Raw: structured, Structured: structured}, nil
}

// newCRM returns a Runner for the tree of this repository.
func newCRM() *runner.Runner {
	tree, err := filepath.Abs("../servers")
	if err != nil {
		panic(err)
	}
	r, err := runner.New(&runner.Options{Tree: tree, Upstreams: crm{}, Bundler: script.NewBundler(&script.BundlerOptions{OneRun: true})})
	if err != nil {
		panic(err)
	}
	return r
}
