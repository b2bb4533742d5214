package model

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/cenkalti/backoff/v5"

	"github.com/mcpgen/mcpgen/runner/store"
)

// Limit bounds tokens, read and written together, and their cost in US dollars. Zero: no bound.
type Limit struct {
	Tokens int64
	Cost   float64
}

// Budget bounds what models may use. It is checked before a request is sent, and what the answer used is counted after it: requests that are
// under way at the same time may exceed a limit together.
type Budget struct {
	// Run bounds one client: open one for each run.
	Run Limit
	// Day bounds all processes that share State on one day in UTC.
	Day Limit
	// State opens the store that counts the day. It is needed if Day has a limit.
	State store.Opener
}

// BudgetError says that a budget is used up. Nothing was sent.
type BudgetError struct {
	// Of is "run" or "day", and Limit what it may use.
	Of    string
	Limit Limit
	Used  Usage
}

func (e *BudgetError) Error() string {
	used, limit := fmt.Sprintf("%d tokens", e.Used.tokens()), fmt.Sprintf("%d", e.Limit.Tokens)
	if !e.Limit.tokensUsed(e.Used) {
		used, limit = fmt.Sprintf("$%.2f", e.Used.Cost), fmt.Sprintf("$%.2f", e.Limit.Cost)
	}
	return fmt.Sprintf("the budget for models is used up: this %s has used %s of %s", e.Of, used, limit)
}

// Hint says what to do.
func (e *BudgetError) Hint() string {
	if e.Of == "day" {
		return "wait until 00:00 UTC, or raise model.budget.day in mcpgen.yaml"
	}
	return "raise model.budget.run in mcpgen.yaml"
}

func (u *Usage) tokens() int64 { return u.Input + u.Output }

func (u *Usage) add(o Usage) {
	u.Input, u.Output, u.Cost = u.Input+o.Input, u.Output+o.Output, u.Cost+o.Cost
}

func (l Limit) tokensUsed(u Usage) bool { return l.Tokens > 0 && u.tokens() >= l.Tokens }

// usedUp reports whether nothing is left.
func (l Limit) usedUp(u Usage) bool { return l.tokensUsed(u) || l.Cost > 0 && u.Cost >= l.Cost }

// day is what was used on a day. It is one document of the store.
type day struct {
	Day string `json:"day"` // in UTC
	Usage
}

var dayKey = store.Key{Kind: "model", Name: "day"}

// budget counts what a client uses.
type budget struct {
	Budget
	mu  sync.Mutex
	run Usage
}

// check returns a *BudgetError if nothing is left.
func (b *budget) check(ctx context.Context) error {
	b.mu.Lock()
	run := b.run
	b.mu.Unlock()
	if b.Run.usedUp(run) {
		return &BudgetError{"run", b.Run, run}
	}
	if b.Day == (Limit{}) {
		return nil
	}
	today, _, err := b.today(ctx)
	if err != nil {
		return fmt.Errorf("read what models have used today: %w", err)
	}
	if b.Day.usedUp(today.Usage) {
		return &BudgetError{"day", b.Day, today.Usage}
	}
	return nil
}

// today reads what was used today. A clock that is behind does not begin a day that has ended elsewhere.
func (b *budget) today(ctx context.Context) (*day, *store.Document, error) {
	s, err := b.State(ctx)
	if err != nil {
		return nil, nil, err
	}
	now := &day{Day: time.Now().UTC().Format(time.DateOnly)}
	d, err := s.Document(ctx, dayKey)
	if errors.Is(err, store.ErrNotFound) {
		return now, &store.Document{Key: dayKey}, nil
	}
	if err != nil {
		return nil, nil, err
	}
	var kept day
	if err := json.Unmarshal(d.Value, &kept); err != nil || kept.Input < 0 || kept.Output < 0 || kept.Cost < 0 {
		return nil, nil, fmt.Errorf("the document %s %s in %s is damaged: delete it", dayKey.Kind, dayKey.Name, s.Place())
	}
	if kept.Day >= now.Day {
		now = &kept
	}
	return now, d, nil
}

const spendTime = 10 * time.Second

// spend counts what was used, even if ctx has ended.
func (b *budget) spend(ctx context.Context, used Usage) error {
	if used == (Usage{}) {
		return nil
	}
	b.mu.Lock()
	b.run.add(used)
	b.mu.Unlock()
	if b.Day == (Limit{}) {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), spendTime)
	defer cancel()
	pauses := &backoff.ExponentialBackOff{InitialInterval: time.Millisecond, RandomizationFactor: 0.5, Multiplier: 1.5, MaxInterval: 50 * time.Millisecond}
	_, err := backoff.Retry(ctx, func() (struct{}, error) {
		today, d, err := b.today(ctx)
		if err == nil {
			today.add(used)
			if d.Value, err = json.Marshal(today); err == nil {
				s, _ := b.State(ctx) // it was opened
				_, err = s.SetDocument(ctx, d)
			}
		}
		if err != nil && !errors.Is(err, store.ErrConflict) {
			err = backoff.Permanent(err)
		}
		return struct{}{}, err
	}, backoff.WithBackOff(pauses))
	if err != nil {
		return fmt.Errorf("count what the model has used: %w", err)
	}
	return nil
}
