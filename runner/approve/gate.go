package approve

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"
)

// DefaultTimeout is how long a call waits for an answer.
const DefaultTimeout = 5 * time.Minute

// gather is how long a question waits before it is asked, so that calls made together can be answered together.
const gather = 50 * time.Millisecond

// errNoAnswer ends a question that nobody answered, errSettled one that the answer to another question settled.
var (
	errNoAnswer = errors.New("no answer in time")
	errSettled  = errors.New("answered together with another question")
)

// New returns the Approver of one run, or of one call without a script. It asks the first of ways, and the next one if that fails. It
// remembers what answers allow. A call that has waited for the timeout is refused; zero is DefaultTimeout. The timeout restarts whenever a
// person answers another question of the run. New returns nil without ways.
func New(timeout time.Duration, ways ...Approver) Approver {
	if len(ways) == 0 {
		return nil
	}
	if timeout <= 0 {
		timeout = DefaultTimeout
	}
	return &gate{ways: ways, timeout: timeout, allowed: map[grant]Answer{}, refused: map[string]Answer{}}
}

// WhenTooLong returns a way for New that is asked only about calls that were too long for an earlier way to show.
func WhenTooLong(way Approver) Approver { return &overflow{way} }

type overflow struct{ Approver }

// gate is the Approver of New.
type gate struct {
	ways    []Approver
	timeout time.Duration

	mu      sync.Mutex
	allowed map[grant]Answer  // for the rest of the run
	refused map[string]Answer // for the rest of the run, by rule
	waiting []*waiter         // in the order of their arrival
}

// kind is the tool and rule that calls in a batch share.
type kind struct{ tool, rule string }

// grant describes the calls that the answer Run allows.
type grant struct {
	kind
	shape string // of the arguments; see shape
}

// waiter is a question that waits.
type waiter struct {
	grant
	question Question
	ctx      context.Context
	end      context.CancelCauseFunc
	timer    *time.Timer
	settled  *Answer   // the answer to another question that settles this one
	shown    []*waiter // the others that were shown, which Batch allows too
	looked   bool      // shown is set
}

// Approve implements Approver.
func (g *gate) Approve(ctx context.Context, q *Question) (Answer, error) {
	w := &waiter{grant: grant{kind{q.Tool, q.Rule}, q.Connection + strings.Join(shape(q.Arguments), "\x00")}, question: *q}
	w.ctx, w.end = context.WithCancelCause(ctx)
	defer w.end(nil)
	if a, ok := g.enter(w); ok {
		return a, nil
	}
	defer g.leave(w)
	pause := time.NewTimer(gather)
	defer pause.Stop()
	select {
	case <-pause.C:
	case <-w.ctx.Done():
	}
	a, err := g.ask(w)
	return g.settle(ctx, w, a, err)
}

// enter adds a question to the waiting ones, unless an earlier answer allows or refuses the call.
func (g *gate) enter(w *waiter) (Answer, bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if a, ok := g.refused[w.rule]; ok {
		return a, true
	}
	if a, ok := g.allowed[w.grant]; ok {
		return a, true
	}
	w.timer = time.AfterFunc(g.timeout, func() { w.end(errNoAnswer) })
	g.waiting = append(g.waiting, w)
	return Answer{}, false
}

func (g *gate) leave(w *waiter) {
	g.mu.Lock()
	defer g.mu.Unlock()
	w.timer.Stop()
	g.waiting = slices.DeleteFunc(g.waiting, func(other *waiter) bool { return other == w })
}

// ask asks in the first way that works.
func (g *gate) ask(w *waiter) (Answer, error) {
	q := w.question
	q.others = func() []*Question { return g.others(w) }
	var failed []error
	tooLong := false
	for _, way := range g.ways {
		if w.ctx.Err() != nil {
			break
		}
		if _, ok := way.(*overflow); ok && !tooLong {
			continue
		}
		a, err := way.Approve(w.ctx, &q)
		if err == nil {
			return a, nil
		}
		_, long := errors.AsType[*TooLongError](err)
		tooLong = tooLong || long
		failed = append(failed, err)
	}
	return Answer{}, errors.Join(failed...)
}

// others returns the questions that are shown with w. The first call fixes them.
func (g *gate) others(w *waiter) []*Question {
	g.mu.Lock()
	defer g.mu.Unlock()
	if !w.looked && w.question.Run != "" {
		w.looked = true
		for _, other := range g.waiting {
			if other != w && other.kind == w.kind {
				w.shown = append(w.shown, other)
			}
		}
	}
	list := make([]*Question, len(w.shown))
	for i, other := range w.shown {
		list[i] = &other.question
	}
	return list
}

// settle applies an answer to the other waiting questions, and returns it as an answer to one call.
func (g *gate) settle(ctx context.Context, w *waiter, a Answer, err error) (Answer, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	switch {
	case ctx.Err() != nil:
		return Answer{}, ctx.Err()
	case w.settled != nil: // even if its own answer came at the same time
		return *w.settled, nil
	case errors.Is(context.Cause(w.ctx), errNoAnswer):
		return Answer{Reason: fmt.Sprintf("nobody answered within %v", g.timeout)}, nil
	case err != nil:
		return Answer{}, err
	}
	for _, other := range g.waiting {
		if other != w {
			other.timer.Reset(g.timeout) // somebody is there to answer
		}
	}
	if w.question.Run == "" {
		if a.Scope.allows() {
			a.Scope = Once
		} else {
			a.Scope = Refused
		}
		return a, nil
	}
	switch a.Scope {
	case Once:
	case Run:
		later := a.forOthers()
		g.allowed[w.grant] = later
		g.end(later, g.waiting, func(other *waiter) bool { return other != w && other.grant == w.grant })
	case Batch:
		g.end(a.forOthers(), w.shown, nil)
	case RefusedBatch:
		a = a.refusal("refused together with those that waited", "")
		g.end(a, w.shown, nil)
	case RefusedRun:
		a = a.refusal("refused for the rest of this run", "; do not make such calls again")
		g.refused[w.rule] = a
		g.end(a, g.waiting, func(other *waiter) bool { return other != w && other.rule == w.rule })
	default:
		a.Scope = Refused
	}
	return a, nil
}

// forOthers turns an answer into one for the other calls that it allows too.
func (a Answer) forOthers() Answer {
	a.By += " (for the " + string(a.Scope) + ")"
	return a
}

// refusal returns an answer that refuses several calls. The texts what and advice are for the script.
func (a Answer) refusal(what, advice string) Answer {
	if a.By != "" {
		what += " by " + a.By
	}
	what += advice
	if a.Reason != "" {
		what += ": " + a.Reason
	}
	return Answer{By: a.By, Reason: what}
}

// end gives an answer to the other waiting questions for which fits is true.
func (g *gate) end(a Answer, list []*waiter, fits func(*waiter) bool) {
	for _, other := range list {
		if other.settled == nil && (fits == nil || fits(other)) {
			other.settled = &a
			other.end(errSettled)
		}
	}
}
