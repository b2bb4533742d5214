package customer

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/mcpgen/mcpgen/runner/internal/kept"
	"github.com/mcpgen/mcpgen/runner/workspace"
)

// maxDecisions limits the size of a log of decisions, in bytes. There are at most two files.
const maxDecisions = 16 << 20

// Decisions logs what rules and people decided in runs without a customer. Like a session's log, it has a line for each run with a
// decision, but leaves out code, output, results, and calls that no rule decided. It is safe for concurrent use, also by several processes.
type Decisions struct {
	path string
	mask func(json.RawMessage) json.RawMessage
}

// OpenDecisions returns the log in a file, which the first decision creates with mode 0600. A file that exceeds 16 MiB is renamed to
// path.1, replacing the one before it. Scripts must not be able to reach the folder. mask removes secrets and personal data; if it is nil,
// nothing is removed.
func OpenDecisions(path string, mask func(json.RawMessage) json.RawMessage) *Decisions {
	return &Decisions{path, mask}
}

// Append logs a run that includes a decision.
func (d *Decisions) Append(run *Run) error {
	if !run.Decided() {
		return nil
	}
	kept := *run
	kept.setDigest()
	kept.Calls, kept.Code, kept.Output, kept.Result, kept.Files, kept.Tokens = decided(run.Calls), "", "", nil, nil, nil
	line, err := lineOf(Record{Kind: KindRun, Time: time.Now(), Run: &kept}, d.mask)
	if err == nil {
		err = d.append(line)
	}
	if err != nil {
		return fmt.Errorf("keep what was decided in the run: %w", err)
	}
	return nil
}

func (d *Decisions) append(line []byte) error {
	if err := os.MkdirAll(filepath.Dir(d.path), 0o700); err != nil {
		return err
	}
	unlock, err := kept.Lock(context.Background(), d.path+".lock")
	if err != nil {
		return err
	}
	defer unlock()
	if info, err := os.Lstat(d.path); err == nil && info.Size()+int64(len(line)) > maxDecisions {
		if err := os.Rename(d.path, d.path+".1"); err != nil {
			return err
		}
	}
	f, err := os.OpenFile(d.path, os.O_CREATE|os.O_RDWR|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	return errors.Join(appendLine(f, line), f.Close())
}

// appendLine writes a line to a log, on a line of its own.
func appendLine(f *os.File, line []byte) error {
	info, err := f.Stat()
	if err != nil {
		return err
	}
	size := info.Size()
	switch {
	case size+int64(len(line)) > maxLog:
		return fmt.Errorf("it has %s, the limit of a log: begin another session: %w", sizeText(size), workspace.ErrNoRoom)
	case size > 0:
		last := make([]byte, 1)
		if _, err := f.ReadAt(last, size-1); err != nil {
			return err
		}
		if last[0] != '\n' {
			line = append([]byte("\n"), line...)
		}
	}
	if _, err := f.Write(line); err != nil {
		return errors.Join(err, f.Truncate(size)) // remove the incomplete line
	}
	return nil
}
