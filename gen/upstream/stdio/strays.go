package stdio

import (
	"context"
	"fmt"
	"syscall"
	"time"

	"github.com/mcpgen/mcpgen/gen/owner"
)

// strayLimit bounds the search for strays. It reads from every process of the machine, and one may be stuck.
const strayLimit = 3 * time.Second

// strayGrace is what processes that outlive the server get between SIGTERM and SIGKILL.
const strayGrace = 300 * time.Millisecond

// endStrays ends the processes with a mark, whatever their process group. It returns when they are gone or strayLimit
// is over.
func endStrays(m mark) {
	if m == (mark{}) {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), strayLimit)
	defer cancel()
	_ = endMarked(ctx, func(found mark, _ int) bool { return found == m })
}

// Sweep ends what the servers of dead programs have left running, on Linux. It never touches the processes of a living
// program, nor those of other users unless root asks. It takes some milliseconds if nothing is left.
func Sweep(ctx context.Context) error {
	if !findsMarked {
		return nil
	}
	me, err := owner.Self()
	if err != nil {
		return err
	}
	mine := ownMark().owner // this program may be one that a dead program's server started
	judged := make(map[string]bool)
	dead := func(found mark, uid int) bool {
		o, ok := owner.Parse(found.owner)
		// A user without power over a process must not borrow ours. Servers of root may have become other users.
		if !ok || found.owner == mine || o.UID != uid && o.UID != 0 {
			return false
		}
		gone, known := judged[found.owner]
		if !known {
			gone = o.Judge(me) == owner.Dead
			judged[found.owner] = gone
		}
		return gone
	}
	if err := endMarked(ctx, dead); err != nil {
		return fmt.Errorf("end processes that ended programs have left: %w", err)
	}
	return nil
}

// endMarked ends the processes that belongs selects: SIGTERM, and SIGKILL after strayGrace. They may start others
// meanwhile, so it looks until there is none.
func endMarked(ctx context.Context, belongs func(m mark, uid int) bool) error {
	result := make(chan error, 1) // reading from a process that is stuck may never end
	go func() {
		began := time.Now()
		for round := 0; ; round++ {
			sig := syscall.SIGTERM
			switch {
			case time.Since(began) > strayGrace:
				sig = syscall.SIGKILL
			case round > 0:
				sig = 0 // they were asked, and have time to end
			}
			left := signalMarked(belongs, sig)
			if left == 0 {
				result <- nil
				return
			}
			select {
			case <-ctx.Done():
				result <- fmt.Errorf("%d processes are left: %w", left, ctx.Err())
				return
			case <-time.After(10 * time.Millisecond):
			}
		}
	}()
	select {
	case err := <-result:
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}
