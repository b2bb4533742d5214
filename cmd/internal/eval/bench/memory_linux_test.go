package main

import (
	"os/exec"
	"testing"
)

// TestMemoryOfNew checks that a new child counts, and older processes do not.
func TestMemoryOfNew(t *testing.T) {
	before := processes()
	child := exec.CommandContext(t.Context(), "cat")
	in, err := child.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	if mib, ok := memoryOfNew(before); !ok || mib <= 0 || mib > 100 {
		t.Errorf("memoryOfNew() = %v, %t, want that of one small process", mib, ok)
	}
	in.Close()
	if err := child.Wait(); err != nil {
		t.Fatal(err)
	}
	if mib, ok := memoryOfNew(processes()); ok {
		t.Errorf("memoryOfNew() = %v without a new process", mib)
	}
}
