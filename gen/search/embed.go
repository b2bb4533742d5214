package search

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"sync"
	"time"
)

// Embedder turns texts into vectors that are near one another where the texts mean something alike. [NewEndpoint] makes
// one of an HTTP endpoint.
type Embedder interface {
	// Name tells vectors apart that must not be compared: another model, other dimensions. It is part of what the cache on
	// disk is looked up by.
	Name() string
	// Embed returns one vector for each text, in their order, all of one length. There are at most [EmbedBatch] texts, never
	// empty, and hostile. It may be called by several goroutines at once.
	Embed(ctx context.Context, texts []string) ([][]float32, error)
}

const (
	// EmbedBatch is how many texts are embedded at once.
	EmbedBatch = 64
	// maxEmbedText bounds what is embedded of a tool, in bytes: models read some thousand tokens.
	maxEmbedText = 2 << 10
	// maxDimensions bounds a vector.
	maxDimensions = 16 << 10
	// maxNear is how many tools the ranking by meaning has.
	maxNear = 100
	// embedTime is what a search waits where [Options] do not say, embedPause what passes after a failure before the next
	// try, so that a dead endpoint does not slow every search.
	embedTime, embedPause = 10 * time.Second, 30 * time.Second
)

// vectors are those of all tools. They are made at the first search, and kept.
type vectors struct {
	embedder Embedder
	wait     time.Duration
	cacheDir string

	busy  chan struct{} // held by whoever makes vectors
	tools [][]float32   // by document, of length 1; nil until made; guarded by busy
	cache *cache        // nil: none, or not opened yet; guarded by busy
	open  bool          // the cache was opened, or that was tried; guarded by busy
	// cacheErr is why the cache is not used; guarded by busy.
	cacheErr error

	mu     sync.Mutex
	failed error     // of the last try; guarded by mu
	until  time.Time // when the next one may be; guarded by mu
}

func newVectors(opts Options) *vectors {
	v := &vectors{embedder: opts.Embedder, wait: opts.EmbedTime, cacheDir: opts.CacheDir, busy: make(chan struct{}, 1)}
	if v.wait <= 0 {
		v.wait = embedTime
	}
	return v
}

// Close ends the use of the cache.
func (v *vectors) Close() error {
	if v == nil {
		return nil
	}
	return v.cache.Close()
}

// Warm makes what the [Embedder] has to make of all tools, however long that takes, so that no search has to. Without an
// Embedder it does nothing. What it has made when it fails stays.
func (x *Index) Warm(ctx context.Context) error {
	if x.vectors == nil {
		return nil
	}
	_, err := x.vectors.all(ctx, x.docs)
	return err
}

// rank puts the tools nearest to a text first. With an error there may be a ranking all the same.
func (v *vectors) rank(ctx context.Context, docs []doc, text string, s scope) ([]ranked, error) {
	if err := v.paused(); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeoutCause(ctx, v.wait, fmt.Errorf("nothing came within %s", v.wait))
	defer cancel()
	tools, err := v.all(ctx, docs)
	if err != nil && tools == nil {
		return nil, v.pause(ctx, err)
	}
	asked, embedErr := v.embed(ctx, []string{clip(text, maxEmbedText)})
	if embedErr != nil {
		return nil, v.pause(ctx, fmt.Errorf("embed the query: %w", embedErr))
	}
	if len(tools) > 0 && len(asked[0]) != len(tools[0]) { // the model behind the name is another one now
		if err = v.forget(ctx); err == nil {
			tools, err = v.all(ctx, docs)
		}
		if tools == nil {
			return nil, v.pause(ctx, err)
		}
		if len(asked[0]) != len(tools[0]) {
			return nil, v.pause(ctx, fmt.Errorf("the query has %d dimensions, the tools have %d", len(asked[0]), len(tools[0])))
		}
	}
	return nearest(tools, asked[0], docs, s), err
}

// forget drops the vectors of all tools, also from the cache, so that they are made anew.
func (v *vectors) forget(ctx context.Context) error {
	select {
	case v.busy <- struct{}{}:
	case <-ctx.Done():
		return fmt.Errorf("wait for the vectors of the tools: %w", ctx.Err())
	}
	defer func() { <-v.busy }()
	return v.drop(ctx)
}

// drop is forget for who holds busy.
func (v *vectors) drop(ctx context.Context) error {
	v.tools = nil
	if v.cache == nil || v.cacheErr != nil {
		return nil
	}
	return v.cache.forget(ctx)
}

// paused is the last failure, while it is too early for another try.
func (v *vectors) paused() error {
	v.mu.Lock()
	defer v.mu.Unlock()
	if left := time.Until(v.until); left > 0 {
		return fmt.Errorf("%w; it is tried again in %s", v.failed, left.Round(time.Second))
	}
	return nil
}

// pause notes a failure. That somebody has not waited is none.
func (v *vectors) pause(ctx context.Context, err error) error {
	if cause := context.Cause(ctx); cause != nil && errors.Is(err, ctx.Err()) && !errors.Is(cause, ctx.Err()) {
		err = fmt.Errorf("%w (%w)", err, cause)
	}
	err = fmt.Errorf("search by meaning: %w", err)
	if errors.Is(ctx.Err(), context.Canceled) {
		return err
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	v.failed, v.until = err, time.Now().Add(embedPause)
	return err
}

// all returns the vectors of all tools, made or from the cache. With them the error is that of the cache.
func (v *vectors) all(ctx context.Context, docs []doc) ([][]float32, error) {
	select {
	case v.busy <- struct{}{}:
	case <-ctx.Done():
		return nil, fmt.Errorf("wait for the vectors of the tools: %w", ctx.Err())
	}
	defer func() { <-v.busy }()
	if v.cacheDir != "" && !v.open {
		v.open = true
		v.cache, v.cacheErr = openCache(ctx, v.cacheDir, v.embedder.Name())
	}
	if v.tools == nil {
		v.tools = make([][]float32, len(docs))
		v.recall(ctx, docs)
	}
	var missing []int
	for i, known := range v.tools {
		if known == nil {
			missing = append(missing, i)
		}
	}
	done := 0
	for batch := range slices.Chunk(missing, EmbedBatch) {
		if err := v.make(ctx, docs, batch); err != nil {
			return nil, fmt.Errorf("embed the tools (%d of %d are done): %w", len(docs)-len(missing)+done, len(docs), err)
		}
		done += len(batch)
	}
	if v.cacheErr != nil {
		return v.tools, fmt.Errorf("search by meaning: what it is made of is not kept: %w", v.cacheErr)
	}
	return v.tools, nil
}

// recall takes from the cache what it has.
func (v *vectors) recall(ctx context.Context, docs []doc) {
	if v.cache == nil {
		return
	}
	known, err := v.cache.load(ctx)
	if err != nil {
		v.cacheErr = err
		return
	}
	length := 0
	for i := range docs {
		vector := known[textKey(embedText(&docs[i]))]
		if vector == nil {
			continue
		}
		if length == 0 {
			length = len(vector)
		}
		if len(vector) == length {
			v.tools[i] = vector
		}
	}
}

// make embeds some tools and keeps what comes.
func (v *vectors) make(ctx context.Context, docs []doc, batch []int) error {
	texts := make([]string, len(batch))
	for i, d := range batch {
		texts[i] = embedText(&docs[d])
	}
	made, err := v.embed(ctx, texts)
	if err != nil {
		return err
	}
	for _, known := range v.tools {
		if known != nil && len(known) != len(made[0]) {
			// The next try makes all anew: the model behind the name is another one now.
			return errors.Join(fmt.Errorf("the endpoint answers with %d dimensions; before it were %d", len(made[0]), len(known)), v.drop(ctx))
		}
	}
	for i, d := range batch {
		v.tools[d] = made[i]
	}
	if v.cache != nil && v.cacheErr == nil {
		v.cacheErr = v.cache.save(ctx, texts, made)
	}
	return nil
}

// embed asks the embedder and looks at what it answers: vectors of one length, brought to length 1.
func (v *vectors) embed(ctx context.Context, texts []string) ([][]float32, error) {
	made, err := v.embedder.Embed(ctx, texts)
	if err != nil {
		return nil, err
	}
	if len(made) != len(texts) {
		return nil, fmt.Errorf("%d vectors came for %d texts", len(made), len(texts))
	}
	for i, vector := range made {
		if len(vector) == 0 || len(vector) > maxDimensions || len(vector) != len(made[0]) {
			return nil, fmt.Errorf("vector %d has %d dimensions, the first one %d", i, len(vector), len(made[0]))
		}
		if made[i] = unit(vector); made[i] == nil {
			return nil, fmt.Errorf("vector %d is no direction", i)
		}
	}
	return made, nil
}

// unit brings a vector to length 1; nil: it has no direction.
func unit(vector []float32) []float32 {
	var sum float64
	for _, x := range vector {
		sum += float64(x) * float64(x)
	}
	length := math.Sqrt(sum)
	if length == 0 || math.IsNaN(length) || math.IsInf(length, 0) {
		return nil
	}
	out := make([]float32, len(vector))
	for i, x := range vector {
		out[i] = float32(float64(x) / length)
	}
	return out
}

// nearest are the tools with the greatest cosines, those of one by their ids.
func nearest(tools [][]float32, asked []float32, docs []doc, s scope) []ranked {
	var out []ranked
	for i, vector := range tools {
		if !s.has(&docs[i]) {
			continue
		}
		var dot float32
		for j, x := range vector {
			dot += x * asked[j]
		}
		out = append(out, ranked{int32(i), math.Round(float64(dot)*1e6) / 1e6})
	}
	slices.SortFunc(out, func(a, b ranked) int {
		return cmp.Or(cmp.Compare(b.score, a.score), strings.Compare(docs[a.doc].tool.ID, docs[b.doc].tool.ID))
	})
	return out[:min(maxNear, len(out))]
}

// embedText is what is embedded of a tool: who offers it, its name in words, and what it says of itself.
func embedText(d *doc) string {
	f := fields(d.server, d.tool, d.category)
	text := d.server.Key + ": " + strings.Join(words(f[fieldName]), " ") + "\n" + f[fieldTitle] + "\n" + f[fieldLead] + f[fieldBody]
	return clip(strings.ToValidUTF8(text, "\uFFFD"), maxEmbedText)
}
