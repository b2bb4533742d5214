package customer

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"slices"
	"strings"
	"time"
)

// Info describes a customer.
type Info struct {
	ID       string    `json:"customer"`
	Dir      string    `json:"dir"`
	LastUsed time.Time `json:"lastUsed"`
	Runs     int       `json:"runs"` // in progress
	Usage    Usage     `json:"usage"`
	Quota    int64     `json:"quotaBytes"`
	// SessionCount is the number of sessions. Sessions lists them, the last used first; it is empty in a summary.
	SessionCount int           `json:"sessionCount"`
	Sessions     []SessionInfo `json:"sessions,omitempty"`
}

// SessionInfo describes a session.
type SessionInfo struct {
	Customer    string           `json:"customer"`
	ID          string           `json:"session"`
	Title       string           `json:"title,omitempty"`
	Began       time.Time        `json:"began"`
	LastUsed    time.Time        `json:"lastUsed"`
	Bytes       int64            `json:"bytes"` // of log and checkpoints
	Checkpoints []CheckpointInfo `json:"checkpoints"`
	Stats       Stats            `json:"stats"`
}

// Info describes the session. It reads the log.
func (s *Session) Info() (*SessionInfo, error) {
	ctx := context.Background()
	st, err := s.customer.store(ctx)
	if err != nil {
		return nil, err
	}
	doc, _, err := s.document(ctx, st)
	if err != nil {
		return nil, err
	}
	out := &SessionInfo{Customer: s.customer.id, ID: s.id, LastUsed: doc.Used}
	if out.Checkpoints, err = s.Checkpoints(); err != nil {
		return nil, err
	}
	stats, err := s.Stats()
	if err != nil {
		return nil, err
	}
	out.Title, out.Began, out.Stats = stats.Title, stats.Began, stats.Stats
	out.Bytes, err = s.size(doc)
	return out, err
}

// size returns the space of the log and the checkpoints in bytes.
func (s *Session) size(doc *sessionDocument) (int64, error) {
	all, err := s.customer.openIn(sessionsDir)
	if err != nil {
		return 0, err
	}
	defer all.Close()
	files, _ := measure(all, s.id, logName+movedSuffix)
	return doc.Bytes + files, nil
}

// Info describes the customer and its sessions. It reads the logs of all sessions.
func (c *Customer) Info(ctx context.Context) (*Info, error) {
	out, sessions, err := c.summary(ctx)
	if err != nil {
		return nil, err
	}
	out.Sessions = []SessionInfo{}
	for _, s := range sessions {
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		one, err := s.Info()
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, err
		}
		out.Sessions = append(out.Sessions, *one)
	}
	slices.SortStableFunc(out.Sessions, func(a, b SessionInfo) int {
		return cmp.Or(b.LastUsed.Compare(a.LastUsed), strings.Compare(a.ID, b.ID))
	})
	return out, nil
}

// Summary describes the customer without its sessions. It reads no log.
func (c *Customer) Summary(ctx context.Context) (*Info, error) {
	out, _, err := c.summary(ctx)
	return out, err
}

func (c *Customer) summary(ctx context.Context) (*Info, []*Session, error) {
	unlock, err := c.lock(ctx)
	if err != nil {
		return nil, nil, err
	}
	runs, err := c.runs()
	unlock()
	if err != nil {
		return nil, nil, err
	}
	dir, err := c.open()
	if err != nil {
		return nil, nil, err
	}
	defer dir.Close()
	out := &Info{ID: c.id, Dir: c.Dir(), Runs: runs.count, Quota: c.Quota()}
	if out.LastUsed, err = c.lastUsed(dir); err != nil {
		return nil, nil, err
	}
	if out.Usage, err = c.Usage(ctx); err != nil {
		return nil, nil, err
	}
	sessions, err := c.Sessions()
	out.SessionCount = len(sessions)
	return out, sessions, err
}
