package customer

import (
	"encoding/json"
	"slices"
	"time"
)

// maxWork bounds the tasks of a [Work]. Earlier ones are in the log.
const maxWork = 100

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
