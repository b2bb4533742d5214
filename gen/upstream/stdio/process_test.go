package stdio

import (
	"testing"
	"testing/synctest"
	"time"
)

// TestDrainIsBounded checks that a process which holds both pipes delays the end once, not twice.
func TestDrainIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := &process{outputDone: make(chan struct{}), tail: &stderrTail{ended: make(chan struct{})}}
		began := time.Now()
		p.drain()
		if took := time.Since(began); took != tailGrace {
			t.Errorf("drain() took %v, want %v", took, tailGrace)
		}
		began = time.Now()
		p.outputEnded()
		close(p.tail.ended)
		p.drain()
		if took := time.Since(began); took != 0 {
			t.Errorf("drain() of ended pipes took %v, want 0", took)
		}
	})
}
