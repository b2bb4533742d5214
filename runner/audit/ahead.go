package audit

import (
	"bytes"
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/mcpgen/mcpgen/runner/internal/kept"
	"github.com/mcpgen/mcpgen/runner/store"
)

const (
	aheadWithin = 250 * time.Millisecond // rows in a write-ahead file wait so long for a batch
	maxAhead    = 512 << 10              // or until they have so many bytes
)

// ahead is a pair of files with rows that the store does not have yet, one a line, as they would be with the index 0. While the batch in one
// of them is being written to the store, the next batch goes to the other one. They outlive the process: [Open] adds what it finds there.
type ahead struct {
	path   string // without an ending
	unlock func() // for the file with the ending .lock, which is locked while the process lives
	files  [2]*os.File
	sizes  [2]int64
}

// aheadFile returns the path of one of the files.
func aheadFile(path string, file int) string { return fmt.Sprintf("%s.%d", path, file) }

// createAhead creates the files, whose paths begin with prefix.
func createAhead(prefix string) (_ *ahead, err error) {
	a := &ahead{path: prefix + rand.Text()}
	unlock, ok, err := kept.TryLock(a.path + ".lock") // before there are files, so that nobody takes them for those of a dead process
	if err == nil && !ok {
		err = fmt.Errorf("%s is locked", a.path)
	}
	if err != nil {
		return nil, err
	}
	a.unlock = unlock
	for i := range a.files {
		if a.files[i], err = os.OpenFile(aheadFile(a.path, i), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600); err != nil {
			return nil, errors.Join(err, a.remove())
		}
	}
	return a, nil
}

// write appends rows to a file. If it fails, the file has none of them.
func (a *ahead) write(file int, rows []content) error {
	var lines []byte
	for _, c := range rows {
		lines = append(c.appendAt(lines, 0), '\n')
	}
	if _, err := a.files[file].WriteAt(lines, a.sizes[file]); err != nil {
		return errors.Join(err, a.files[file].Truncate(a.sizes[file]))
	}
	a.sizes[file] += int64(len(lines))
	return nil
}

// clear removes the rows of a file, which the store has. If it cannot, they are found to be there when somebody adds them.
func (a *ahead) clear(file int) {
	if a.sizes[file] > 0 && a.files[file].Truncate(0) == nil {
		a.sizes[file] = 0
	}
}

// remove removes the files.
func (a *ahead) remove() error {
	var errs []error
	for _, f := range a.files {
		if f != nil {
			errs = append(errs, f.Close())
		}
	}
	return errors.Join(append(errs, removeAhead(a.path, a.unlock))...)
}

// removeAhead removes the files with a path. The lock is released before it is removed, because Windows removes no open file.
func removeAhead(path string, unlock func()) error {
	var errs []error
	for i := range 2 {
		if err := os.Remove(aheadFile(path, i)); !errors.Is(err, fs.ErrNotExist) {
			errs = append(errs, err)
		}
	}
	unlock()
	_ = os.Remove(path + ".lock") // somebody may look at it
	return errors.Join(errs...)
}

// recoverAhead adds the rows that killed processes have left in their files.
func (l *Log) recoverAhead(ctx context.Context) error {
	dir, prefix := filepath.Split(l.opt.Ahead)
	entries, err := os.ReadDir(cmp.Or(dir, "."))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	for _, e := range entries {
		name, first := strings.CutSuffix(e.Name(), ".0")
		if !first || !strings.HasPrefix(name, prefix) {
			continue
		}
		if err := l.recoverFiles(ctx, filepath.Join(dir, name)); err != nil {
			return fmt.Errorf("add the rows of %s to the record: %w", filepath.Join(dir, e.Name()), err)
		}
	}
	return nil
}

// recoverFiles adds the rows of the files with a path, unless the process that writes them lives.
func (l *Log) recoverFiles(ctx context.Context, path string) error {
	unlock, ok, err := kept.TryLock(path + ".lock")
	if err != nil || !ok {
		return err
	}
	done := false
	defer func() {
		if !done {
			unlock()
		}
	}()
	var rows []content
	for i := range 2 {
		text, err := os.ReadFile(aheadFile(path, i))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		for line := range bytes.Lines(text) {
			if !bytes.HasSuffix(line, []byte("\n")) {
				break // nobody was told that it is written
			}
			c, err := parseContent(bytes.TrimSuffix(line, []byte("\n")))
			if err != nil {
				return err
			}
			rows = append(rows, c)
		}
	}
	slices.SortStableFunc(rows, func(a, b content) int { return a.row.Time.Compare(b.row.Time) })
	if rows, err = l.missing(ctx, rows); err != nil {
		return err
	}
	if err := l.extend(rows); err != nil {
		return err
	}
	done = true
	return removeAhead(path, unlock)
}

// missing returns those of the rows, which are in the order of their times, that the store does not have: the process may have died
// before it cleared the file.
func (l *Log) missing(ctx context.Context, rows []content) ([]content, error) {
	if len(rows) == 0 {
		return nil, nil
	}
	there := map[string]bool{}
	first, last := rows[0].row.Time, rows[len(rows)-1].row.Time
	err := l.store.Rows(ctx, store.Range{From: first, To: last.Add(time.Microsecond)}, func(r store.Row) error {
		row, err := Decode(r)
		there[rowKey(r, row.Body)] = true
		return err
	})
	return slices.DeleteFunc(rows, func(c content) bool {
		forgotten := there[rowKey(c.row, nil)]
		return forgotten || there[rowKey(c.row, c.body())]
	}), err
}

// rowKey returns what two rows share only if they are the same. A row whose content was removed has no body.
func rowKey(r store.Row, body []byte) string {
	return fmt.Sprintf("%d %s %s %s", r.Time.UnixMicro(), r.Kind, r.Run, body)
}

// parseContent reads a row as write has written it.
func parseContent(line []byte) (c content, err error) {
	var row Row
	if err := json.Unmarshal(line, &row); err != nil {
		return c, fmt.Errorf("a line is damaged (%w): move the file away", err)
	}
	c.row = store.Row{Time: row.Time.UTC(), Kind: string(row.Kind), Run: row.Run}
	c.gap = len(bodyName) + len(row.Body) + len(indexName)
	if len(line) <= c.gap || string(line[c.gap-len(indexName):c.gap+1]) != indexName+"0" {
		return c, errors.New("a line is damaged: move the file away")
	}
	c.text = slices.Concat(line[:c.gap], line[c.gap+1:])
	return c, nil
}
