package customer

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/mcpgen/mcpgen/runner/internal/safeopen"
	"github.com/mcpgen/mcpgen/runner/store"
	"github.com/mcpgen/mcpgen/runner/workspace"
)

const (
	checkpointFiles = "files"
	// tempPrefix begins the names of folders that are not complete yet. No id begins with a dot.
	tempPrefix = ".new-"
)

// CheckpointInfo describes a checkpoint, which is a copy of the state.
type CheckpointInfo struct {
	Name    string    `json:"name"`
	Time    time.Time `json:"time"`
	Bytes   int64     `json:"bytes"`
	Files   int       `json:"files"`             // regular files
	Skipped int       `json:"skipped,omitempty"` // links, devices, files that could not be read, and the like
	// Example names one of the skipped files, and says why.
	Example string `json:"example,omitempty"`
}

// Checkpoint copies the customer's state under a name; an empty name is generated from the time. The copy is complete or does
// not exist. Files that a run changes in the meantime are copied as they are found. The error is a *[QuotaError] if there is
// no room for the copy, and matches fs.ErrExist if the session has a checkpoint of that name.
func (s *Session) Checkpoint(ctx context.Context, name string) (*CheckpointInfo, error) {
	now := s.customer.root.opt.Now()
	if name == "" {
		name = now.UTC().Format("20060102-150405.000")
	}
	if err := CheckID("checkpoint", name); err != nil {
		return nil, err
	}
	unlock, err := s.customer.lock(ctx)
	if err != nil {
		return nil, err
	}
	defer unlock()
	list, err := s.Checkpoints()
	if err != nil {
		return nil, err
	}
	if slices.ContainsFunc(list, func(c CheckpointInfo) bool { return strings.EqualFold(c.Name, name) }) {
		return nil, fmt.Errorf("make checkpoint %q of session %q: there is one of that name: %w", name, s.id, fs.ErrExist)
	}
	info, err := s.copyState(ctx, name, now)
	if err != nil {
		return nil, fmt.Errorf("make checkpoint %q of session %q: %w", name, s.id, err)
	}
	return info, s.Append(Record{Kind: KindCheckpoint, Time: now, Checkpoint: info})
}

// copyState makes the copy. The caller holds the customer's lock.
func (s *Session) copyState(ctx context.Context, name string, now time.Time) (info *CheckpointInfo, err error) {
	room, err := s.customer.room(ctx)
	if err != nil {
		return nil, err
	}
	state, err := s.customer.openIn(stateDir)
	if err != nil {
		return nil, err
	}
	defer state.Close()
	sessions, err := s.customer.openIn(sessionsDir)
	if err != nil {
		return nil, err
	}
	defer sessions.Close()
	own, err := safeopen.MakeDir(sessions, s.id, 0o700)
	if err != nil {
		return nil, err
	}
	defer own.Close()
	all, err := safeopen.MakeDir(own, checkpointsDir, 0o755)
	if err != nil {
		return nil, err
	}
	defer all.Close()
	temp := tempPrefix + name
	if err := removeAll(all, temp); err != nil { // of a process that died
		return nil, err
	}
	if _, err := all.Lstat(name); err == nil {
		return nil, fmt.Errorf("the folder %s is not in the list of checkpoints: name another checkpoint, or remove it: %w", filepath.Join(all.Name(), name), fs.ErrExist)
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, removeAll(all, temp))
		}
	}()
	dir, err := safeopen.MakeDir(all, temp, 0o700)
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	files, err := safeopen.MakeDir(dir, checkpointFiles, 0o755)
	if err != nil {
		return nil, err
	}
	defer files.Close()
	c := copier{ctx: ctx, to: files, room: room}
	if err := c.copy(state, ".", 0); err != nil {
		if errors.Is(err, workspace.ErrNoRoom) {
			err = &QuotaError{Customer: s.customer.id, Quota: s.customer.Quota(), Free: room, For: "a checkpoint of its state"}
		}
		return nil, err
	}
	info = &CheckpointInfo{Name: name, Time: now, Bytes: c.bytes, Files: c.files, Skipped: c.skipped, Example: clip(c.example, maxName)}
	info = Record{Checkpoint: info}.masked(s.customer.root.opt.Mask).Checkpoint
	if err := all.Rename(temp, name); err != nil {
		return nil, err
	}
	temp = name
	st, err := s.customer.store(ctx)
	if err != nil {
		return nil, err
	}
	return info, s.setCheckpoint(ctx, st, info)
}

// setCheckpoint adds a checkpoint to the list. The error matches [fs.ErrExist] if it has one of that name.
func (s *Session) setCheckpoint(ctx context.Context, st store.Documents, info *CheckpointInfo) error {
	value, err := json.Marshal(info)
	if err == nil {
		_, err = st.SetDocument(ctx, &store.Document{Key: s.key(kindCheckpoint, s.id+"/"+info.Name), Value: value})
	}
	if errors.Is(err, store.ErrConflict) {
		err = fs.ErrExist
	}
	return err
}

// Checkpoints returns the session's checkpoints, oldest first.
func (s *Session) Checkpoints() ([]CheckpointInfo, error) {
	ctx := context.Background()
	st, err := s.customer.store(ctx)
	if err == nil {
		_, _, err = s.document(ctx, st)
	}
	if err != nil {
		return nil, err
	}
	documents, err := st.ListDocuments(ctx, s.customer.id, kindCheckpoint)
	if err != nil {
		return nil, fmt.Errorf("list the checkpoints of session %q: %w", s.id, err)
	}
	list := []CheckpointInfo{}
	for _, d := range documents {
		name, ours := strings.CutPrefix(d.Name, s.id+"/")
		var info CheckpointInfo
		if !ours || CheckID("checkpoint", name) != nil { // it becomes the name of a folder
			continue
		}
		if err := json.Unmarshal(d.Value, &info); err != nil {
			return nil, fmt.Errorf("read checkpoint %q of session %q: %w", name, s.id, err)
		}
		info.Name = name
		list = append(list, info)
	}
	slices.SortStableFunc(list, func(a, b CheckpointInfo) int {
		return cmp.Or(a.Time.Compare(b.Time), strings.Compare(a.Name, b.Name))
	})
	return list, nil
}

// Restore replaces the customer's state with a checkpoint of the session; an empty name means the last one. The state is
// replaced once the copy is complete, and remains unchanged if that fails. The error is a *[BusyError] if a run is in
// progress.
func (s *Session) Restore(ctx context.Context, name string) (*CheckpointInfo, error) {
	unlock, err := s.customer.lock(ctx)
	if err != nil {
		return nil, err
	}
	defer unlock()
	info, err := s.findCheckpoint(name)
	if err != nil {
		return nil, err
	}
	if err := s.customer.checkIdle(fmt.Sprintf("restore checkpoint %q", info.Name)); err != nil {
		return nil, err
	}
	if err := s.replaceState(ctx, info); err != nil {
		return nil, fmt.Errorf("restore checkpoint %q of session %q: %w", info.Name, s.id, err)
	}
	return info, s.Append(Record{Kind: KindRestore, Checkpoint: info})
}

// findCheckpoint returns the checkpoint of a name. An empty name means the last one.
func (s *Session) findCheckpoint(name string) (*CheckpointInfo, error) {
	list, err := s.Checkpoints()
	if err != nil {
		return nil, err
	}
	i := len(list) - 1
	if name != "" {
		i = slices.IndexFunc(list, func(c CheckpointInfo) bool { return c.Name == name })
	}
	if i < 0 {
		return nil, &NotFoundError{What: "checkpoint", ID: clip(name, 2*maxID), In: fmt.Sprintf("of session %q of customer %q", s.id, s.customer.id)}
	}
	return &list[i], nil
}

// replaceState replaces the state. The caller holds the customer's lock, and no run is in progress.
func (s *Session) replaceState(ctx context.Context, info *CheckpointInfo) error {
	c := s.customer
	dir, err := c.open()
	if err != nil {
		return err
	}
	defer dir.Close()
	if err := c.recover(dir); err != nil {
		return err
	}
	room, err := c.maxState(ctx, dir)
	if err != nil {
		return err
	}
	from, err := c.openIn(sessionsDir, s.id, checkpointsDir, info.Name, checkpointFiles)
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%s does not have its files: restore it on the machine that made it (%w)", filepath.Join(c.Dir(), sessionsDir, s.id), err)
	}
	if err != nil {
		return err
	}
	defer from.Close()
	if err := copyToState(ctx, dir, from, room); err != nil {
		if errors.Is(err, workspace.ErrNoRoom) {
			err = &QuotaError{Customer: c.id, Quota: c.Quota(), Free: max(0, room), For: "the checkpoint as its state"}
		}
		return errors.Join(err, removeAll(dir, stateNew))
	}
	if err := dir.Rename(stateDir, stateOld); err != nil {
		return errors.Join(err, removeAll(dir, stateNew))
	}
	if err := dir.Rename(stateNew, stateDir); err != nil {
		return errors.Join(err, dir.Rename(stateOld, stateDir), removeAll(dir, stateNew))
	}
	return errors.Join(removeAll(dir, stateOld), c.touch(dir))
}

// copyToState creates the new state from the files of a checkpoint.
func copyToState(ctx context.Context, dir, from *os.Root, room int64) error {
	to, err := safeopen.MakeDir(dir, stateNew, 0o700)
	if err != nil {
		return err
	}
	defer to.Close()
	c := copier{ctx: ctx, to: to, room: room, forScripts: true}
	return c.copy(from, ".", 0)
}
