package customer_test

import (
	"context"
	"fmt"
	"log"
	"os"
	"path/filepath"

	"github.com/mcpgen/mcpgen/runner/store"
	"github.com/mcpgen/mcpgen/runner/store/sqlite"
	"github.com/mcpgen/mcpgen/runner/workspace/customer"
)

// A run for a customer takes a lease of its state, and is logged in a session.
func Example() {
	dir, err := os.MkdirTemp("", "customers")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	state, err := sqlite.Open(context.Background(), filepath.Join(dir, "state.db"), sqlite.Options{})
	if err != nil {
		log.Fatal(err)
	}
	defer state.Close()
	root, err := customer.OpenRoot(filepath.Join(dir, "customers"), &customer.RootOptions{
		Store: func(context.Context) (store.Store, error) { return state, nil },
	})
	if err != nil {
		log.Fatal(err)
	}
	defer root.Close()
	acme, err := root.Customer("acme")
	if err != nil {
		log.Fatal(err)
	}
	session, err := acme.NewSession(customer.Meta{ID: "monday", Title: "Sum up the orders"})
	if err != nil {
		log.Fatal(err)
	}

	lease, err := acme.Begin(context.Background(), 0)
	if err != nil {
		log.Fatal(err)
	}
	defer lease.Close()
	if err := os.WriteFile(filepath.Join(lease.Files(), "sum.txt"), []byte("42"), 0o600); err != nil {
		log.Fatal(err)
	}
	run := &customer.Run{Language: "python", Code: "…", Cause: "exit", Files: []string{"sum.txt"}}
	if err := session.Append(customer.Record{Kind: customer.KindRun, Run: run}); err != nil {
		log.Fatal(err)
	}

	_, err = session.Read(func(r *customer.Record) error {
		fmt.Println(r.Kind, r.Task)
		return nil
	})
	if err != nil {
		log.Fatal(err)
	}
	// Output:
	// session Sum up the orders
	// run
}
