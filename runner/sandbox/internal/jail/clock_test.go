//go:build linux && (amd64 || arm64)

package jail

import (
	"os"
	"testing"
	"time"
)

func TestClockKeepsWhatEnded(t *testing.T) {
	me := process{os.Getpid(), statFields(os.Getpid())[statStart]}
	ended, reused := process{-1, "1"}, process{os.Getpid(), "1"}
	var k clock
	for i, c := range []struct {
		seen map[process]time.Duration
		want time.Duration
	}{
		{map[process]time.Duration{ended: 3, me: 10, reused: 5}, 18},
		{map[process]time.Duration{ended: 4, me: 10}, 19}, // the number was given to another
		{map[process]time.Duration{me: 20}, 29},
		{map[process]time.Duration{}, 29}, // overlooked
		{map[process]time.Duration{me: 30}, 39},
	} {
		if got := k.add(c.seen); got != c.want {
			t.Errorf("%d: %d, want %d", i, got, c.want)
		}
	}
}

func TestMeasureTellsWhoUsedWhat(t *testing.T) {
	for busy := time.Now(); time.Since(busy) < 50*time.Millisecond; {
	}
	me := process{os.Getpid(), statFields(os.Getpid())[statStart]}
	if got := measure(os.Getpid(), true, 1000); got.own[me] == 0 || got.own[me] > got.cpu {
		t.Errorf("%v of %v", got.own, got.cpu)
	}
}
