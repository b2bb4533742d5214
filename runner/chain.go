package runner

import "github.com/mcpgen/mcpgen/runner/call"

// handler returns the stages of one run's tool calls, outermost first. Only this function defines the order. Each stage is in a
// file of its own: waitForMemory is in stage_wait_for_memory.go.
func (c *calls) handler() call.Handler {
	return chain(c.r.callUpstream,
		c.report,         // sees every call, also those that are refused, so that the run's record is complete
		c.markJSONText,   // above the recording, which keeps results as they came
		c.reserve,        // holds memory for a large result until the result is delivered
		c.large,          // replaces large results by handles; the recording below keeps them whole
		c.respell,        // above the recording, which keeps the arguments as they are sent
		c.record,         // also calls that are refused: in a replay each call then has the number it had
		c.resolve,        // turns the script's tool id into a server and a tool, by the lock alone
		c.validateArgs,   // refuses bad arguments before anything is sent
		c.replay,         // below it servers take part, and a replay has none
		c.dryRun,         // the same for calls that a dry run skips
		c.queue,          // waiting here does not count against the call's timeout, which starts below
		c.waitForMemory,  // below the queue, so that a call which waits for memory does not hold back calls to other servers
		c.scriptTimeout,  // the timeout that the script gave; it starts when the call has left the queue
		c.retry,          // keeps its place in the queue, so that retries add nothing to a server's load
		c.timeout,        // of one try: all that follows except the start of its server
		c.drift,          // below retry: a restarted server may have other tools; listing them counts against the timeout
		c.validateResult, // a bad result is not retried
	).callHandler()
}

// asker returns the stages of requests that are not tool calls: the same, without those about tools.
func (c *calls) asker() handler {
	return chain(c.r.askUpstream, c.report, c.reserve, c.resourceParts, c.record, c.replay, c.queue, c.retry, c.timeout)
}

// chain wraps last in the stages; the first stage is outermost.
func chain(last handler, stages ...stage) handler {
	h := last
	for i := len(stages) - 1; i >= 0; i-- {
		h = stages[i](h)
	}
	return h
}
