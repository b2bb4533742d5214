package call_test

import (
	"fmt"

	"github.com/mcpgen/mcpgen/runner/call"
)

func ExampleError() {
	err := &call.Error{Kind: call.KindArgument, Tool: "crm__get", Message: "id is missing"}
	fmt.Println(err)
	// Output: crm__get: id is missing
}
