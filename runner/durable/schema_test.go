package durable

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/mcpgen/mcpgen/runner/store/storetest/pgtest"
)

// TestSchemas has two projects in two schemas of one database: neither does or finds the other's work.
func TestSchemas(t *testing.T) {
	address := pgtest.Database(t)
	conn, err := pgx.Connect(t.Context(), address)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(t.Context())
	done := func(name string) Func {
		return func(*Work, json.RawMessage) (json.RawMessage, error) { return json.Marshal(name) }
	}
	var engines []*Engine
	var ids []string
	for _, name := range []string{"crm", "shop"} {
		if _, err := conn.Exec(t.Context(), "CREATE SCHEMA "+name); err != nil {
			t.Fatal(err)
		}
		separator := "?"
		if strings.Contains(address, "?") {
			separator = "&"
		}
		e := open(t, stateAt(t, address+separator+"search_path="+name), map[string]Func{"job": done(name)})
		if err := e.AddQueue(t.Context(), Queue{Name: "jobs", Concurrency: 1}); err != nil {
			t.Fatal(err)
		}
		engines = append(engines, e)
	}
	for i, e := range engines {
		id, err := e.Start(t.Context(), "job", nil, Start{Queue: "jobs"})
		if err != nil {
			t.Fatal(err)
		}
		want := []string{`"crm"`, `"shop"`}[i]
		if s, err := e.Wait(t.Context(), id); err != nil || string(s.Result) != want {
			t.Errorf("Wait() = %+v, %v, want the result %s", s, err, want)
		}
		ids = append(ids, id)
	}
	if s, err := engines[1].Get(t.Context(), ids[0]); err == nil {
		t.Errorf("Get() of the other project's work = %+v, want an error", s)
	}
}
