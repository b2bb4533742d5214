package journal_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/mcpgen/mcpgen/runner/journal"
	"github.com/mcpgen/mcpgen/runner/store"
	"github.com/mcpgen/mcpgen/runner/store/sqlite"
)

func ExampleOpen() {
	dir, err := os.MkdirTemp("", "journal-")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	ctx := context.Background()
	s, err := sqlite.Open(ctx, filepath.Join(dir, "state.db"), sqlite.Options{})
	if err != nil {
		panic(err)
	}
	defer s.Close()
	for range 2 { // as if the process had died after the call
		j, err := journal.Open(ctx, s, store.Key{Kind: "journal", Name: "run-1"}, []byte("a secret of the user"))
		if err != nil {
			panic(err)
		}
		c := j.Call("", "crm__send", []byte(`{"to":"eve"}`), false)
		if out, err := c.Outcome(ctx); err != nil || out != nil {
			fmt.Println("kept:", string(out.Value), err)
			continue
		}
		if err := c.Intend(ctx); err != nil {
			panic(err)
		}
		fmt.Println("sending")
		if err := c.Finish(ctx, &journal.Outcome{Value: []byte(`"sent"`), Sent: true}); err != nil {
			panic(err)
		}
	}
	// Output:
	// sending
	// kept: "sent" <nil>
}
