package main

import (
	"os/exec"
	"testing"
)

// TestMemoryOfNew sees the memory of a child, and not that of what was there before.
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
		t.Errorf("%v MiB, %t", mib, ok)
	}
	in.Close()
	if err := child.Wait(); err != nil {
		t.Fatal(err)
	}
	if mib, ok := memoryOfNew(processes()); ok {
		t.Errorf("%v MiB of nothing", mib)
	}
}
