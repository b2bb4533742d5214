package script

import (
	"container/list"
	"context"
	"sync"
)

// Cache keeps bundles, so that a second run of the same script does without the bundler. It is safe for concurrent use.
type Cache struct {
	limit   int
	bundler bundler

	mu    sync.Mutex
	size  int
	byKey map[cacheKey]*list.Element
	order *list.List // of *cached, the one used last first
}

// DefaultCacheBytes is what NewCache keeps when not told.
const DefaultCacheBytes = 32 << 20

// maxAtWork is how many bundles are made at once. A text that is made to cost time cannot be stopped, but takes one of
// these as long as it goes on.
const maxAtWork = 8

// NewCache makes a cache that holds bundles and their scripts of at most limit bytes; the ones used longest ago go first.
// Zero: DefaultCacheBytes.
func NewCache(limit int) *Cache {
	if limit == 0 {
		limit = DefaultCacheBytes
	}
	return &Cache{limit: limit, bundler: make(inProcess, maxAtWork), byKey: map[cacheKey]*list.Element{}, order: list.New()}
}

// Use has bundles made by b, instead of in this process, where a script can take all the memory there is. It returns c.
func (c *Cache) Use(b *Bundler) *Cache {
	if b != nil {
		c.bundler = b
	}
	return c
}

// maker is what makes the bundles of a cache.
func (c *Cache) maker() bundler {
	if c == nil {
		return inProcess(nil)
	}
	return c.bundler
}

// cacheKey is everything of a script that its bundle stands on, beside what is on disk.
type cacheKey struct{ name, code, dir, tree, skills string }

type cached struct {
	key    cacheKey
	bundle *bundle
	reads  *reads
}

func (e *cached) size() int { return len(e.bundle.code) + len(e.key.code) }

// bundle returns the kept bundle if it is still true, else a new one.
func (c *Cache) bundle(ctx context.Context, src Source, opt Options) (*bundle, error) {
	t := task{Src: src, Opt: opt}
	if c == nil {
		return c.maker().make(ctx, t, nil)
	}
	key := cacheKey{src.Name, src.Code, src.Dir, opt.Tree, opt.Skills}
	if e := c.find(key); e != nil && e.reads.hold(src, opt) {
		return e.bundle, nil
	}
	seen := newReads()
	made, err := c.bundler.make(ctx, t, seen)
	if err != nil {
		return nil, err
	}
	c.keep(&cached{key, made, seen})
	return made, nil
}

func (c *Cache) find(key cacheKey) *cached {
	c.mu.Lock()
	defer c.mu.Unlock()
	at := c.byKey[key]
	if at == nil {
		return nil
	}
	c.order.MoveToFront(at)
	return at.Value.(*cached)
}

func (c *Cache) keep(e *cached) {
	if e.size() > c.limit/4 {
		return // it would drive out all others
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if at := c.byKey[e.key]; at != nil {
		c.drop(at)
	}
	c.byKey[e.key] = c.order.PushFront(e)
	c.size += e.size()
	for c.size > c.limit {
		c.drop(c.order.Back())
	}
}

func (c *Cache) drop(at *list.Element) {
	e := c.order.Remove(at).(*cached)
	delete(c.byKey, e.key)
	c.size -= e.size()
}
