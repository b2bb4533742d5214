package search

import (
	"context"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"net/http"
	"regexp"
	"strconv"
	"sync"
	"time"
)

const (
	// maxRetryAfter is how long an endpoint that is busy may ask to wait; it is asked once more.
	maxRetryAfter = 5 * time.Second
	// minEmbedText is how far a text is cut, in bytes, for a model that reads less.
	minEmbedText = 256
)

// Embed asks the endpoint. One that is busy, and names a time of at most 5 seconds or none, is asked once more. One that
// takes fewer texts at once gets them in parts, and of a text that is too long for it, its beginning.
func (e *Endpoint) Embed(ctx context.Context, texts []string) ([][]float32, error) {
	if most := int(e.most.Load()); most > 0 && len(texts) > most {
		return e.parts(ctx, texts, most)
	}
	vectors, err := e.ask(ctx, texts)
	switch no, ok := errors.AsType[*refusal](err); {
	case !ok || !no.tooMuch():
		return vectors, err
	case len(texts) > 1:
		half := (len(texts) + 1) / 2
		vectors, err := e.parts(ctx, texts, half)
		if err == nil && e.most.Load() == 0 {
			e.most.Store(int64(half))
		}
		return vectors, err
	case len(texts) == 1 && len(texts[0]) > minEmbedText:
		return e.Embed(ctx, []string{clip(texts[0], max(minEmbedText, len(texts[0])/2))})
	}
	return nil, err
}

// parts asks for at most so many texts at once.
func (e *Endpoint) parts(ctx context.Context, texts []string, most int) ([][]float32, error) {
	var out [][]float32
	for len(texts) > 0 {
		n := min(most, len(texts))
		vectors, err := e.Embed(ctx, texts[:n])
		if err != nil {
			return nil, err
		}
		out, texts = append(out, vectors...), texts[n:]
	}
	return out, nil
}

// ofSize is what endpoints write of requests that are larger than they take.
var ofSize = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?i)batch|too (many|large|long)|maximum|at most|larger than|less than|exceed`)
})

// tooMuch tells whether less might be taken.
func (r *refusal) tooMuch() bool {
	switch r.status {
	case http.StatusRequestEntityTooLarge:
		return true
	case http.StatusBadRequest, http.StatusUnprocessableEntity:
		return ofSize().MatchString(r.text)
	}
	return false
}

// retryAfter is how long to wait before an endpoint is asked again; 0: it is not. It may say so in seconds, in
// milliseconds as OpenAI and Azure do besides, or as a time.
func retryAfter(res *http.Response) time.Duration {
	if res.StatusCode != http.StatusTooManyRequests && res.StatusCode != http.StatusServiceUnavailable {
		return 0
	}
	wait := time.Second
	said := res.Header.Get("Retry-After")
	if ms, err := strconv.ParseFloat(res.Header.Get("Retry-After-Ms"), 64); err == nil && ms > 0 && ms < 1e9 {
		wait = time.Duration(ms * float64(time.Millisecond))
	} else if seconds, err := strconv.ParseFloat(said, 64); err == nil && seconds > 0 && seconds < 1e6 {
		wait = time.Duration(seconds * float64(time.Second))
	} else if at, err := http.ParseTime(said); err == nil {
		wait = max(wait, time.Until(at))
	}
	if wait > maxRetryAfter {
		return 0
	}
	return wait
}

// vector is one as it is sent: numbers, or as base64 what they are in memory, which some endpoints send unasked.
type vector []float32

func (v *vector) UnmarshalJSON(raw []byte) error {
	if len(raw) == 0 || raw[0] != '"' {
		return json.Unmarshal(raw, (*[]float32)(v))
	}
	var text string
	if err := json.Unmarshal(raw, &text); err != nil {
		return err
	}
	bytes, err := base64.StdEncoding.DecodeString(text)
	if err != nil || len(bytes)%4 != 0 {
		return errors.New("a vector is neither a list of numbers nor the base64 of such")
	}
	for i := 0; i < len(bytes); i += 4 {
		*v = append(*v, math.Float32frombits(binary.LittleEndian.Uint32(bytes[i:])))
	}
	return nil
}

// readVectors puts the vectors of an answer in the order of the texts.
func readVectors(answer []byte, texts int) ([][]float32, error) {
	var parsed struct {
		Data []struct {
			Index     *int   `json:"index"`
			Embedding vector `json:"embedding"`
		} `json:"data"`
	}
	if err := json.Unmarshal(answer, &parsed); err != nil {
		return nil, fmt.Errorf("the answer is not understood: %w", err)
	}
	if len(parsed.Data) != texts {
		return nil, fmt.Errorf("%d vectors came for %d texts", len(parsed.Data), texts)
	}
	out := make([][]float32, texts)
	for i, d := range parsed.Data {
		at := i
		if d.Index != nil {
			at = *d.Index
		}
		if at < 0 || at >= texts || out[at] != nil || len(d.Embedding) == 0 {
			return nil, fmt.Errorf("vector %d of the answer is empty, or has the place of another", i)
		}
		out[at] = d.Embedding
	}
	return out, nil
}
