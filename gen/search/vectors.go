package search

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"golang.org/x/sync/semaphore"

	"github.com/mcpgen/mcpgen/gen/ident"
)

// Embedder turns texts into vectors; texts with similar meanings have similar vectors. [NewEndpoint] returns one that calls
// an HTTP endpoint.
type Embedder interface {
	// Name identifies the model and its dimensions. Vectors of Embedders with different names are never compared. The name is part of the
	// key of the cache on disk.
	Name() string
	// Embed returns one vector for each text, in their order, all of the same length. It gets at most [EmbedBatch] texts. None of them is
	// empty, and none is to be trusted. Several goroutines may call it at once.
	Embed(ctx context.Context, texts []string) ([][]float32, error)
}

const (
	// EmbedBatch is the largest number of texts in one call of Embed. Servers that run models themselves take 32 unless told otherwise.
	EmbedBatch = 32
	// maxEmbedText bounds the text of a tool that is embedded, in bytes: small models read 512 tokens.
	maxEmbedText = 1536
	// maxDimensions bounds the length of a vector.
	maxDimensions = 16 << 10
	// maxNear bounds how many tools the ranking by meaning returns.
	maxNear = 100
	// embedTime is the default of [Options].EmbedTime. embedPause is the time between a failure and the next try, so that a dead endpoint
	// does not slow down every search.
	embedTime, embedPause = 10 * time.Second, 30 * time.Second
)

// vectors holds the vectors of all tools. The first search computes them.
type vectors struct {
	embedder Embedder
	wait     time.Duration
	cache    cache
	outage   atomic.Pointer[outage] // the last failure, or nil

	lock     *semaphore.Weighted // guards the following fields; a search waits for it within its time limit
	known    [][]float32         // of the documents, then of the questions of the self-test; of length 1; nil until computed
	weight   float64             // result of the self-test; -1 until then
	cacheErr error               // why vectors are not kept on disk
}

// outage is a failure of the embedder, and when to try again.
type outage struct {
	err   error
	until time.Time
}

func newVectors(opts Options) *vectors {
	v := &vectors{embedder: opts.Embedder, wait: opts.EmbedTime, lock: semaphore.NewWeighted(1), weight: -1}
	if v.wait <= 0 {
		v.wait = embedTime
	}
	if opts.CacheDir != "" {
		v.cache = newCache(opts.CacheDir, opts.Embedder.Name())
	}
	return v
}

// Warm embeds all tools and tests the [Embedder], so that no search has to wait for that. It has no time limit of its own. Without an [Embedder] it
// does nothing. If it fails, it keeps the vectors made so far.
func (x *Index) Warm(ctx context.Context) error {
	if x.vectors == nil {
		return nil
	}
	_, _, cacheErr, err := x.vectors.all(ctx, x)
	return errors.Join(err, cacheErr)
}

// rank returns the tools nearest to the sum of texts, the nearest first, and the weight of this ranking. If the weight is 0, it returns no
// tools unless anyway is set. It may return both a ranking and an error of the cache.
func (v *vectors) rank(ctx context.Context, x *Index, texts []string, s scope, anyway bool) (near []ranked, weight float64, err error) {
	if o := v.outage.Load(); o != nil && time.Now().Before(o.until) {
		return nil, 0, fmt.Errorf("%w; next try in %s", o.err, time.Until(o.until).Round(time.Second))
	}
	ctx, cancel := context.WithTimeoutCause(ctx, v.wait, fmt.Errorf("no answer within %s", v.wait))
	defer cancel()
	tools, weight, cacheErr, err := v.all(ctx, x)
	if err != nil {
		return nil, 0, v.failed(ctx, err)
	}
	if weight == 0 && !anyway {
		return nil, 0, cacheErr
	}
	for i, text := range texts {
		texts[i] = ident.Head(text, maxEmbedText)
	}
	asked, err := v.embed(ctx, texts, tools)
	if err != nil {
		return nil, 0, v.failed(ctx, fmt.Errorf("embed the query: %w", err))
	}
	sum := make([]float32, len(asked[0])) // its product with a tool's vector is the sum of the products
	for _, vector := range asked {
		for i, x := range vector {
			sum[i] += x
		}
	}
	return nearest(tools, sum, x.docs, s), weight, cacheErr
}

// failed records a failure and returns it with its cause. A canceled search is not a failure of the endpoint.
func (v *vectors) failed(ctx context.Context, err error) error {
	if cause := context.Cause(ctx); cause != nil && errors.Is(err, ctx.Err()) && !errors.Is(cause, ctx.Err()) {
		err = fmt.Errorf("%w (%w)", err, cause)
	}
	err = fmt.Errorf("search by meaning: %w", err)
	if !errors.Is(ctx.Err(), context.Canceled) {
		v.outage.Store(&outage{err, time.Now().Add(embedPause)})
	}
	return err
}

// all returns the vectors of all tools and the weight that the self-test gives them. It embeds the texts that are neither in memory nor in
// the cache. cacheErr says why vectors are not kept on disk.
func (v *vectors) all(ctx context.Context, x *Index) (tools [][]float32, weight float64, cacheErr, err error) {
	if err := v.lock.Acquire(ctx, 1); err != nil {
		return nil, 0, nil, fmt.Errorf("wait for the vectors of the tools: %w", err)
	}
	defer v.lock.Release(1)
	if v.weight < 0 {
		all := texts(x.docs)
		if err := v.complete(ctx, all); err != nil {
			return nil, 0, v.cacheErr, err
		}
		if v.weight = v.cache.weight(all); v.weight < 0 {
			v.weight = x.selfTest(v.known[:len(x.docs)], v.known[len(x.docs):])
			if v.cacheErr == nil {
				v.keepErr(v.cache.keepWeight(all, v.weight))
			}
		}
	}
	return v.known[:len(x.docs)], v.weight, v.cacheErr, nil
}

// texts returns the texts that are embedded: those of all tools, and those of the self-test.
func texts(docs []doc) []string {
	out := make([]string, 0, len(docs)+maxAsked)
	for i := range docs {
		out = append(out, embedText(&docs[i]))
	}
	for _, i := range asked(docs) {
		out = append(out, ownName(&docs[i]))
	}
	return out
}

// complete embeds the texts whose vectors are unknown. Vectors computed before an error are kept.
func (v *vectors) complete(ctx context.Context, texts []string) (err error) {
	if v.known == nil {
		kept, err := v.cache.load()
		v.keepErr(err)
		v.known = make([][]float32, len(texts))
		for i, text := range texts {
			v.known[i] = kept[textKey(text)]
		}
	}
	var missing []int
	for i, known := range v.known {
		if known == nil {
			missing = append(missing, i)
		}
	}
	made := map[key][]float32{}
	done := len(texts) - len(missing)
	for batch := range slices.Chunk(missing, EmbedBatch) {
		some := make([]string, len(batch))
		for i, at := range batch {
			some[i] = texts[at]
		}
		var vectors [][]float32
		if vectors, err = v.embed(ctx, some, v.known); err != nil {
			err = fmt.Errorf("embed the tools (%d of %d texts are done): %w", done, len(texts), err)
			break
		}
		for i, at := range batch {
			v.known[at], made[textKey(some[i])] = vectors[i], vectors[i]
		}
		done += len(batch)
	}
	if len(made) > 0 && v.cacheErr == nil {
		v.keepErr(v.cache.add(made))
	}
	return err
}

// keepErr records an error of the cache.
func (v *vectors) keepErr(err error) {
	if err != nil {
		v.cacheErr = fmt.Errorf("search by meaning: the vectors of tools are not cached: %w", err)
	}
}

// embed calls the embedder, checks that the vectors have as many dimensions as those of the tools, and scales them to length 1.
func (v *vectors) embed(ctx context.Context, texts []string, tools [][]float32) ([][]float32, error) {
	made, err := v.embedder.Embed(ctx, texts)
	if err != nil {
		return nil, err
	}
	if len(made) != len(texts) {
		return nil, fmt.Errorf("got %d vectors for %d texts", len(made), len(texts))
	}
	dimensions, known := len(made[0]), false
	if i := slices.IndexFunc(tools, func(t []float32) bool { return t != nil }); i >= 0 {
		dimensions, known = len(tools[i]), true
	}
	for i, vector := range made {
		switch made[i] = unit(vector); {
		case known && len(vector) != dimensions:
			return nil, fmt.Errorf("the endpoint answers with %d dimensions, before with %d: another model has this name now%s", len(vector), dimensions, v.cache.remedy())
		case len(vector) == 0 || len(vector) > maxDimensions || len(vector) != dimensions:
			return nil, fmt.Errorf("vector %d has %d dimensions, the first one has %d", i, len(vector), dimensions)
		case made[i] == nil:
			return nil, fmt.Errorf("vector %d has no direction", i)
		}
	}
	return made, nil
}

// unit scales a vector to length 1. It returns nil if the vector has no direction.
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

// nearest returns the tools with the greatest cosine similarity; equal ones are sorted by id.
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

// embedText returns the text that is embedded for a tool: its server, and the words of its name, title, phrases and description.
func embedText(d *doc) string {
	f := d.fields()
	text := d.server.Key + ": " + strings.Join(words(f[fieldName]), " ") + "\n" + f[fieldTitle] + "\n" + f[fieldPhrase] + f[fieldLead] + f[fieldBody]
	return ident.Head(strings.ToValidUTF8(text, "\uFFFD"), maxEmbedText)
}
