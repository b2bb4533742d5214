package main

import (
	"sync"

	"github.com/mcpgen/mcpgen/gen/tokens"
)

// cachedShare is the price of a token that a provider finds in its cache, as a share of the price of other tokens.
const cachedShare = 0.1

// ledger counts the tokens of one conversation. It does not count reasoning, nor the few tokens with which a provider
// frames messages.
type ledger struct {
	definitions int // at the beginning, included in in
	in, out     int // each text once
	turns       int

	context int // tokens that the next turn reads
	known   int // how many of them the last turn has read
	billed  int // tokens that all turns read, each the whole context
	cached  float64
}

// define puts tool definitions at the beginning. They count as cached by an earlier conversation.
func (l *ledger) define(n int) {
	l.definitions += n
	l.known += n
	l.read(n)
}

// read adds n tokens to the context: the task, a result, a file.
func (l *ledger) read(n int) {
	l.in += n
	l.context += n
}

// write is a turn: the model reads the whole context, and writes n tokens.
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
