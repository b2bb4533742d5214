package chain

import "github.com/mcpgen/mcpgen/runner/call"

// Handler returns the function that makes the run's tool calls: its stages, outermost first.
func (c *Calls) Handler() call.Handler {
	return wrap(c.chain.callUpstream,
		c.report,         // sees every call, also those that are refused, so that the run's record is complete
		c.reserve,        // holds memory for a large result until the result is delivered
		c.large,          // replaces large results by handles; the recording below keeps them whole
		c.learn,          // above mark, which has read the text by then; below large, so that it sees the whole result
		c.mark,           // below large, so that a handle knows what is in its file; above the recording, which keeps results as they came
		c.respell,        // above the recording, which keeps the arguments as they are sent
		c.record,         // also calls that are refused: in a replay each call then has the number it had
		c.resolve,        // turns the script's tool id into a server and a tool, by the lock alone
		c.validateArgs,   // refuses bad arguments before anything is sent
		c.policy,         // judges the real tool and the final arguments, before the call waits or is sent; also in replays and dry runs
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
func (c *Calls) asker() handler {
	return wrap(c.chain.askUpstream, c.report, c.reserve, c.resourceParts, c.record, c.policy, c.replay, c.queue, c.retry, c.timeout)
}
