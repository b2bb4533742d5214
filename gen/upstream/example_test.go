package upstream_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"

	"github.com/mcpgen/mcpgen/gen/config"
	"github.com/mcpgen/mcpgen/gen/upstream"
)

func ExamplePool() {
	pool := upstream.NewPool([]config.Server{{
		Key: "everything", Transport: config.TransportStdio, Command: "npx", Args: []string{"-y", "@modelcontextprotocol/server-everything"}, Dir: ".",
	}}, &upstream.Options{Lookup: os.LookupEnv})
	defer pool.Close()

	result, err := pool.Call(context.Background(), "everything", "echo", json.RawMessage(`{"message":"hello"}`), nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(string(result.Raw))
}
