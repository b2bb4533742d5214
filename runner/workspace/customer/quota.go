package customer

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"

	"github.com/mcpgen/mcpgen/runner/internal/safeopen"
	"github.com/mcpgen/mcpgen/runner/store"
	"github.com/mcpgen/mcpgen/runner/workspace"
)

// hostShare is the divisor for the part of a quota that scripts cannot fill: logs, skills and the vault grow during a run.
const hostShare = 16

// QuotaError reports that a customer has too little space left for something. It matches [workspace.ErrNoRoom].
type QuotaError struct {
	Customer    string
	Quota, Free int64 // bytes
	For         string
}

func (e *QuotaError) Error() string {
	return fmt.Sprintf("customer %q has %s left of its quota of %s, too little for %s", e.Customer, sizeText(e.Free), sizeText(e.Quota), e.For)
}

// Is reports whether target is [workspace.ErrNoRoom].
func (e *QuotaError) Is(target error) bool { return target == workspace.ErrNoRoom }

// Hint returns what a person can do about the error.
func (e *QuotaError) Hint() string {
	return "remove sessions and checkpoints that nobody needs (mcprun workspace gc), or raise --quota"
}

// sizeText formats a number of bytes for people.
func sizeText(n int64) string {
	switch {
	case n >= 1<<30:
		return fmt.Sprintf("%.1f GiB", float64(n)/(1<<30))
	case n >= 1<<20:
		return fmt.Sprintf("%.1f MiB", float64(n)/(1<<20))
	case n >= 1<<10:
		return fmt.Sprintf("%.1f KiB", float64(n)/(1<<10))
	}
	return fmt.Sprintf("%d bytes", n)
}

// maxState returns how large the state may become, in bytes.
func (c *Customer) maxState(ctx context.Context, dir *os.Root) (int64, error) {
	u, err := c.hostUsage(ctx, dir)
	return c.Quota() - c.Quota()/hostShare - u.Total(), err
}

// Room returns how many bytes the host may add to sessions, skills and vault: the part of the quota that is neither used nor
// reserved for runs in progress.
func (c *Customer) Room(ctx context.Context) (int64, error) {
	unlock, err := c.lock(ctx)
	if err != nil {
		return 0, err
	}
	defer unlock()
	return c.room(ctx)
}

// room is Room for a caller that holds the customer's lock.
func (c *Customer) room(ctx context.Context) (int64, error) {
	runs, err := c.runs()
	if err != nil {
		return 0, err
	}
	u, err := c.Usage(ctx)
	if err != nil {
		return 0, err
	}
	return max(0, c.Quota()-(u.Total()-u.State)-max(u.State, runs.disk)), nil
}

// Usage is the space that a customer's folders take on the disk, and the logs of its sessions in the store, in bytes.
type Usage struct {
	State    int64 `json:"stateBytes"`
	Sessions int64 `json:"sessionsBytes"` // logs and checkpoints
	Skills   int64 `json:"skillsBytes"`
	Vault    int64 `json:"vaultBytes"`
	Files    int   `json:"files"` // files and folders in the state
}

// Total returns all of it together, in bytes.
func (u Usage) Total() int64 { return u.State + u.Sessions + u.Skills + u.Vault }

// Usage measures the customer's folders and logs. It takes some microseconds a file and a session, and ignores files that it cannot read.
func (c *Customer) Usage(ctx context.Context) (Usage, error) {
	dir, err := c.open()
	if err != nil {
		return Usage{}, err
	}
	defer dir.Close()
	u, err := c.hostUsage(ctx, dir)
	u.State, u.Files = measure(dir, stateDir)
	return u, err
}

// hostUsage measures what only the host writes. It has few files; the state may have very many.
func (c *Customer) hostUsage(ctx context.Context, dir *os.Root) (Usage, error) {
	var u Usage
	u.Skills, _ = measure(dir, skillsDir)
	u.Vault, _ = measure(dir, vaultDir, "*"+movedSuffix)
	if c.root.opt.Store == nil {
		u.Sessions, _ = measure(dir, sessionsDir)
		return u, nil
	}
	st, err := c.store(ctx)
	if err != nil {
		return u, err
	}
	_, u.Sessions, err = c.sessionDocuments(ctx, st)
	files, _ := measure(dir, sessionsDir, "*/"+logName+movedSuffix) // which the store has, too
	u.Sessions += files
	vault, failed := st.LogSize(ctx, store.Key{Customer: c.id, Kind: kindVault})
	u.Vault += vault
	return u, errors.Join(err, failed)
}

// maxMeasured limits how many files and folders are counted to measure a folder.
const maxMeasured = 1_000_000

// measure returns the disk space of what is below a folder, and the number of files and folders. A hole in a file takes no
// space, as in the sandboxes' own measurement. What is deeper than maxLevels is not measured: opening it takes long, and the
// sandboxes limit the state themselves. Paths below the folder that match a pattern of [path.Match] do not count.
func measure(parent *os.Root, name string, except ...string) (bytes int64, files int) {
	dir, err := safeopen.Dir(parent, name)
	if err != nil {
		return 0, 0
	}
	defer dir.Close()
	_ = fs.WalkDir(safeopen.FS(dir), ".", func(at string, entry fs.DirEntry, err error) error {
		if err != nil || at == "." || slices.ContainsFunc(except, func(p string) bool { ok, _ := path.Match(p, at); return ok }) {
			return nil
		}
		if info, err := entry.Info(); err == nil {
			bytes += onDisk(info)
		}
		if files++; files >= maxMeasured {
			return fs.SkipAll
		}
		if entry.IsDir() && strings.Count(at, "/") >= maxLevels {
			return fs.SkipDir
		}
		return nil
	})
	return bytes, files
}
