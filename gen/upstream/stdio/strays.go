package stdio

import (
	"context"
	"fmt"
	"syscall"
	"time"

	"github.com/mcpgen/mcpgen/gen/owner"
)

// strayLimit bounds the search for strays. The search reads from every process of the machine, and one may be stuck.
const strayLimit = 3 * time.Second

// strayGrace is the time between SIGTERM and SIGKILL for processes that outlive the server.
const strayGrace = 300 * time.Millisecond

// endStrays ends the processes with a mark, whatever their process group. It returns when they are gone or strayLimit
// has passed.
func endStrays(m mark) {
	if m == (mark{}) {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), strayLimit)
	defer cancel()
	_ = endMarked(ctx, func(found mark, _ int) bool { return found == m })
}

// Sweep ends processes that the servers of dead programs left running. It works on Linux only. It never touches the
// processes of a living program, and other users' processes only if it runs as root. It takes some milliseconds if
// nothing is left.
func Sweep(ctx context.Context) error {
	if !findsMarked {
		return nil
	}
	me, err := owner.Self()
	if err != nil {
		return err
	}
	mine := ownMark().owner // a dead program's server may have started this program
	judged := make(map[string]bool)
	dead := func(found mark, uid int) bool {
		o, ok := owner.Parse(found.owner)
		// A user must not make us end a process that they cannot signal themselves. Servers that root started may run
		// as other users.
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

// endMarked ends the processes that belongs selects: SIGTERM, and SIGKILL after strayGrace. They may start others in
// the meantime, so it repeats until none is left.
func endMarked(ctx context.Context, belongs func(m mark, uid int) bool) error {
	result := make(chan error, 1) // reading from a stuck process may never end
	go func() {
		began := time.Now()
		for round := 0; ; round++ {
			sig := syscall.SIGTERM
			switch {
			case time.Since(began) > strayGrace:
				sig = syscall.SIGKILL
			case round > 0:
				sig = 0 // they were asked to end, and have time to do so
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
