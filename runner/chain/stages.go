package chain

import "github.com/mcpgen/mcpgen/runner/call"

// Handler returns the function that makes the run's tool calls: its stages, outermost first.
func (c *Calls) Handler() call.Handler {
	return c.counted(wrap(c.chain.callUpstream,
		c.report,         // sees every call, including refused ones, so that the run's record is complete
		c.reserve,        // holds memory for a large result until the result is delivered
		c.large,          // replaces large results by handles; the recording below keeps them whole
		c.personal,       // below large, so that in bridge mode files have tokens too; above learn and the recording, which see real values
		c.learn,          // above mark, so that it sees the parsed text; below large, so that it sees the whole result
		c.mark,           // below large, so that a handle knows what is in its file; above the recording, which keeps results as they came
		c.respell,        // above the recording, which keeps the arguments as they are sent
		c.record,         // records refused calls too, so that each call has the same number in a replay
		c.resolve,        // turns the script's tool id into a server and a tool, by the lock alone
		c.restore,        // below resolve, which names the server; above what judges or shows the arguments, so that it sees real values
		c.validateArgs,   // refuses bad arguments before anything is sent
		c.journal,        // above what decides, delays or sends, none of which a call that has ended needs again; below restore, so that it has real values, whose tokens may differ in another process, and below large, which writes a file that may be gone
		c.plugins,        // below the journal, so that a run that is continued gets what plugins have made of a call; above policy, which judges what they have changed; it replaces personal data by tokens itself
		c.policy,         // judges the real tool and the final arguments, before the call waits or is sent; also in replays and dry runs
		c.replay,         // only stages below it involve servers, which a replay does not have
		c.dryRun,         // nor does a dry run for the calls that it skips
		c.cache,          // below what judges the call and what makes no calls, so that a cached result is governed as one of a server; above queue, audit and whatever else is for calls that are sent
		c.queue,          // waiting here does not count against the call's timeout, which starts below
		c.waitForMemory,  // below the queue, so that a call which waits for memory does not hold back calls to other servers
		c.stay,           // below what may delay the call; above audit, so that a call which stays has no intent
		c.audit,          // below what may refuse or delay the call, so that an intent without an end was sent; above retry, so that all tries have one
		c.scriptTimeout,  // the timeout that the script gave; it starts when the call has left the queue
		c.retry,          // a retry keeps its place in the queue, so it adds nothing to a server's load
		c.timeout,        // bounds one try: everything below except the start of the server
		c.drift,          // below retry: a restarted server may have other tools; listing them counts against the timeout
		c.intend,         // below whatever may still refuse or delay the call, so that what is announced is sent at once; once for all tries
		c.validateResult, // a bad result is not retried
		c.trace,          // innermost: a span is one request to the server, so each try has its own
	).callHandler())
}

// asker returns the stages of requests that are not tool calls: the same, without those about tools. None is announced in the journal: they change nothing.
func (c *Calls) asker() handler {
	return wrap(c.chain.askUpstream, c.report, c.reserve, c.resourceParts, c.personal, c.record, c.restore, c.journal, c.plugins, c.policy, c.replay, c.cache, c.queue, c.audit, c.retry, c.timeout, c.trace)
}
