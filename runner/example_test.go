package runner_test

import (
	"fmt"

	"github.com/mcpgen/mcpgen/runner"
	"github.com/mcpgen/mcpgen/runner/sandbox"
)

// A sandbox with a kernel of its own is strong enough for any code; a confined process is, for code that a person has read.
func ExampleGoodFor() {
	fmt.Println(runner.GoodFor(sandbox.OwnKernel), runner.GoodFor(sandbox.SharedKernel))
	// Output: critical low
}
