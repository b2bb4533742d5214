package term

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"

	"github.com/mcpgen/mcpgen/gen/upstream"
)

// answers are replies from a file, for tests and for runs without a person.
type answers struct {
	mu   sync.Mutex
	list []answer
	used []bool
}

// answer is one entry of the file: it answers questions that match its server and message, if set.
type answer struct {
	Server  string          `json:"server"`  // the configured server
	Message string          `json:"message"` // a part of what it asks
	Action  string          `json:"action"`  // accept (the default), decline, cancel
	Content json.RawMessage `json:"content"` // the form
	Repeat  bool            `json:"repeat"`  // for any number of questions instead of one
}

// readAnswers reads a JSON list of answers, or a single one that is given again and again.
func readAnswers(path string) (*answers, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("read the answers: %w", err)
	}
	a := &answers{}
	if text = bytes.TrimSpace(text); bytes.HasPrefix(text, []byte("{")) {
		one := answer{Repeat: true}
		err = decodeStrict(text, &one)
		one.Repeat = true
		a.list = []answer{one}
	} else {
		err = decodeStrict(text, &a.list)
	}
	if err != nil {
		return nil, fmt.Errorf("read the answers in %q: %w", path, err)
	}
	for i := range a.list {
		if err := a.list[i].check(); err != nil {
			return nil, fmt.Errorf("read the answers in %q: answer %d: %w", path, i+1, err)
		}
	}
	a.used = make([]bool, len(a.list))
	return a, nil
}

// decodeStrict decodes JSON and refuses unknown keys.
func decodeStrict(text []byte, v any) error {
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.DisallowUnknownFields()
	return dec.Decode(v)
}

func (a *answer) check() error {
	if a.Action == "" {
		a.Action = upstream.ActionAccept
	}
	if !slices.Contains([]string{upstream.ActionAccept, upstream.ActionDecline, upstream.ActionCancel}, a.Action) {
		return fmt.Errorf("the action %q is not accept, decline or cancel", a.Action)
	}
	if len(a.Content) > 0 && (a.Action != upstream.ActionAccept || a.Content[0] != '{') {
		return errors.New("content is the JSON object of an accepted form")
	}
	return nil
}

// find returns the first unused answer that matches, or nil.
func (a *answers) find(q *upstream.Question) *upstream.Reply {
	a.mu.Lock()
	defer a.mu.Unlock()
	for i, each := range a.list {
		if a.used[i] || each.Server != "" && each.Server != q.Server || !strings.Contains(q.Message, each.Message) {
			continue
		}
		a.used[i] = !each.Repeat
		reply := &upstream.Reply{Action: each.Action}
		if each.Action == upstream.ActionAccept && q.URL == "" {
			if reply.Content = each.Content; reply.Content == nil {
				reply.Content = json.RawMessage("{}")
			}
		}
		return reply
	}
	return nil
}
