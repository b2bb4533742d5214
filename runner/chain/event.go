package chain

import "github.com/mcpgen/mcpgen/gen/upstream"

// Event is something that happens to a run or to one of its calls.
type Event struct {
	Kind EventKind
	// Call is the number of the call in its run, from 1; Tool its id.
	Call int
	Tool string
	// Outcome is the outcome of a call that has ended; see [CallRecord].
	Outcome string
	// Progress is the server's report; only with EventProgress.
	Progress upstream.Progress
	// Message is for people: the reason of a retry, a warning, what a call waits for. It may contain text of a server.
	Message string
}

// EventKind is the kind of an event.
type EventKind string

const (
	EventReady    EventKind = "ready"    // the sandbox is ready and the script begins; not about a call
	EventWaiting  EventKind = "waiting"  // the call waits for what Message says, such as "its answer"
	EventStarted  EventKind = "started"  // the call is made
	EventStarting EventKind = "starting" // its server is starting, as Message says; an empty Message when it has started
	EventProgress EventKind = "progress" // the server reported progress
	EventRetry    EventKind = "retry"    // it is being retried
	EventEnded    EventKind = "ended"
	EventWarning  EventKind = "warning"
	EventAdvice   EventKind = "advice" // what the operator of mcprun may do; not for a model
)

// WaitAnswer is the Message of [EventWaiting] for a call that has been sent.
const WaitAnswer = "its answer"
