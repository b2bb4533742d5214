package customer

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"

	"github.com/gofrs/flock"

	"github.com/mcpgen/mcpgen/runner/internal/safeopen"
	"github.com/mcpgen/mcpgen/runner/workspace"
)

// minState is the size in bytes that the state must at least be allowed for a run to begin.
const minState = 1 << 20

// BusyError reports that an operation must wait until a customer has no run in progress.
type BusyError struct {
	Customer string
	Runs     int
	What     string // the operation
}

func (e *BusyError) Error() string {
	runs := "runs are"
	if e.Runs == 1 {
		runs = "run is"
	}
	return fmt.Sprintf("%s: %d %s in progress for customer %q", e.What, e.Runs, runs, e.Customer)
}

// Hint returns what a person can do about the error.
func (e *BusyError) Hint() string { return "try again when they have ended" }

// Lease reserves a customer's state for one run. While there is a lease, nothing of the customer is removed or replaced.
type Lease struct {
	// Disk is how large the state may become, in bytes, including its present content. It is the run's Limits.Disk. Runs in progress at the
	// same time have the same limit for the same folder, so together they stay below the quota.
	Disk int64
	// Moved lists what was renamed in the state because the run has folders of those names.
	Moved []Moved

	customer *Customer
	file     *flock.Flock
	name     string
	once     sync.Once
	err      error
}

// Begin reserves the customer's state for a run whose own limit is want bytes; zero means only the quota limits it. The error
// is a *[QuotaError] if too little of the quota is left. The caller must call [Lease.Close] when the run has ended; the
// system ends the lease of a process that dies.
func (c *Customer) Begin(ctx context.Context, want int64) (*Lease, error) {
	unlock, err := c.lock(ctx)
	if err != nil {
		return nil, err
	}
	defer unlock()
	dir, err := c.open()
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	if err := c.recover(dir); err != nil {
		return nil, err
	}
	if _, err := c.runs(); err != nil { // it removes the files of runs that died
		return nil, err
	}
	disk, err := c.maxState(ctx, dir)
	if err != nil {
		return nil, err
	}
	if disk < minState {
		return nil, &QuotaError{Customer: c.id, Quota: c.Quota(), Free: max(0, disk), For: "a run"}
	}
	if want > 0 {
		disk = min(disk, want)
	}
	moved, err := c.moveReserved(dir)
	if err != nil {
		return nil, err
	}
	l := &Lease{Disk: disk, Moved: moved, customer: c, name: rand.Text()[:12] + "-" + strconv.FormatInt(disk, 10)}
	l.file = flock.New(filepath.Join(c.Dir(), runsDir, l.name), flock.SetPermissions(0o600), flock.SetFlag(safeopen.LockFlag))
	if ok, err := l.file.TryLock(); err != nil || !ok {
		return nil, errors.Join(fmt.Errorf("record the run of customer %q: %w", c.id, err), l.file.Close())
	}
	if err := c.touch(dir); err != nil {
		return nil, errors.Join(err, l.Close())
	}
	return l, nil
}

// Moved is a file that a script created where runs have a folder of the host.
type Moved struct {
	Name string // its former name below the state
	To   string // its name now
	What string // such as "a symbolic link"
}

func (m Moved) String() string {
	return fmt.Sprintf("%s in the customer's state was %s and has been renamed to %s: runs have a folder of that name", m.Name, m.What, m.To)
}

// reserved returns the names of the folders that sandboxes and the host create in a workspace.
func reserved() []string { return []string{"servers", "skills", workspace.StoreDir} }

// moveReserved renames whatever has a reserved name and is not a folder, because no run could begin otherwise. The caller
// holds the customer's lock.
func (c *Customer) moveReserved(dir *os.Root) ([]Moved, error) {
	state, err := safeopen.Dir(dir, stateDir)
	if err != nil {
		return nil, fmt.Errorf("open the state of customer %q: %w", c.id, err)
	}
	defer state.Close()
	var all []Moved
	for _, name := range reserved() {
		info, err := state.Lstat(name)
		if errors.Is(err, fs.ErrNotExist) || err == nil && info.IsDir() {
			continue
		}
		if err != nil {
			return all, fmt.Errorf("examine %s in the state of customer %q: %w", name, c.id, err)
		}
		to := workspace.MovedName(name)
		if err := state.Rename(name, to); err != nil {
			return all, fmt.Errorf("rename %s in the state of customer %q: %w", name, c.id, err)
		}
		all = append(all, Moved{Name: name, To: to, What: safeopen.Kind(info.Mode())})
	}
	return all, nil
}

// Files returns the absolute path of the state, which is the run's workspace.
func (l *Lease) Files() string { return l.customer.Files() }

// Close ends the lease. It may be called again.
func (l *Lease) Close() error {
	l.once.Do(func() {
		dir, err := l.customer.open()
		if err != nil {
			l.err = errors.Join(err, l.file.Close())
			return
		}
		defer dir.Close()
		l.err = errors.Join(l.customer.touch(dir), l.file.Close())
		if err := dir.Remove(runsDir + "/" + l.name); err != nil && !errors.Is(err, fs.ErrNotExist) {
			l.err = errors.Join(l.err, fmt.Errorf("end the run of customer %q: %w", l.customer.id, err))
		}
	})
	return l.err
}

// runsInProgress describes a customer's runs.
type runsInProgress struct {
	count int
	disk  int64 // the largest Lease.Disk
}

// runs returns the runs in progress. It removes the files of runs whose processes died. The caller holds the customer's lock.
func (c *Customer) runs() (runsInProgress, error) {
	var found runsInProgress
	dir, err := c.openIn(runsDir)
	if err != nil {
		return found, err
	}
	defer dir.Close()
	entries, err := fs.ReadDir(dir.FS(), ".")
	if err != nil {
		return found, fmt.Errorf("list the runs of customer %q: %w", c.id, err)
	}
	for _, e := range entries {
		_, text, _ := strings.Cut(e.Name(), "-")
		disk, err := strconv.ParseInt(text, 10, 64)
		if err != nil || !e.Type().IsRegular() {
			continue
		}
		l := flock.New(filepath.Join(c.Dir(), runsDir, e.Name()), flock.SetFlag(safeopen.LockFlag&^os.O_CREATE))
		dead, err := l.TryLock()
		_ = l.Close()
		switch {
		case errors.Is(err, fs.ErrNotExist): // the run has just ended
		case err == nil && dead:
			_ = dir.Remove(e.Name()) // another process may have removed it
		default:
			found.count++
			found.disk = max(found.disk, disk)
		}
	}
	return found, nil
}

// checkIdle returns a *BusyError if a run is in progress. The caller holds the customer's lock.
func (c *Customer) checkIdle(operation string) error {
	found, err := c.runs()
	if err != nil {
		return err
	}
	if found.count > 0 {
		return &BusyError{Customer: c.id, Runs: found.count, What: operation}
	}
	return nil
}
