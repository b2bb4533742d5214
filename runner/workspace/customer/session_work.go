package customer

import (
	"bytes"
	"encoding/json"
	"io"
	"os"
	"path"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/mcpgen/mcpgen/runner/internal/safeopen"
)

const (
	maxWork    = 100      // tasks of a [Work]; earlier ones are in the log
	maxEarlier = 1 << 20  // bytes of [Session.Earlier]
	maxLooked  = 20       // sessions that it looks at
	maxSaved   = 64 << 10 // bytes of a file of a checkpoint in a [Work]
	maxNames   = 50       // checkpoints of a session that are read
)

// SavedFolder is the folder of the state with the checkpoints that scripts save (saveCheckpoint, save_checkpoint), each in a file NAME.json.
const SavedFolder = "checkpoints"

// Saved is the content of such a file.
type Saved struct {
	Name string          `json:"name"`
	Time string          `json:"time"` // as JavaScript's toISOString formats it
	Data json.RawMessage `json:"data"`
}

// LastCheckpoint is how far the work of a session has come: a step with data that a script has saved, or a copy of the state.
type LastCheckpoint struct {
	Name string    `json:"name"`
	Time time.Time `json:"time"`
	Task string    `json:"task,omitempty"` // the last one before it
	// Data is that of a script, masked as in the log; absent if it is longer than 64 KiB.
	Data json.RawMessage `json:"data,omitempty"`
	// Copied reports that it is a copy of the state.
	Copied bool `json:"copied,omitempty"`
}

// Work is what was done in a session, task by task.
type Work struct {
	Customer string    `json:"customer"`
	Session  string    `json:"session"`
	Began    time.Time `json:"began"`
	Ended    time.Time `json:"ended"` // when it was last used
	// Tasks are the last 100, in their order. A run without a task is one without a description.
	Tasks []TaskWork `json:"tasks"`
	// Files are the files of the state that its runs wrote, sorted, with slashes. They may be gone.
	Files []string `json:"files"`
	// Checkpoint is the last one, or nil.
	Checkpoint *LastCheckpoint `json:"checkpoint"`
}

// TaskWork is a task with its last run. All texts are masked as in the log.
type TaskWork struct {
	ID          string          `json:"id,omitempty"`
	Description string          `json:"description"`
	Time        time.Time       `json:"time"` // of the last run, else of the task
	Language    string          `json:"language,omitempty"`
	Code        string          `json:"code,omitempty"`
	Result      json.RawMessage `json:"result,omitempty"`
	Output      string          `json:"output"`
	ExitCode    int             `json:"exitCode"`
	Message     string          `json:"message,omitempty"`
}

// Work returns what was done in the session. It reads the log.
func (s *Session) Work() (*Work, error) {
	w := &Work{Customer: s.customer.id, Session: s.id, Tasks: []TaskWork{}, Files: []string{}}
	_, err := s.Read(func(r *Record) error {
		w.Ended = r.Time
		switch {
		case r.Kind == KindSession:
			w.Began = r.Time
		case r.Kind == KindTask:
			w.Tasks = append(w.Tasks, TaskWork{ID: r.ID, Description: r.Task, Time: r.Time})
		case r.Run != nil:
			w.ran(r)
		case r.Kind == KindCheckpoint:
			w.Checkpoint = &LastCheckpoint{Name: r.Checkpoint.Name, Time: r.Checkpoint.Time, Task: w.task(), Copied: true}
		}
		w.Tasks = w.Tasks[max(0, len(w.Tasks)-maxWork):]
		return nil
	})
	slices.Sort(w.Files)
	w.Files = slices.Compact(w.Files)
	if err == nil {
		err = s.readSaved(w)
	}
	return w, err
}

// task is the last task.
func (w *Work) task() string {
	if n := len(w.Tasks); n > 0 {
		return w.Tasks[n-1].Description
	}
	return ""
}

// readSaved makes the checkpoint of a work the last one that its scripts have saved, unless a copy was made later. The files are the scripts', and
// hostile.
func (s *Session) readSaved(w *Work) error {
	var names []string
	for _, file := range w.Files {
		if path.Dir(file) == SavedFolder && path.Ext(file) == ".json" && len(names) < maxNames {
			names = append(names, file)
		}
	}
	if len(names) == 0 {
		return nil
	}
	state, err := s.customer.openIn(stateDir)
	if err != nil {
		return err
	}
	defer state.Close()
	for _, name := range names {
		c := readSaved(state, name)
		if c == nil || w.Checkpoint != nil && c.Time.Before(w.Checkpoint.Time) {
			continue
		}
		c.Task = w.task()
		if mask := s.customer.root.opt.Mask; mask != nil && c.Data != nil {
			c.Data = mask(c.Data)
		}
		w.Checkpoint = c
	}
	return nil
}

// readSaved returns the checkpoint of a file, or nil if it is not there or no checkpoint any more.
func readSaved(state *os.Root, name string) *LastCheckpoint {
	f, err := safeopen.File(state, name, os.O_RDONLY, 0)
	if err != nil {
		return nil
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, maxSaved+1))
	if err != nil {
		return nil
	}
	c := &LastCheckpoint{Name: strings.TrimSuffix(path.Base(name), ".json")}
	if len(text) > maxSaved { // whose data loadCheckpoint reads
		if info, err := f.Stat(); err == nil {
			c.Time = info.ModTime()
		}
		return c
	}
	var saved Saved
	if json.Unmarshal(text, &saved) != nil || saved.Data == nil {
		return nil
	}
	if c.Time, err = time.Parse(time.RFC3339, saved.Time); err != nil {
		return nil
	}
	var data bytes.Buffer
	_ = json.Compact(&data, saved.Data) // which is valid
	c.Data = data.Bytes()
	return c
}

// ran adds a run to its task.
func (w *Work) ran(r *Record) {
	i := slices.IndexFunc(w.Tasks, func(t TaskWork) bool { return t.ID != "" && t.ID == r.Run.TaskID })
	if i < 0 {
		i, w.Tasks = len(w.Tasks), append(w.Tasks, TaskWork{})
	}
	t := &w.Tasks[i]
	t.Time, t.Language, t.Code, t.Result, t.Output = r.Time, r.Run.Language, r.Run.Code, r.Run.Result, r.Run.Output
	t.ExitCode, t.Message = r.Run.ExitCode, r.Run.Message
	w.Files = append(w.Files, r.Run.Files...)
}

// numbered matches tokens for personal data.
var numbered = regexp.MustCompile(`\[([A-Z][A-Z_]*)_[0-9]+\]`)

// Earlier returns, as JSON for a script, the [Work] of the session or, if nothing was done in it, of the one among the customer's last 20 that was
// used last. It has at most a mebibyte, and fewer tasks if they have more. It is nil if nothing was done. Tokens in it have no number, because those
// of a vault look the same and stand for something else.
func (s *Session) Earlier() (json.RawMessage, error) {
	all, err := s.customer.Sessions()
	if err != nil {
		return nil, err
	}
	all = append([]*Session{s}, all[max(0, len(all)-maxLooked):]...)
	var last *Work
	for i, each := range all {
		w, err := each.Work()
		if err != nil {
			return nil, err
		}
		if len(w.Tasks) > 0 && (last == nil || w.Ended.After(last.Ended)) {
			last = w
		}
		if i == 0 && last != nil {
			break
		}
	}
	if last == nil {
		return nil, nil
	}
	value, err := json.Marshal(last)
	for err == nil && len(value) > maxEarlier {
		last.Tasks, last.Files = last.Tasks[(len(last.Tasks)+1)/2:], last.Files[(len(last.Files)+1)/2:]
		value, err = json.Marshal(last)
	}
	return numbered.ReplaceAll(value, []byte("[$1]")), err
}
