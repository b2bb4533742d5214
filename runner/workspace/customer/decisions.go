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
)

// maxDecisions limits the file of a log of decisions, in bytes. There are at most two files.
const maxDecisions = 16 << 20

// Decisions is a log of what rules and people decided in the runs that are for no customer. It has a line, as a session's log, for each
// run with a decision: without code, output, result, and calls about which no rule decided. It is safe for concurrent use, also by
// several processes.
type Decisions struct {
	path string
	mask func(json.RawMessage) json.RawMessage
}

// OpenDecisions returns the log in a file, which the first decision creates, with mode 0600. A file of more than 16 MiB becomes path.1,
// and the one before it is lost. Scripts must not reach the folder. mask removes secrets and personal data; nil: nothing is removed.
func OpenDecisions(path string, mask func(json.RawMessage) json.RawMessage) *Decisions {
	return &Decisions{path, mask}
}

// Append logs a run, if anything was decided in it.
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
