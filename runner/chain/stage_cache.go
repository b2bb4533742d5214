package chain

import (
	"context"
	"fmt"
	"time"

	"github.com/mcpgen/mcpgen/gen/catalog"
	"github.com/mcpgen/mcpgen/gen/upstream"
	"github.com/mcpgen/mcpgen/runner/cache"
	"github.com/mcpgen/mcpgen/runner/call"
	"github.com/mcpgen/mcpgen/runner/policy"
)

// identifier tells which server a call would reach now, and as whom. *upstream.Pool implements it.
type identifier interface {
	Identity(server string) (upstream.Identity, error)
}

// cacheTime bounds each use of the cache's state, because calls can be made without it.
const cacheTime = 3 * time.Second

// cache answers calls of tools that change nothing, and reads of resources, from the cache, and keeps their results there. Any other call that is sent removes the
// results of its server, so that a script which has changed something does not read what was there before.
func (c *Calls) cache(next handler) handler {
	up, ok := c.chain.upstreams.(identifier)
	if c.set.Cache == nil || !ok || c.set.DryRun || c.player != nil {
		return next
	}
	return func(ctx context.Context, req *request) (*call.Result, error) {
		switch {
		case req.isAsk && req.Name != methodReadResource:
			return next(ctx, req)
		case !req.isAsk && !c.chain.readOnly(req):
			res, err := next(ctx, req)
			if req.waiting.wasSent() {
				c.changed(ctx, req)
			}
			return res, err
		}
		identity, key, ok := c.cacheKey(up, req)
		if !ok {
			return next(ctx, req)
		}
		kept, version, end, err := c.cached(ctx, key, req.Timeout == 0)
		defer end()
		switch {
		case ctx.Err() != nil:
			return nil, callError(ctx, req, ctx.Err())
		case err != nil:
			c.notCached(req, err)
			return next(ctx, req)
		case kept != nil:
			req.cached = kept
			c.set.Cache.Hit(key)
			out := &call.Result{Value: kept.Value, As: kept.As, Structured: kept.Structured}
			if req.Raw || req.isAsk {
				out.Raw = out.Value
			}
			return out, nil
		}
		req.missed = true
		sent, began := c.set.Cache.Now(), time.Now()
		res, err := next(ctx, req)
		if err == nil && c.mayKeep(req, identity) {
			took := time.Since(began) - time.Duration(req.queueMS*float64(time.Millisecond))
			c.keepResult(ctx, req, res, key, &cache.Result{Value: res.Value, As: res.As, Structured: res.Structured, Took: took, Sent: sent}, version)
		}
		return res, err
	}
}

// keepResult keeps a result for as long as both the settings and the server allow.
func (c *Calls) keepResult(ctx context.Context, req *request, res *call.Result, key cache.Key, r *cache.Result, version int64) {
	ttl := c.set.Cache.TTL(req.Tool)
	if said, ok := upstream.TTL(res.Raw); ok {
		ttl = min(ttl, said)
	}
	limited, cancel := context.WithTimeout(ctx, cacheTime)
	defer cancel()
	if err := c.set.Cache.Set(limited, key, r, ttl, version); err != nil && ctx.Err() == nil {
		c.notCached(req, err)
	}
}

// cacheKey returns the key of a call and the identity of its server. ok is false if the cache must not answer the call, nor keep its result: a person
// has approved that it is sent, nobody has reviewed what its tool is by now, or its results are not cached.
func (c *Calls) cacheKey(up identifier, req *request) (id upstream.Identity, key cache.Key, ok bool) {
	definition, hints := "", c.chain.hints(req)
	if _, tool, known := c.chain.catalog.Lookup(req.Tool); known {
		definition = tool.Digest
	}
	switch {
	case definition == "" && !req.isAsk || c.set.AllowDrift || c.uncached.Load() || c.set.Cache.TTL(req.Tool) <= 0:
		return id, key, false
	case req.decision != nil && req.decision.Effect == policy.Ask:
		return id, key, false
	case hints.Destructive != nil && *hints.Destructive: // which raises the risk, whoever says that the tool is read-only
		return id, key, false
	case c.chain.hasDrifted(req.Tool):
		return id, key, false
	}
	args, err := catalog.Canonical(req.Args)
	if err == nil {
		id, err = up.Identity(req.Server)
	}
	if err != nil { // the call reports it
		return id, key, false
	}
	key, err = c.set.Cache.Key(&cache.Call{
		Customer: c.set.Subject.Customer, Server: req.Server, Identity: id[:], Tool: req.Tool, Definition: definition, Arguments: args,
		Form: fmt.Sprintf("raw %t, checked %t, asks %t", req.Raw, !req.Raw || c.run.Direct, c.run.Elicit != nil),
	})
	if err != nil {
		c.notCached(req, err)
	}
	return id, key, err == nil
}

// hasDrifted reports whether the server's definition of a tool was another than the locked one when it was last compared.
func (ch *Chain) hasDrifted(tool string) bool {
	ch.mu.Lock()
	defer ch.mu.Unlock()
	known := ch.compared[tool]
	return known != nil && known.verdict != ""
}

// cached returns the result of an equal call, or nil. With waits, it waits once for one that is in progress. The caller calls end when its own call
// has ended.
func (c *Calls) cached(ctx context.Context, key cache.Key, waits bool) (kept *cache.Result, version int64, end func(), err error) {
	end = func() {}
	kept, version, err = c.lookUp(ctx, key)
	if err != nil || c.set.NoCache {
		return nil, version, end, err
	}
	if kept != nil || !waits {
		return kept, version, end, nil
	}
	lead, other := c.set.Cache.Lead(key)
	if other == nil {
		end = lead
	} else {
		select {
		case <-other:
		case <-ctx.Done():
			return nil, version, end, nil
		}
	}
	kept, version, err = c.lookUp(ctx, key) // another call may have ended since
	return kept, version, end, err
}

func (c *Calls) lookUp(ctx context.Context, key cache.Key) (*cache.Result, int64, error) {
	ctx, cancel := context.WithTimeout(ctx, cacheTime)
	defer cancel()
	return c.set.Cache.Get(ctx, key)
}

// mayKeep reports whether the result of a call that did not fail may answer others.
func (c *Calls) mayKeep(req *request, identity upstream.Identity) bool {
	return !req.isToolError && !req.misfit && req.drift == "" && req.origin != nil && req.origin.Identity == identity && !req.origin.Asked()
}

// changed removes the results of a server to which a call was sent that may have changed something.
func (c *Calls) changed(ctx context.Context, req *request) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), cacheTime) // the run may have ended
	defer cancel()
	if err := c.set.Cache.Changed(ctx, req.Server); err != nil {
		c.advise(req, "cached results of server %q may be from before this call, because they could not be removed: %v", req.Server, err)
	}
}

// flushCache tells the cache about the hits of the run.
func (c *Calls) flushCache() {
	if c.set.Cache == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), cacheTime)
	defer cancel()
	if err := c.set.Cache.Flush(ctx); err != nil {
		c.advise(&request{}, "hits of cached results are not counted: %v", err)
	}
}

// notCached tells the operator why results are not cached. The run makes its other calls without the cache.
func (c *Calls) notCached(req *request, err error) {
	c.uncached.Store(true)
	c.advise(req, "results are not cached: %v", err)
}
