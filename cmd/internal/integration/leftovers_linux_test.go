package integration

import (
	"os"
	"testing"

	"github.com/mcpgen/mcpgen/gen/owner"
)

// TestOwnLabels: what a process labels as its own is found, and what another one with the same id has labelled is not.
func TestOwnLabels(t *testing.T) {
	me, err := owner.Self()
	if err != nil {
		t.Fatal(err)
	}
	self, ok := lookUp(os.Getpid())
	if !ok {
		t.Fatal("this process is not found")
	}
	earlier := self
	earlier.started = "1"
	for label, want := range map[string]bool{me.String(): true, "odd": true} {
		if got := ownedBy([]process{self}, label); got != want {
			t.Errorf("ownedBy(%q) = %t, want %t", label, got, want)
		}
	}
	if ownedBy([]process{earlier}, me.String()) {
		t.Error("the label of another process with the same id counts as owned")
	}
}
