package project

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mcpgen/mcpgen/cmd/internal/cli"
	"github.com/mcpgen/mcpgen/cmd/mcprun/internal/resources"
	"github.com/mcpgen/mcpgen/gen/config"
	"github.com/mcpgen/mcpgen/gen/learn"
	"github.com/mcpgen/mcpgen/runner/policy"
	"github.com/mcpgen/mcpgen/runner/store"
	"github.com/mcpgen/mcpgen/runner/store/sqlite"
)

// TestOldFiles opens a project for which an earlier version has kept numbers of calls and shapes in files of their own.
func TestOldFiles(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "policy.yaml")
	if err := os.WriteFile(path, []byte("rules: [{name: two a day, deny: \"*\", over: {day: 2}}]\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	rules, err := config.ReadPolicy(path)
	if err != nil {
		t.Fatal(err)
	}
	app := &cli.App{Dir: dir, LookupEnv: func(name string) (string, bool) { return filepath.Join(dir, "state"), name == "XDG_STATE_HOME" }}
	p, said := &Project{Settings: config.Settings{Policy: rules.Policy, Learn: config.LearnTraffic}}, &bytes.Buffer{}
	if err := p.newPolicy(app, resources.Cold{}, dir, said); err != nil {
		t.Fatal(err)
	}
	p.keepShapes(app, dir, said)
	shapes, err := app.ProjectTraffic(dir)
	if err != nil {
		t.Fatal(err)
	}
	seen := learn.NewTraffic()
	if err := seen.Observe(&learn.Observation{Tool: learn.Tool{Server: "s", Name: "a"}, Digest: "d", Reply: learn.Reply{Value: json.RawMessage(`"x"`)}}); err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(seen)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(filepath.Dir(shapes), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(shapes, text, 0o600); err != nil {
		t.Fatal(err)
	}
	decide := func() policy.Decision {
		return p.Policy.Decide(t.Context(), &policy.Request{Server: "s", Dir: "s", Name: "a", Tool: "s__a", Args: json.RawMessage(`{}`), Run: &policy.Run{}})
	}
	if d := decide(); d.Effect != policy.Deny || !strings.Contains(d.Reason, "no state") {
		t.Errorf("without a state: %+v, want a denial that says so", d)
	}
	at, err := sqlite.Open(t.Context(), filepath.Join(dir, "state.db"), sqlite.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer at.Close()
	p.State = func(context.Context) (store.Store, error) { return at, nil }
	if d := decide(); d.Effect != policy.Allow {
		t.Fatal(d)
	}
	docs, err := at.ListDocuments(t.Context(), "", "count")
	if err != nil || len(docs) != 1 {
		t.Fatal(docs, err)
	}
	counts, err := app.ProjectState("counts", dir)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(counts, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(counts, docs[0].Name+".json"), bytes.Replace(docs[0].Value, []byte(`"calls":1`), []byte(`"calls":2`), 1), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := p.newPolicy(app, resources.Cold{}, dir, said); err != nil { // as the next command
		t.Fatal(err)
	}
	if d := decide(); d.Effect != policy.Deny || d.Rule != "two a day" {
		t.Errorf("after two calls in an old file: %+v, want a denial", d)
	}
	kept, err := p.Shapes.Shapes(t.Context())
	if err != nil || !kept.Has(learn.Tool{Server: "s", Name: "a"}) {
		t.Errorf("the shapes of the old file are not kept: %v", err)
	}
	want := "mcprun: the numbers of calls that the policy counts were moved from " + counts + " to " + at.Place() + "\n" +
		"mcprun: the shapes of results were moved from " + shapes + " to " + at.Place() + "\n"
	if said.String() != want {
		t.Errorf("said %q, want %q", said, want)
	}
	if err := p.Close(); err != nil {
		t.Error(err)
	}
}
