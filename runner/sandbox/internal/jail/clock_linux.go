//go:build linux && (amd64 || arm64)

package jail

import (
	"strconv"
	"time"
)

// clock adds up what processes have used themselves, of those that ended what was last seen. It is for where no cgroup
// counts: the kernel adds to a parent's time only the children that it waits for, and it need not wait for any.
type clock struct {
	live  map[process]time.Duration
	ended time.Duration
}

// process names one for good: its number may be given to another later.
type process struct {
	pid   int
	start string
}

// add takes what was seen now, and returns the sum so far.
func (k *clock) add(seen map[process]time.Duration) time.Duration {
	for p, used := range k.live {
		if _, ok := seen[p]; ok {
			continue
		}
		if f := statFields(p.pid); len(f) > statStart && f[statStart] == p.start {
			seen[p] = used // it was only overlooked
		} else {
			k.ended += used
		}
	}
	k.live = seen
	sum := k.ended
	for _, used := range seen {
		sum += used
	}
	return sum
}

// Of statFields: when the process was started, and what it, and then the children it has waited for, used in user and
// in system mode.
const (
	statUsed, statChildren, statEnd = 11, 13, 15
	statStart                       = 19
)

// ticks adds up fields that count processor time.
func ticks(fields []string) time.Duration {
	var sum uint64
	for _, f := range fields {
		n, _ := strconv.ParseUint(f, 10, 64)
		sum += n
	}
	const perSecond = 100 // USER_HZ, the same on every Linux
	return time.Duration(sum) * time.Second / perSecond
}
