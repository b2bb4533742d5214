package customer

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/mcpgen/mcpgen/runner/internal/kept"
	"github.com/mcpgen/mcpgen/runner/internal/safeopen"
	"github.com/mcpgen/mcpgen/runner/store"
)

// Files of earlier versions, which kept sessions and the list of checkpoints in them.
const (
	logName        = "log.jsonl"       // in the folder of a session
	checkpointInfo = "checkpoint.json" // in the folder of a checkpoint
	movedSuffix    = ".moved"          // what is in the store has a name with it
	moveLock       = ".lock"           // in the folder of sessions; no id begins with a dot
)

// moveFiles moves the sessions that are in files to the store. If it is interrupted, it can be repeated, and several processes may do it.
func (c *Customer) moveFiles(ctx context.Context, st store.Store) error {
	all, err := c.openIn(sessionsDir)
	if err != nil {
		return err
	}
	defer all.Close()
	ids, err := sessionsInFiles(all)
	if err != nil || len(ids) == 0 {
		return err
	}
	unlock, err := kept.Lock(ctx, filepath.Join(c.Dir(), sessionsDir, moveLock))
	if err != nil {
		return err
	}
	defer unlock()
	if err := c.register(ctx, st); err != nil {
		return err
	}
	count := 0
	for _, id := range ids {
		moved, err := (&Session{customer: c, id: id}).moveFiles(ctx, st, all)
		if err != nil {
			return fmt.Errorf("session %q: %w", id, err)
		}
		if moved {
			count++
		}
	}
	if count > 0 && c.root.opt.Moved != nil {
		c.root.opt.Moved(fmt.Sprintf("moved the sessions of customer %s (%d) from %s to %s; each old log is now %s", c.id, count, filepath.Join(c.Dir(), sessionsDir), st.Place(), logName+movedSuffix))
	}
	return nil
}

// sessionsInFiles returns the ids of the sessions that have a log in a file.
func sessionsInFiles(all *os.Root) ([]string, error) {
	entries, err := fs.ReadDir(all.FS(), ".")
	var ids []string
	for _, e := range entries {
		if !e.IsDir() || CheckID("session", e.Name()) != nil {
			continue
		}
		if _, err := all.Lstat(e.Name() + "/" + logName); err == nil {
			ids = append(ids, e.Name())
		}
	}
	return ids, err
}

// moveFiles moves the log and the descriptions of checkpoints to the store, then renames them. moved is false if another process has done so.
func (s *Session) moveFiles(ctx context.Context, st store.Store, all *os.Root) (moved bool, err error) {
	own, err := safeopen.Dir(all, s.id)
	if err != nil {
		return false, err
	}
	defer own.Close()
	f, err := safeopen.File(own, logName, os.O_RDONLY, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	text, err := io.ReadAll(io.LimitReader(f, maxLog))
	info, err2 := f.Stat()
	if err = errors.Join(err, err2, f.Close()); err != nil {
		return false, err
	}
	doc := sessionDocument{Used: info.ModTime(), Bytes: int64(len(text)), Moved: fmt.Sprintf("%x", sha256.Sum256(text))}
	for done := false; !done; {
		if done, err = s.moveLog(ctx, st, doc, text); err != nil {
			return false, err
		}
	}
	if err := s.moveCheckpoints(ctx, st, own); err != nil {
		return false, err
	}
	return true, own.Rename(logName, logName+movedSuffix) // last: with it, the session is moved
}

// moveLog puts the log into the store, unless it is there. The session is absent until the whole log is. done is false if another process
// began to do the same.
func (s *Session) moveLog(ctx context.Context, st store.Store, doc sessionDocument, text []byte) (done bool, err error) {
	version := int64(0)
	d, err := st.Document(ctx, s.key(kindSession, s.id))
	switch {
	case err == nil:
		old, err := decodeSession(d)
		if err != nil {
			return false, err
		}
		if !old.Absent && old.Moved != doc.Moved {
			return false, fmt.Errorf("%s has another session of that name: rename the folder %s", st.Place(), filepath.Join(s.customer.Dir(), sessionsDir, s.id))
		}
		if !old.Absent {
			return true, nil
		}
		if err := st.DeleteLog(ctx, s.key(kindLog, old.Log)); err != nil {
			return false, err
		}
		version = d.Version
	case !errors.Is(err, store.ErrNotFound):
		return false, err
	}
	doc.Log, doc.Absent = s.newLog(), true
	if err := s.set(ctx, st, &doc, version); err != nil {
		return false, unlessConflict(err)
	}
	key := s.key(kindLog, doc.Log)
	for _, block := range blocks(text) {
		if _, err := st.AppendLine(ctx, key, block); err != nil {
			return false, err
		}
	}
	doc.Absent = false
	err = s.set(ctx, st, &doc, version+1)
	if errors.Is(err, store.ErrConflict) {
		return false, st.DeleteLog(ctx, key)
	}
	return err == nil, err
}

func unlessConflict(err error) error {
	if errors.Is(err, store.ErrConflict) {
		return nil
	}
	return err
}

// blocks splits a text between lines into parts of at most maxLine bytes. A longer line is a part of its own.
func blocks(text []byte) (all [][]byte) {
	start, end := 0, 0
	for line := range bytes.Lines(text) {
		if end > start && end-start+len(line) > maxLine {
			all = append(all, text[start:end])
			start = end
		}
		end += len(line)
	}
	if end > start {
		all = append(all, text[start:end])
	}
	return all
}

// moveCheckpoints puts the descriptions of the session's checkpoints into the store. Their files stay.
func (s *Session) moveCheckpoints(ctx context.Context, st store.Store, own *os.Root) error {
	all, err := safeopen.Dir(own, checkpointsDir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer all.Close()
	entries, err := fs.ReadDir(all.FS(), ".")
	if err != nil {
		return err
	}
	for _, e := range entries {
		if !e.IsDir() || CheckID("checkpoint", e.Name()) != nil {
			continue
		}
		info, err := readCheckpoint(all, e.Name())
		if errors.Is(err, fs.ErrNotExist) {
			continue // it is not a checkpoint, or was moved
		}
		if err != nil {
			return err
		}
		if err := s.setCheckpoint(ctx, st, info); err != nil && !errors.Is(err, fs.ErrExist) {
			return err
		}
		at := e.Name() + "/" + checkpointInfo
		if err := all.Rename(at, at+movedSuffix); err != nil {
			return err
		}
	}
	return nil
}

// readCheckpoint reads the description of a checkpoint. The name is that of its folder. The error matches [fs.ErrNotExist] if no description
// can be read.
func readCheckpoint(all *os.Root, name string) (*CheckpointInfo, error) {
	dir, err := safeopen.Dir(all, name)
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	f, err := safeopen.File(dir, checkpointInfo, os.O_RDONLY, 0)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, 64<<10))
	if err != nil {
		return nil, err
	}
	var info CheckpointInfo
	if json.Unmarshal(text, &info) != nil {
		return nil, fs.ErrNotExist
	}
	info.Name, info.Example = name, clip(info.Example, maxName)
	return &info, nil
}
