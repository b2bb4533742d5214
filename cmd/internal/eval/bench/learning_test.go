package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// TestLearning derives types from the replies of the demo tools as the benchmark does: at least nine of ten tools have one after 20 calls.
func TestLearning(t *testing.T) {
	t.Chdir("../../../..")
	demo := filepath.Join(t.TempDir(), "mcpdemo")
	if out, err := exec.Command("go", "build", "-o", demo, "./cmd/mcpdemo").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	t.Setenv("MCPGEN_DEMO", demo)
	root, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	b := &bench{root: root, temp: t.TempDir()}
	got, err := b.learned(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%d of %d tools are typed, with %d of %d members", got.typed, got.tools, got.kept, got.members)
	if got.typed*10 < got.tools*9 || got.kept*100 < got.members*85 {
		t.Errorf("%d of %d tools and %d of %d members, want 90 %% and 85 %%; without a type are %q", got.typed, got.tools, got.kept, got.members, got.untyped)
	}
}
