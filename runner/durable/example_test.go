package durable_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log"
	"os"
	"path/filepath"

	"github.com/mcpgen/mcpgen/runner/durable"
	"github.com/mcpgen/mcpgen/runner/store/sqlite"
)

// Work asks a person, then makes a call. It waits as long as it takes, also while no process runs.
func Example() {
	ctx := context.Background()
	folder, err := os.MkdirTemp("", "durable")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(folder)
	state := filepath.Join(folder, "state.db")
	store, err := sqlite.Open(ctx, state, sqlite.Options{})
	if err != nil {
		log.Fatal(err)
	}
	defer store.Close()

	engine, err := durable.Open(ctx, durable.Options{State: state, Store: store})
	if err != nil {
		log.Fatal(err)
	}
	defer engine.Close(ctx)
	engine.Register("refund", func(w *durable.Work, order json.RawMessage) (json.RawMessage, error) {
		approved, err := durable.Receive[bool](w, "approval", 0)
		if err != nil || !approved {
			return nil, err
		}
		id, err := durable.Call(w, "payments__refund", false, func(context.Context) (string, error) {
			return "refund of " + string(order), nil // a call of a tool
		})
		if err != nil {
			return nil, err // a *durable.UnknownError, if a crash interrupted the call
		}
		return json.Marshal(id)
	})
	if err := engine.Launch(ctx); err != nil {
		log.Fatal(err)
	}

	id, err := engine.Start(ctx, "refund", json.RawMessage("17"), durable.Start{Customer: "acme"})
	if err != nil {
		log.Fatal(err)
	}
	if err := engine.Send(ctx, id, "approval", true); err != nil { // from any process
		log.Fatal(err)
	}
	status, err := engine.Wait(ctx, id)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(status.State, string(status.Result))
	// Output: done "refund of 17"
}

// A queue admits work by customers, and refuses it when too much waits.
func ExampleEngine_AddQueue() {
	ctx := context.Background()
	folder, err := os.MkdirTemp("", "durable")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(folder)
	state := filepath.Join(folder, "state.db")
	store, err := sqlite.Open(ctx, state, sqlite.Options{})
	if err != nil {
		log.Fatal(err)
	}
	defer store.Close()

	engine, err := durable.Open(ctx, durable.Options{State: state, Store: store})
	if err != nil {
		log.Fatal(err)
	}
	defer engine.Close(ctx)
	if err := engine.AddQueue(ctx, durable.Queue{Name: "runs", Concurrency: 4, PerCustomer: 2, Bound: 2}); err != nil {
		log.Fatal(err)
	}
	for range 3 {
		id, err := engine.Start(ctx, "run", nil, durable.Start{Queue: "runs", Customer: "acme"})
		if busy, ok := errors.AsType[*durable.BusyError](err); ok {
			fmt.Println(busy)
			continue
		} else if err != nil {
			log.Fatal(err)
		}
		status, err := engine.Get(ctx, id)
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(status.State, status.Position)
	}
	// Output:
	// queued 1
	// queued 2
	// queue runs is full: 2 wait; try again in 1s
}
