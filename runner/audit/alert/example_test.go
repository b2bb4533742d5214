package alert_test

import (
	"fmt"

	"github.com/mcpgen/mcpgen/runner/audit"
	"github.com/mcpgen/mcpgen/runner/audit/alert"
)

func Example() {
	alerts, err := alert.New(alert.Options{
		Kinds: []string{"failure"}, Args: []string{"sh", "-c", "exit 1"}, // it would send a mail
		Warn: func(err error) { fmt.Println(err) },
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	alerts.Observe(audit.Entry{Kind: audit.KindRunEnd, Run: "r1", Body: audit.RunEnd{Error: "no answer in time"}})
	alerts.Close()
	// Output: the program of alerts failed for one of kind failure: exit status 1
}
