// Package progress tells an MCP client what happens during a call. Start with [New].
package progress

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpgen/mcpgen/gen/ident"
	"github.com/mcpgen/mcpgen/runner/chain"
)

const (
	// notifyInterval is the least time between two messages; output printed in between is sent together.
	notifyInterval = 100 * time.Millisecond
	// maxMessageBytes bounds one message, and maxMessages the number of messages with output: the result has all output anyway.
	maxMessageBytes = 2000
	maxMessages     = 500
	// maxStatus bounds a status, in bytes.
	maxStatus = 500
	// notifyTime bounds how long a client may take to read one message.
	notifyTime = 5 * time.Second
)

// Stages of a tool while no call of a script is in progress.
const (
	StageTurn    = "waiting for a turn: other runs are in progress"
	StageSandbox = "waiting for a sandbox"
	StageScript  = "script running"
)

// Progress tells the client what happens during a call. It sends progress notifications if the request has a token, and log messages if the
// client asked for them. Nothing waits for the client; messages that it does not read in time are dropped. While the call is quiet,
// Progress reports from time to time what it waits for, because clients abandon silent calls.
type Progress struct {
	quiet time.Duration

	mu       sync.Mutex
	ctx      context.Context      // the context of req
	req      *mcp.CallToolRequest // nil while the client has no request open
	output   []byte
	dropped  bool      // output was dropped
	messages int       // messages with output
	sent     int       // messages of any kind; it is the progress value
	last     time.Time // when the last message was sent
	said     string    // the last line of output
	stage    string
	since    time.Time // when stage began
	announce bool      // the stage is to be sent at once
	calls    []pendingCall
	wake     chan struct{}
	stop     chan struct{}
	sending  sync.WaitGroup
}

// pendingCall is an unanswered call of the script.
type pendingCall struct {
	number int
	tool   string
	reason string // the reason for waiting
	since  time.Time
}

// New returns the progress of a request in a stage. A call that is silent for quiet reports what it waits for. The caller must call Close.
func New(ctx context.Context, req *mcp.CallToolRequest, quiet time.Duration, stage string) *Progress {
	now := time.Now()
	p := &Progress{quiet: quiet, ctx: ctx, req: req, last: now, stage: stage, since: now, wake: make(chan struct{}, 1), stop: make(chan struct{})}
	p.sending.Go(p.send)
	return p
}

// Attach continues with another request.
func (p *Progress) Attach(ctx context.Context, req *mcp.CallToolRequest) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.ctx, p.req = ctx, req
}

// Detach stops sending until the next Attach.
func (p *Progress) Detach() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.ctx, p.req = nil, nil
}

// RequestContext returns the context of the request, for messages that belong to it. It also ends when ctx does.
func (p *Progress) RequestContext(ctx context.Context) (context.Context, context.CancelFunc) {
	p.mu.Lock()
	request := p.ctx
	p.mu.Unlock()
	if request == nil {
		request = ctx
	}
	request, cancel := context.WithCancel(request)
	stop := context.AfterFunc(ctx, cancel)
	return request, func() { stop(); cancel() }
}

// Close sends the remaining output and returns when it is sent.
func (p *Progress) Close() {
	close(p.stop)
	p.sending.Wait()
}

// Enter begins a stage.
func (p *Progress) Enter(stage string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.stage, p.since = stage, time.Now()
}

// Announce begins a stage, unless it is the present one, and tells the client at once.
func (p *Progress) Announce(stage string) {
	p.mu.Lock()
	changed := p.stage != stage
	if changed {
		p.stage, p.since, p.announce = stage, time.Now(), true
	}
	p.mu.Unlock()
	if changed {
		p.awake()
	}
}

// awake makes send look for something to send.
func (p *Progress) awake() {
	select {
	case p.wake <- struct{}{}:
	default:
	}
}

// Write adds output of the script. It never blocks and never fails.
func (p *Progress) Write(b []byte) (int, error) {
	p.mu.Lock()
	if free := max(0, maxMessageBytes-len(p.output)); len(b) > free {
		p.output, p.dropped = append(p.output, b[:free]...), true
	} else {
		p.output = append(p.output, b...)
	}
	p.mu.Unlock()
	p.awake()
	return len(b), nil
}

// Watch reports the events of a run.
func (p *Progress) Watch(e chain.Event) {
	var text string
	switch e.Kind {
	case chain.EventReady:
		p.Enter(StageScript)
	case chain.EventWaiting, chain.EventEnded:
		p.update(e)
	case chain.EventStarted:
		text = e.Tool
	case chain.EventProgress:
		text = e.Tool + ": " + e.Progress.Message
		if e.Progress.Total > 0 {
			text = fmt.Sprintf("%s: %.0f %% %s", e.Tool, 100*e.Progress.Progress/e.Progress.Total, e.Progress.Message)
		}
	case chain.EventWarning, chain.EventRetry, chain.EventStarting:
		if e.Message != "" {
			text = e.Tool + ": " + e.Message
		}
	}
	if text != "" {
		_, _ = p.Write([]byte("[" + ident.CleanLine(text) + "]\n"))
	}
}

// update maintains the list of unanswered calls.
func (p *Progress) update(e chain.Event) {
	p.mu.Lock()
	defer p.mu.Unlock()
	before := len(p.calls)
	p.calls = slices.DeleteFunc(p.calls, func(c pendingCall) bool { return c.number == e.Call })
	if e.Kind == chain.EventWaiting {
		p.calls = append(p.calls, pendingCall{number: e.Call, tool: ident.CleanLine(e.Tool), reason: ident.CleanLine(e.Message), since: time.Now()})
	} else if before > 0 && len(p.calls) == 0 {
		p.since = time.Now() // the script goes on
	}
}

// status says what the call waits for, and how long it has waited. The caller holds mu.
func (p *Progress) status(now time.Time) string {
	what, since := p.waits()
	return fmt.Sprintf("%s, %d s", what, int(now.Sub(since).Round(time.Second).Seconds()))
}

// waits says what the call waits for, and since when. Of several pending calls it names the one that has waited longest. The caller holds mu.
func (p *Progress) waits() (what string, since time.Time) {
	what, since = p.stage, p.since
	if len(p.calls) > 0 {
		c := slices.MinFunc(p.calls, func(a, b pendingCall) int { return a.since.Compare(b.since) })
		what, since = "waiting for "+c.tool, c.since
		if c.reason != chain.WaitAnswer {
			what = c.tool + " is waiting for " + c.reason
		}
		if more := len(p.calls) - 1; more > 0 {
			what += fmt.Sprintf(" and %d more", more)
		}
	}
	return what, since
}

// Summary is [Progress.Status] without the time, so that it changes seldom.
func (p *Progress) Summary() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	text, _ := p.waits()
	return p.withSaid(text)
}

// withSaid adds what the call last said. The caller holds mu.
func (p *Progress) withSaid(text string) string {
	if p.said != "" {
		text += "; " + ident.CleanLine(p.said)
	}
	return ident.Clip(text, maxStatus)
}

// Status says in a line what the call waits for, and what it last said, for a client that has no request open.
func (p *Progress) Status() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.withSaid(p.status(time.Now()))
}

// send sends messages until stop is closed. Only this goroutine sends, so the progress value always grows.
func (p *Progress) send() {
	interval := time.NewTicker(notifyInterval)
	defer interval.Stop()
	quiet := time.NewTimer(p.quiet)
	defer quiet.Stop()
	for {
		select {
		case <-p.stop:
			p.sendOutput(true)
			return
		case <-p.wake:
			p.sendOutput(false)
			p.sendStage()
			select {
			case <-interval.C:
			case <-p.stop:
			}
		case <-quiet.C:
			quiet.Reset(p.sendStatus())
		}
	}
}

// sendOutput sends the output so far, up to the end of a line unless it is the last.
func (p *Progress) sendOutput(last bool) {
	p.mu.Lock()
	text := p.output
	if !last && !p.dropped && len(text) < maxMessageBytes {
		text = text[:bytes.LastIndexByte(text, '\n')+1]
	}
	rest := bytes.Clone(p.output[len(text):])
	message := strings.TrimRight(strings.ToValidUTF8(string(text), "\uFFFD"), "\n")
	if p.dropped {
		message += " …"
	}
	p.output, p.dropped = rest, false
	if message != "" {
		p.said = message[strings.LastIndexByte(message, '\n')+1:]
	}
	if message == "" || p.req == nil || p.messages >= maxMessages {
		p.mu.Unlock()
		return
	}
	p.messages++
	p.notify(message, true)
}

// sendStatus sends the status if the call was quiet, and returns the time until the next check.
func (p *Progress) sendStatus() time.Duration {
	p.mu.Lock()
	now := time.Now()
	wait := p.last.Add(p.quiet).Sub(now)
	if p.req == nil {
		wait = p.quiet
	}
	if wait > 0 {
		p.mu.Unlock()
		return wait
	}
	p.notify(p.status(now), false)
	return p.quiet
}

// sendStage sends a stage that was announced.
func (p *Progress) sendStage() {
	p.mu.Lock()
	announced := p.announce && p.req != nil
	p.announce = false
	if !announced {
		p.mu.Unlock()
		return
	}
	p.notify(p.stage, false)
}

// notify sends a message as progress, and to the client's log if log is set. The caller holds mu; notify releases it.
func (p *Progress) notify(message string, log bool) {
	ctx, req := p.ctx, p.req
	p.sent++
	p.last = time.Now()
	value := float64(p.sent)
	p.mu.Unlock()

	ctx, cancel := context.WithTimeout(ctx, notifyTime)
	defer cancel()
	if token := req.Params.GetProgressToken(); token != nil {
		_ = req.Session.NotifyProgress(ctx, &mcp.ProgressNotificationParams{ProgressToken: token, Progress: value, Message: message})
	}
	if log {
		//lint:ignore SA1019 clients of older revisions ask for it, and those of the newest may
		_ = req.Session.Log(ctx, &mcp.LoggingMessageParams{Level: "info", Logger: "script", Data: message})
	}
}
