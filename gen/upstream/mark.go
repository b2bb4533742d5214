package upstream

import (
	"bytes"
	"context"
	"crypto/rand"
	"fmt"
	"syscall"
	"time"

	"github.com/mcpgen/mcpgen/gen/owner"
)

// Every started server has two variables in its environment, and so has whatever it starts: who it belongs to, which
// is this process, and which of its servers it is. What has left the server's process group, as a program does that
// makes itself a daemon, is found by them.
//
// They are no wall: a program that changes its environment is not found. A server's env block may set OwnerVariable to
// the empty text, for a server that is to leave something running.
const (
	// OwnerVariable holds an [owner.Owner].
	OwnerVariable  = "MCPGEN_OWNER"
	serverVariable = "MCPGEN_SERVER"
)

// strayLimit bounds the search for strays: it reads of every process of the machine, and one may be stuck.
const strayLimit = 3 * time.Second

// mark is what a process says of whom it belongs to.
type mark struct{ owner, server string }

// newMark names a server of this process; it is empty where strays cannot be found by it.
func newMark() mark {
	if !findsMarked {
		return mark{}
	}
	me, err := owner.Self()
	if err != nil {
		return mark{}
	}
	return mark{owner: me.String(), server: rand.Text()}
}

// markIn reads the mark from an environment as the kernel has it, with a zero byte behind each variable.
func markIn(environ []byte) (m mark) {
	if !bytes.Contains(environ, []byte(OwnerVariable+"=")) {
		return mark{}
	}
	for entry := range bytes.SplitSeq(environ, []byte{0}) {
		if value, ok := bytes.CutPrefix(entry, []byte(OwnerVariable+"=")); ok && m.owner == "" {
			m.owner = string(value)
		}
		if value, ok := bytes.CutPrefix(entry, []byte(serverVariable+"=")); ok && m.server == "" {
			m.server = string(value)
		}
	}
	return m
}

// endStrays ends what a server has started and what outlived it, in whatever group it is: SIGTERM, SIGKILL, with time
// between them. It returns when all of it is gone or strayLimit is over.
func endStrays(m mark) {
	if m == (mark{}) {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), strayLimit)
	defer cancel()
	_ = endMarked(ctx, func(found mark, _ int) bool { return found == m })
}

// Sweep ends what servers of programs that died have left running, on Linux. It never touches what belongs to a living
// program, nor processes of other users unless root asks. It takes some milliseconds where nothing is left, reads of
// every process of the machine, and may be called beside other work.
func Sweep(ctx context.Context) error {
	if !findsMarked {
		return nil
	}
	me, err := owner.Self()
	if err != nil {
		return err
	}
	mine := ownMark().owner // we may be what a dead program's server started
	judged := make(map[string]bool)
	dead := func(found mark, uid int) bool {
		o, ok := owner.Parse(found.owner)
		// Who has no power over a process must not make us use ours on it. Servers of root may have become others.
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
		return fmt.Errorf("end what servers of dead programs have left: %w", err)
	}
	return nil
}

// endMarked ends the processes that belong: SIGTERM, and what is there after strayGrace gets SIGKILL. They may start
// others meanwhile, so it looks until there is none.
func endMarked(ctx context.Context, belongs func(m mark, uid int) bool) error {
	result := make(chan error, 1) // reading of a process that is stuck may never end
	go func() {
		began := time.Now()
		for round := 0; ; round++ {
			sig := syscall.SIGTERM
			switch {
			case time.Since(began) > strayGrace:
				sig = syscall.SIGKILL
			case round > 0:
				sig = 0 // they have been asked, and have time to go
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
