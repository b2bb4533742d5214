package main

import (
	"sync"

	"github.com/mcpgen/mcpgen/gen/tokens"
)

// cachedShare is what providers ask for a token that they find in their cache, as a part of a token that they read anew.
const cachedShare = 0.1

// ledger counts what one conversation costs. The model's own thoughts, and the few tokens with which a provider frames
// messages, are in no way's count.
type ledger struct {
	definitions int // in front of everything, part of in
	in, out     int // each text once
	turns       int

	context int // what the next turn reads
	known   int // how much of it the last turn has read
	billed  int // what all turns read, each the whole context
	cached  float64
}

// define puts tool definitions in front. With a cache, earlier conversations have left them there.
func (l *ledger) define(n int) {
	l.definitions += n
	l.known += n
	l.read(n)
}

// read puts something in front of the model: the task, a result, a file.
func (l *ledger) read(n int) {
	l.in += n
	l.context += n
}

// write is a turn: the model reads all there is, and writes n tokens.
func (l *ledger) write(n int) {
	l.turns++
	l.billed += l.context
	l.cached += cachedShare*float64(l.known) + float64(l.context-l.known)
	l.known = l.context
	l.context += n
	l.out += n
}

// counter counts tokens, each text once. It is safe for concurrent use.
type counter struct {
	mu    sync.Mutex
	known map[string]int
}

func newCounter() *counter { return &counter{known: map[string]int{}} }

func (c *counter) count(text string) int {
	c.mu.Lock()
	n, ok := c.known[text]
	c.mu.Unlock()
	if ok {
		return n
	}
	n = tokens.Count(text)
	c.mu.Lock()
	c.known[text] = n
	c.mu.Unlock()
	return n
}
