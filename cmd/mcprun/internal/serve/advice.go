package serve

import (
	"github.com/mcpgen/mcpgen/cmd/internal/cli"
	"github.com/mcpgen/mcpgen/runner/chain"
)

// watch returns a watcher that logs events for the operator, and passes all others to the client.
func (b *snapshot) watch(client func(chain.Event)) func(chain.Event) {
	return func(e chain.Event) {
		switch {
		case e.Kind == chain.EventAdvice:
			b.log.Warn(cli.EscapeLine(e.Message), "tool", cli.EscapeLine(e.Tool))
		case client != nil:
			client(e)
		}
	}
}
