package approve

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"time"

	"github.com/mcpgen/mcpgen/runner/store"
)

// keepTime is how long a question waits whose process has ended, and how long an answer to it holds.
const keepTime = 24 * time.Hour

// storeTime bounds what is done with the document of a question.
const storeTime = 5 * time.Second

// questionKind is the kind of questions among the documents, and the beginning of the names of their leases.
const questionKind = "question"

// keptQuestion is the document of a question. Its name is a digest of what is asked, so that the same question has the same document in another
// process.
type keptQuestion struct {
	View Waiting `json:"view"`
	// Askers are the ids of the waiting questions, each of which has a lease of that name while its process is alive.
	Askers []string    `json:"askers"`
	Until  time.Time   `json:"until"`
	Answer *keptAnswer `json:"answer,omitempty"`
}

// keptAnswer is an answer to a question whose process has ended.
type keptAnswer struct {
	Allowed bool      `json:"allowed"`
	By      string    `json:"by"`
	At      time.Time `json:"at"`
}

func (a *keptAnswer) answer() Answer {
	out := Answer{By: a.By + ", at " + a.At.Local().Format(time.DateTime)}
	if a.Allowed {
		out.Scope = Once
	}
	return out
}

// answerEntry names the keyring's entry for an answer that was not used.
func answerEntry(name string) string { return "answer-" + name }

// name returns the name of the document of a project's question: a digest of what it asks, which reveals nothing. Projects may share a state.
func (k *Kept) name(project string, q *Question) (string, error) {
	asked := struct {
		Project, Customer, Code, Source, Tool, Connection, Rule, Risk string
		Arguments                                                     map[string]string
		Plan                                                          *Plan
		Lasts                                                         time.Duration
		Start                                                         *Start
	}{Project: project, Customer: q.Customer, Code: q.Code, Source: q.Source, Tool: q.Tool, Connection: q.Connection, Rule: q.Rule, Risk: q.risk(), Start: q.Start}
	if err := k.keys(); err != nil {
		return "", err
	}
	if len(q.Arguments) > 0 {
		var err error
		if asked.Arguments, err = argumentsOf(q.Arguments); err != nil {
			return "", fmt.Errorf("read the arguments of %.100q: %w", q.Tool, err)
		}
	}
	if q.Plan != nil {
		plan := *q.Plan
		plan.ID, plan.By, plan.Until = "", "", time.Time{}
		asked.Plan, asked.Lasts = &plan, plan.Lasts
	}
	text, err := json.Marshal(asked)
	if err != nil {
		return "", err
	}
	return k.mac(questionKind, string(text)), nil
}

// live returns the ids of the questions whose processes are alive.
func live(ctx context.Context, s store.Store) (map[string]bool, error) {
	leases, err := s.Leases(ctx, questionKind+"/")
	ids := map[string]bool{}
	for _, l := range leases {
		if !l.Expired {
			ids[l.Owner] = true
		}
	}
	return ids, err
}

func lease(id string) string { return questionKind + "/" + id }

// drop removes askers from a question, and their leases.
func (q *keptQuestion) drop(ctx context.Context, s store.Store, gone func(id string) bool) error {
	var errs []error
	q.Askers = slices.DeleteFunc(q.Askers, func(id string) bool {
		if gone(id) {
			errs = append(errs, s.Release(ctx, lease(id), id))
			return true
		}
		return false
	})
	return errors.Join(errs...)
}

func (q *keptQuestion) expired() bool { return !time.Now().Before(q.Until) }

// change reads a question and writes what edit makes of it, again if another process has changed it meanwhile. edit returns false if nothing
// is to be written. The version that it gets is 0 if the question is not kept. before is its text.
func (k *Kept) change(ctx context.Context, name string, edit func(s store.Store, q *keptQuestion, version int64, before string) (bool, error)) error {
	s, err := k.open(ctx)
	if err != nil {
		return err
	}
	for {
		var q keptQuestion
		before, version, err := k.read(ctx, questionKind, name, &q)
		switch {
		case errors.Is(err, errForeign):
			k.ignore(s, name)
			q = keptQuestion{} // to be replaced
		case err != nil && !errors.Is(err, store.ErrNotFound):
			return err
		}
		write, err := edit(s, &q, version, before)
		if err != nil || !write {
			return err
		}
		text, err := json.Marshal(q)
		if err != nil {
			return err
		}
		if q.Answer != nil {
			k.vouch(answerEntry(name), string(text))
		}
		if _, err := k.write(ctx, questionKind, name, string(text), version); !errors.Is(err, store.ErrConflict) {
			return err
		}
	}
}

// ignore says that a question is not one of this user.
func (k *Kept) ignore(s store.Store, name string) {
	k.say("the question %.12s in %s is ignored: another user or program wrote it, or it was changed since", name, s.Place())
}

// attach says that the question id waits, under the name of its document. If there is an answer that was given after the process ended that asked
// before, attach uses it up and returns it. Call it again before a third of lasts is over.
func (k *Kept) attach(ctx context.Context, name, id string, view *Waiting, lasts time.Duration) (answer *Answer, err error) {
	var used *keptAnswer
	vouched := false
	err = k.change(ctx, name, func(s store.Store, q *keptQuestion, _ int64, before string) (bool, error) {
		if _, err := s.Lease(ctx, lease(id), id, lasts); err != nil {
			return false, err
		}
		alive, err := live(ctx, s)
		if err != nil {
			return false, err
		}
		attached := slices.Contains(q.Askers, id)
		if used, vouched = q.Answer, false; used != nil {
			switch vouched, err = k.vouched(answerEntry(name), before); {
			case err != nil:
				k.say("the answer to the question %.12s in %s is ignored: %v", name, s.Place(), err)
				used, attached = nil, false
			case q.expired():
				used, attached = nil, false
			}
		}
		if attached && used == nil {
			return false, nil
		}
		if err := q.drop(ctx, s, func(other string) bool { return !alive[other] || other == id && used != nil }); err != nil {
			return false, err
		}
		q.Answer, q.View, q.Until = nil, *view, time.Now().Add(keepTime)
		if used == nil {
			q.Askers = append(q.Askers, id)
		}
		return true, nil
	})
	if err == nil && vouched { // also if it has expired
		err = k.spend(answerEntry(name))
	}
	if err != nil || used == nil {
		return nil, err
	}
	a := used.answer()
	return &a, k.leave(ctx, name, id)
}

// leave says that the question id no longer waits. If no other process waits with it, its document is deleted. An answer that was given meanwhile
// stays.
func (k *Kept) leave(ctx context.Context, name, id string) error {
	return k.change(ctx, name, func(s store.Store, q *keptQuestion, version int64, _ string) (bool, error) {
		alive, err := live(ctx, s)
		if err != nil {
			return false, err
		}
		had := len(q.Askers)
		err = errors.Join(q.drop(ctx, s, func(other string) bool { return other == id || !alive[other] }), s.Release(ctx, lease(id), id))
		if err != nil || version == 0 || q.Answer != nil {
			return false, err
		}
		if len(q.Askers) == 0 {
			return false, s.DeleteDocument(ctx, documentKey(questionKind, name)) // who attaches at this moment does so again soon
		}
		return len(q.Askers) < had, nil
	})
}

// abandon says that the process ends while the question id waits, whose document stays.
func (k *Kept) abandon(ctx context.Context, id string) error {
	s, err := k.open(ctx)
	if err != nil {
		return err
	}
	return s.Release(ctx, lease(id), id)
}

// questions returns the questions of a project whose processes have ended, oldest first, and deletes those that have expired. A state that
// does not exist has no questions.
func (k *Kept) questions(ctx context.Context, project string) ([]Waiting, error) {
	s, err := k.open(ctx)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	docs, err := s.ListDocuments(ctx, "", questionKind)
	if err != nil {
		return nil, err
	}
	alive, err := live(ctx, s)
	if err != nil {
		return nil, err
	}
	var list []Waiting
	for i := range docs {
		var q keptQuestion
		name := docs[i].Name
		switch _, err := k.unseal(&docs[i], &q); {
		case err != nil:
			k.ignore(s, name)
		case slices.ContainsFunc(q.Askers, func(id string) bool { return alive[id] }):
		case q.expired():
			if err := k.remove(ctx, s, name, &q); err != nil {
				return nil, err
			}
		case len(q.Askers) > 0 && q.View.Project == project:
			list = append(list, q.shown(name))
		}
	}
	slices.SortFunc(list, byAge)
	return list, nil
}

// remove deletes a question that has expired.
func (k *Kept) remove(ctx context.Context, s store.Store, name string, q *keptQuestion) error {
	if q.Answer != nil && k.opt.Ring != nil {
		_ = k.opt.Ring.Delete(answerEntry(name))
	}
	return errors.Join(q.drop(ctx, s, func(string) bool { return true }), s.DeleteDocument(ctx, documentKey(questionKind, name)))
}

// shown returns a question whose process has ended as the page shows it. One answer is for one call.
func (q *keptQuestion) shown(name string) Waiting {
	w := q.View
	w.ID, w.Name, w.Others, w.More, w.Scopes = name, name, nil, 0, []Scope{Once}
	w.Until = time.Now().Add(keepTime)
	if q.Answer != nil {
		w.Until, w.Answered = q.Until, "Refused"
		if q.Answer.Allowed {
			w.Answered = "Allowed"
		}
		w.Answered += " at " + q.Answer.At.Local().Format("15:04:05")
	}
	return w
}

// errNotKept says that a question is not one whose process has ended.
var errNotKept = errors.New("this question is no longer kept, or it was asked again; reload the page")

// answer keeps an answer to a question whose process has ended.
func (k *Kept) answer(ctx context.Context, name string, allowed bool) error {
	return k.change(ctx, name, func(s store.Store, q *keptQuestion, version int64, _ string) (bool, error) {
		alive, err := live(ctx, s)
		if err != nil {
			return false, err
		}
		if len(q.Askers) == 0 || q.expired() || slices.ContainsFunc(q.Askers, func(id string) bool { return alive[id] }) {
			return false, errNotKept
		}
		now := time.Now().UTC()
		q.Answer, q.Until = &keptAnswer{Allowed: allowed, By: "page", At: now}, now.Add(keepTime)
		return true, nil
	})
}
