package customer

import (
	"encoding/json"
	"regexp"
	"slices"
	"time"
)

const (
	maxWork    = 100     // tasks of a [Work]; earlier ones are in the log
	maxEarlier = 1 << 20 // bytes of [Session.Earlier]
	maxLooked  = 20      // sessions that it looks at
)

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
	// Checkpoint is the last copy of the state, or nil.
	Checkpoint *CheckpointInfo `json:"checkpoint"`
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
			w.Checkpoint = r.Checkpoint
		}
		w.Tasks = w.Tasks[max(0, len(w.Tasks)-maxWork):]
		return nil
	})
	slices.Sort(w.Files)
	w.Files = slices.Compact(w.Files)
	return w, err
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
		last.Tasks = last.Tasks[(len(last.Tasks)+1)/2:]
		value, err = json.Marshal(last)
	}
	return numbered.ReplaceAll(value, []byte("[$1]")), err
}
