package upstream

import (
	"context"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// eraProbe bounds server/discover, with which the SDK finds out whether a server speaks the newer protocol era. Some
// servers of the older era ignore it. After the limit the request is cancelled, and the SDK goes on with the handshake of
// the older era on the same connection: the server may only be slow, and a new process could end an installation
// halfway.
type eraProbe struct {
	limit    time.Duration // 0 means none
	starting func() bool   // reports whether the server has not read the request yet; nil if that is not known
	log      *slog.Logger

	sent, gaveUp atomic.Bool
}

// middleware watches server/discover.
func (p *eraProbe) middleware(next mcp.MethodHandler) mcp.MethodHandler {
	return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
		if method != methodDiscover {
			return next(ctx, method, req)
		}
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		p.sent.Store(true)
		if p.limit > 0 {
			go p.watch(ctx, cancel)
		}
		return next(ctx, method, req)
	}
}

// watch gives the probe up after the limit. Until the server has read the probe, it is still starting, and the time does
// not count. The probe may not be written yet when watch begins.
func (p *eraProbe) watch(ctx context.Context, giveUp func()) {
	step := p.limit / 10
	for waited := time.Duration(0); waited < p.limit; waited += step {
		if !pause(ctx, step) {
			return
		}
		if p.starting != nil && p.starting() {
			waited = 0
		}
	}
	p.log.Info("the server has not answered the probe of the newer protocol; going on with the older one")
	p.gaveUp.Store(true)
	giveUp()
}
