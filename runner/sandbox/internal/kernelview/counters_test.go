package kernelview

import (
	"testing"
	"time"
)

func TestCountersDoNotFall(t *testing.T) {
	before := Counters{CPU: time.Second, Memory: 5, OutOfMemory: 1, OutOfTasks: 2, Present: 9}
	want := Counters{CPU: 2 * time.Second, Memory: 5, OutOfMemory: 1, OutOfTasks: 2, Present: 3}
	if got := before.merge(Counters{CPU: 2 * time.Second, Memory: 4, Present: 3}); got != want {
		t.Errorf("merge() = %+v, want %+v", got, want)
	}
}
