package workspace

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
)

// Restore puts a checkpoint of the session in the place of the customer's state; the empty name is the last checkpoint. The
// state is replaced when the copy is whole, and stays what it was when that fails. While a run is under way the error is a
// *[BusyError].
func (s *Session) Restore(ctx context.Context, name string) (*CheckpointInfo, error) {
	unlock, err := s.customer.lock(ctx)
	if err != nil {
		return nil, err
	}
	defer unlock()
	info, err := s.find(name)
	if err != nil {
		return nil, err
	}
	if err := s.customer.idle(fmt.Sprintf("restore checkpoint %q", info.Name)); err != nil {
		return nil, err
	}
	if err := s.putBack(ctx, info); err != nil {
		return nil, fmt.Errorf("restore checkpoint %q of session %q: %w", info.Name, s.id, err)
	}
	return info, s.Append(Record{Kind: KindRestore, Checkpoint: info})
}

// find looks for a checkpoint by its name.
func (s *Session) find(name string) (*CheckpointInfo, error) {
	list, err := s.Checkpoints()
	if err != nil {
		return nil, err
	}
	if name == "" {
		if len(list) == 0 {
			return nil, &NotFoundError{What: "checkpoint", In: fmt.Sprintf("of session %q of customer %q", s.id, s.customer.id)}
		}
		return &list[len(list)-1], nil
	}
	for i := range list {
		if list[i].Name == name {
			return &list[i], nil
		}
	}
	return nil, &NotFoundError{What: "checkpoint", ID: clip(name, 2*maxID), In: fmt.Sprintf("of session %q", s.id)}
}

// putBack replaces the state. The caller holds the customer's lock, and no run is under way.
func (s *Session) putBack(ctx context.Context, info *CheckpointInfo) error {
	c := s.customer
	dir, err := c.open()
	if err != nil {
		return err
	}
	defer dir.Close()
	if err := c.recover(dir); err != nil {
		return err
	}
	room := c.ceiling(dir)
	from, err := c.openIn(sessionsDir, s.id, checkpointsDir, info.Name, checkpointFiles)
	if err != nil {
		return err
	}
	defer from.Close()
	if err := fill(ctx, dir, from, room); err != nil {
		if errors.Is(err, ErrNoRoom) {
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

// fill makes the new state.
func fill(ctx context.Context, dir, from *os.Root, room int64) error {
	to, err := openReal(dir, stateNew, true)
	if err != nil {
		return err
	}
	defer to.Close()
	c := copier{ctx: ctx, room: room, forScripts: true}
	if err := c.folder(from, to, ".", 0); err != nil {
		return err
	}
	return to.Chmod(".", 0o700)
}

// recover brings a state to an end that a restore which died has left between the old and the new. The caller holds the
// customer's lock.
func (c *Customer) recover(dir *os.Root) error {
	info, err := dir.Lstat(stateDir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		if err = dir.Rename(stateOld, stateDir); errors.Is(err, fs.ErrNotExist) {
			err = dir.Mkdir(stateDir, 0o700)
		}
	case err == nil && !info.IsDir():
		err = errors.New("it is no folder: take it away")
	case err == nil && info.Mode().Perm()&0o700 != 0o700: // a script may have locked it
		_ = dir.Chmod(stateDir, info.Mode().Perm()|0o700) // where it is somebody else's to unlock, what needs it says so
	}
	if err == nil {
		err = errors.Join(removeAll(dir, stateOld), removeAll(dir, stateNew))
	}
	if err != nil {
		return fmt.Errorf("the state of customer %q: %w", c.id, err)
	}
	return nil
}
