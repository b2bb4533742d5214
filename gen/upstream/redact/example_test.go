package redact_test

import (
	"fmt"

	"github.com/mcpgen/mcpgen/gen/config"
	"github.com/mcpgen/mcpgen/gen/upstream/redact"
)

func ExampleRedactor_Conceal() {
	srv := config.Server{Key: "tickets", Transport: config.TransportStdio, Command: "tickets", Env: map[string]string{"KEY": "${TICKETS_KEY}"}}
	lookup := func(name string) (string, bool) { return "s3cret-value", name == "TICKETS_KEY" }
	_, secret, err := redact.Expand(srv, lookup)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(secret.Conceal("the key s3cret-value has expired"))
	// Output: the key [TICKETS_KEY] has expired
}
