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

// changedTime bounds removing the results of a server from the cache, in a run that may have ended.
const changedTime = 10 * time.Second

// cache answers calls of tools that change nothing from the cache, and keeps their results there. Any other call that is sent removes the
// results of its server, so that a script which has changed something does not read what was there before.
func (c *Calls) cache(next handler) handler {
	up, ok := c.chain.upstreams.(identifier)
	if c.set.Cache == nil || !ok || c.set.DryRun || c.player != nil {
		return next
	}
	return func(ctx context.Context, req *request) (*call.Result, error) {
		if !c.chain.readOnly(req) {
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
		kept, version, end, err := c.cached(ctx, key)
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
			if req.Raw {
				out.Raw = out.Value
			}
			return out, nil
		}
		req.missed = true
		sent, began := c.set.Cache.Now(), time.Now()
		res, err := next(ctx, req)
		if err == nil && c.mayKeep(req, identity) {
			ttl := c.set.Cache.TTL(req.Tool)
			if said, ok := upstream.TTL(res.Raw); ok {
				ttl = min(ttl, said)
			}
			took := time.Since(began) - time.Duration(req.queueMS*float64(time.Millisecond))
			r := &cache.Result{Value: res.Value, As: res.As, Structured: res.Structured, Took: took, Sent: sent}
			if err := c.set.Cache.Set(ctx, key, r, ttl, version); err != nil {
				c.notCached(req, err)
			}
		}
		return res, err
	}
}

// cacheKey returns the key of a call and the identity of its server. ok is false if the cache must not answer the call, nor keep its result: a person
// has approved that it is sent, nobody has reviewed what its tool is by now, or its results are not cached.
func (c *Calls) cacheKey(up identifier, req *request) (id upstream.Identity, key cache.Key, ok bool) {
	_, tool, known := c.chain.catalog.Lookup(req.Tool)
	hints := c.chain.hints(req)
	switch {
	case !known || c.set.AllowDrift || c.set.Cache.TTL(req.Tool) <= 0:
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
		Customer: c.set.Subject.Customer, Server: req.Server, Identity: id[:], Tool: req.Tool, Definition: tool.Digest, Arguments: args,
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

// cached returns the result of an equal call, or nil. While one is in progress, it waits for that, once. The caller calls end when its own has
// ended.
func (c *Calls) cached(ctx context.Context, key cache.Key) (kept *cache.Result, version int64, end func(), err error) {
	end = func() {}
	kept, version, err = c.set.Cache.Get(ctx, key)
	if err != nil || c.set.NoCache {
		return nil, version, end, err
	}
	if kept != nil {
		return kept, version, end, nil
	}
	lead, other := c.set.Cache.Lead(key)
	if other == nil {
		return nil, version, lead, nil
	}
	select {
	case <-other:
		kept, version, err = c.set.Cache.Get(ctx, key)
	case <-ctx.Done():
	}
	return kept, version, end, err
}

// mayKeep reports whether the result of a call that did not fail may answer others.
func (c *Calls) mayKeep(req *request, identity upstream.Identity) bool {
	return !req.isToolError && !req.misfit && req.drift == "" && req.origin != nil && req.origin.Identity == identity && !req.origin.Asked()
}

// changed removes the results of a server to which a call was sent that may have changed something.
func (c *Calls) changed(ctx context.Context, req *request) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), changedTime)
	defer cancel()
	if err := c.set.Cache.Changed(ctx, req.Server); err != nil {
		c.advise(req, "cached results of server %q may be from before this call, because they could not be removed: %v", req.Server, err)
	}
}

// notCached tells the operator why a result is not cached.
func (c *Calls) notCached(req *request, err error) {
	c.advise(req, "results are not cached: %v", err)
}
