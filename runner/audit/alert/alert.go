// Package alert tells a program of what somebody should look at now: runs of high risk, violations, blocked addresses and failures. Start with
// [New], and give what it returns each entry of the record once that is durable.
package alert

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/mcpgen/mcpgen/gen/config"
	"github.com/mcpgen/mcpgen/runner/audit"
	"github.com/mcpgen/mcpgen/runner/egress"
	"github.com/mcpgen/mcpgen/runner/internal/notify"
	"github.com/mcpgen/mcpgen/runner/risk"
)

// Kind is a kind of alerts.
type Kind string

// Kinds of alerts. Each can be switched on by its name.
const (
	HighRisk      Kind = "high_risk"      // a run of high or critical risk is about to start, or was refused
	Violation     Kind = "violation"      // a run broke a rule
	Blocked       Kind = "blocked"        // a connection to an address in a range that is never reached
	Failure       Kind = "failure"        // a run did not succeed, or a schedule could not start one
	CodeExecution Kind = "code_execution" // a script has ended, however; for monitoring
)

// Kinds lists all kinds.
var Kinds = []Kind{HighRisk, Violation, Blocked, Failure, CodeExecution}

// Alert is what the program gets. What an alert of its kind does not have is null.
type Alert struct {
	Kind       Kind          `json:"kind"`
	Time       time.Time     `json:"time"`
	Run        audit.Text    `json:"run"`
	Who        audit.Who     `json:"who"`
	Name       audit.Text    `json:"name"` // of the script
	Risk       audit.Text    `json:"risk"`
	RiskReason audit.Text    `json:"riskReason"`
	Success    *bool         `json:"success"`
	DurationMS *float64      `json:"durationMs"`
	Violations []string      `json:"violations"`
	Error      audit.Text    `json:"error"`
	Connection *egress.Event `json:"connection"`
	// More are alerts of this kind that came after this one and are not sent, because there were too many.
	More int `json:"more"`
}

// Options configure alerts.
type Options struct {
	// Kinds are the names of those that are sent. Empty: [config.DefaultAuditAlerts].
	Kinds []string
	// Args are the program that is started for each alert, and its arguments, Dir is its working directory, and Env its environment. It may
	// take 10 seconds.
	Args []string
	Dir  string
	Env  []string
	// Warn is called when the program has failed. May be nil.
	Warn func(error)
}

// Limits of each kind.
const (
	spacing   = time.Second // between the starts of two alerts
	queued    = 8           // alerts that wait; later ones are counted
	closeTime = 15 * time.Second
)

// Alerts sends alerts, each kind by itself. A nil *Alerts sends none. It is safe for concurrent use.
type Alerts struct {
	tell    func(context.Context, any) error
	warn    func(error)
	queues  map[Kind]*queue
	closing chan struct{}   // closed when no alert comes any more
	ctx     context.Context // ends programs that take too long at the end
	cancel  context.CancelFunc
	running sync.WaitGroup
	mu      sync.Mutex
	started map[string]bool // runs that a high-risk alert was sent for
	closed  bool
}

// queue holds the alerts of a kind that wait.
type queue struct {
	mu    sync.Mutex
	wait  []*Alert
	ready chan struct{} // has an element if an alert may wait
}

// New starts sending alerts. The caller closes it.
func New(opt Options) (*Alerts, error) {
	if len(opt.Args) == 0 {
		return nil, errors.New("alerts need a program to send them with")
	}
	program := &notify.Program{Args: opt.Args, Dir: opt.Dir, Env: opt.Env}
	return start(opt, program.Tell)
}

func start(opt Options, tell func(context.Context, any) error) (*Alerts, error) {
	if len(opt.Kinds) == 0 {
		opt.Kinds = config.DefaultAuditAlerts()
	}
	a := &Alerts{
		tell: tell, warn: opt.Warn, queues: map[Kind]*queue{}, closing: make(chan struct{}), started: map[string]bool{},
	}
	for _, name := range opt.Kinds {
		kind := Kind(name)
		if !slices.Contains(Kinds, kind) {
			return nil, fmt.Errorf("there is no kind of alerts %.40q, only %v", name, Kinds)
		}
		a.queues[kind] = &queue{ready: make(chan struct{}, 1)}
	}
	a.ctx, a.cancel = context.WithCancel(context.Background())
	for _, q := range a.queues {
		a.running.Go(func() { a.send(q) })
	}
	return a, nil
}

// Observe sends the alerts that an entry of the record gives cause for. It does not wait for them.
func (a *Alerts) Observe(e audit.Entry) {
	if a == nil {
		return
	}
	one := Alert{Time: e.Time.UTC(), Run: audit.Text(e.Run), Who: e.Who}
	if one.Time.IsZero() {
		one.Time = time.Now().UTC()
	}
	if b := body[audit.RunStart](e); b != nil {
		one.program(&b.Program)
		if high(b.Risk) {
			a.mark(e.Run)
			a.add(HighRisk, one)
		}
	}
	if b := body[audit.RunEnd](e); b != nil {
		one.program(&b.Program)
		one.Success, one.DurationMS, one.Violations, one.Error = &b.Success, &b.DurationMS, b.Violations, b.Error
		if b.Action != "call_tool" {
			a.add(CodeExecution, one)
		}
		if told := a.unmark(e.Run); high(b.Risk) && !told {
			a.add(HighRisk, one)
		}
		if len(b.Violations) > 0 {
			a.add(Violation, one)
		}
		if !b.Success {
			a.add(Failure, one)
		}
	}
	if b := body[audit.Schedule](e); b != nil && b.Error != "" {
		one.Name, one.Success, one.Error = audit.Text(b.Schedule), new(false), b.Error
		a.add(Failure, one)
	}
	if b := body[egress.Event](e); b != nil && b.Check == egress.ByRange {
		one.Connection, one.Error = b, audit.Text(b.Reason)
		a.add(Blocked, one)
	}
}

// body returns the body of an entry if it is of that type.
func body[T any](e audit.Entry) *T {
	switch b := e.Body.(type) {
	case T:
		return &b
	case *T:
		return b
	}
	return nil
}

func high(level audit.Text) bool {
	l, err := risk.Parse(string(level))
	return err == nil && l >= risk.High
}

func (a *Alert) program(p *audit.Program) {
	a.Name, a.Risk, a.RiskReason = p.Name, p.Risk, p.RiskReason
}

func (a *Alerts) mark(run string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.started[run] = true
}

func (a *Alerts) unmark(run string) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	told := a.started[run]
	delete(a.started, run)
	return told
}

// add queues an alert, or counts it in the last one that waits.
func (a *Alerts) add(kind Kind, one Alert) {
	q := a.queues[kind]
	if q == nil {
		return
	}
	one.Kind = kind
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.wait) == queued {
		q.wait[queued-1].More++
		return
	}
	q.wait = append(q.wait, &one)
	select {
	case q.ready <- struct{}{}:
	default:
	}
}

// next takes the first alert that waits, or nil.
func (q *queue) next() *Alert {
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.wait) == 0 {
		return nil
	}
	first := q.wait[0]
	q.wait = q.wait[1:]
	return first
}

// send sends the alerts of a kind one after the other. At the end it sends those that wait without pauses.
func (a *Alerts) send(q *queue) {
	for {
		select {
		case <-q.ready:
		case <-a.closing:
		}
		for one := q.next(); one != nil; one = q.next() {
			pause := time.NewTimer(spacing)
			if err := a.tell(a.ctx, one); err != nil && a.warn != nil {
				a.warn(fmt.Errorf("the program of alerts failed for one of kind %s: %w", one.Kind, err))
			}
			select {
			case <-pause.C:
			case <-a.closing:
			}
			pause.Stop()
		}
		select {
		case <-a.closing:
			if len(q.ready) == 0 {
				return
			}
		default:
		}
	}
}

// Close sends the alerts that wait, for at most 15 seconds. Observe must not be called after it.
func (a *Alerts) Close() {
	if a == nil {
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.closed {
		return
	}
	a.closed = true
	late := time.AfterFunc(closeTime, a.cancel)
	defer late.Stop()
	close(a.closing)
	a.running.Wait()
	a.cancel()
}
