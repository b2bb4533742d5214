package search_test

import (
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mcpgen/mcpgen/gen/search"
)

// service is an endpoint that answers as OpenAI, Azure OpenAI and servers with their interface do, with the vectors of
// [meaning].
type service struct {
	meaning meaning
	azure   bool
	// most is how many texts it takes at once, longest how many bytes of one; 0: any.
	most, longest int
	base64        bool // vectors as base64, although numbers are asked for
	extra         int  // dimensions more than there are topics
	fail          func(call int) (status int, header map[string]string)

	mu    sync.Mutex
	calls int
	sizes []int
}

// RoundTrip answers without a network, so that time can be made to pass.
func (s *service) RoundTrip(r *http.Request) (*http.Response, error) {
	w := httptest.NewRecorder()
	s.ServeHTTP(w, r)
	return w.Result(), nil
}

func (s *service) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.calls++
	if s.fail != nil {
		if status, header := s.fail(s.calls); status != 0 {
			for k, v := range header {
				w.Header().Set(k, v)
			}
			s.refuse(w, status, "Requests to the Embeddings_Create Operation have exceeded call rate limit. Please retry after 1 second.")
			return
		}
	}
	if s.azure != (r.Header.Get("Api-Key") == secret) || s.azure == (r.Header.Get("Authorization") == "Bearer "+secret) {
		s.refuse(w, http.StatusUnauthorized, "Incorrect API key provided: "+secret)
		return
	}
	var asked struct {
		Input          []string
		EncodingFormat string `json:"encoding_format"`
	}
	if err := json.NewDecoder(r.Body).Decode(&asked); err != nil || asked.EncodingFormat != "float" {
		s.refuse(w, http.StatusBadRequest, "what is this?")
		return
	}
	s.sizes = append(s.sizes, len(asked.Input))
	if s.most > 0 && len(asked.Input) > s.most {
		s.refuse(w, http.StatusUnprocessableEntity, fmt.Sprintf("batch size %d > maximum allowed batch size %d", len(asked.Input), s.most))
		return
	}
	for _, text := range asked.Input {
		if s.longest > 0 && len(text) > s.longest {
			s.refuse(w, http.StatusBadRequest, "This model's maximum context length is 512 tokens. Please reduce your prompt.")
			return
		}
	}
	made, err := s.meaning.Embed(r.Context(), asked.Input)
	if err != nil {
		s.refuse(w, http.StatusInternalServerError, err.Error())
		return
	}
	var data []map[string]any
	for i, v := range made {
		v = append(v, make([]float32, s.extra)...)
		data = append(data, map[string]any{"object": "embedding", "index": i, "embedding": s.written(v)})
	}
	slices.Reverse(data) // the index says where each belongs
	_ = json.NewEncoder(w).Encode(map[string]any{"object": "list", "data": data, "model": "m", "usage": map[string]int{"prompt_tokens": 1, "total_tokens": 1}})
}

func (s *service) written(v []float32) any {
	if !s.base64 {
		return v
	}
	var raw []byte
	for _, x := range v {
		raw = binary.LittleEndian.AppendUint32(raw, math.Float32bits(x))
	}
	return base64.StdEncoding.EncodeToString(raw)
}

// refuse writes an error in the form of each.
func (s *service) refuse(w http.ResponseWriter, status int, message string) {
	detail := map[string]any{"message": message, "type": "invalid_request_error", "param": nil, "code": nil}
	if s.azure {
		detail = map[string]any{"code": fmt.Sprint(status), "message": message}
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(map[string]any{"error": detail})
}

// indexed is an index over an endpoint.
func indexed(t *testing.T, s *service, cache string, tools ...tool) *search.Index {
	t.Helper()
	s.meaning.topics = topics()
	api, url := search.OpenAI, "https://api.example/v1"
	if s.azure {
		api, url = search.Azure, "https://me.openai.example"
	}
	e := endpoint(t, search.EndpointOptions{URL: url, Model: "m", API: api, Key: secret, Transport: s})
	c := small(t)
	if len(tools) > 0 {
		c = catalogOf(t, server(t, "mail", tools...))
	}
	return index(t, c, &search.Options{Embedder: e, CacheDir: cache})
}

// finds asks what only the meaning tells, and wants it found.
func finds(t *testing.T, x *search.Index) {
	t.Helper()
	a, err := x.Answer(t.Context(), search.Query{Text: "photograph"})
	if err != nil || a.Degraded != nil || len(a.Hits) == 0 || a.Hits[0].ID != "mail__take_screenshot" {
		t.Errorf("found %v, degraded %v (%v)", ids(a.Hits), a.Degraded, err)
	}
}

// TestServices finds by meaning whatever the peculiarities of the endpoint are.
func TestServices(t *testing.T) {
	many := []tool{{name: "take_screenshot", description: "Of the screen."}}
	for i := range 3 * search.EmbedBatch {
		many = append(many, tool{name: fmt.Sprintf("other_%d", i)})
	}
	long := []tool{{name: "take_screenshot", description: "Of the screen. " + strings.Repeat("Very long words. ", 500)}, {name: "other"}}
	for name, tt := range map[string]struct {
		service *service
		tools   []tool
		most    int // texts in a request, once the endpoint has said how many it takes
	}{
		"openai":        {&service{}, nil, 64},
		"azure":         {&service{azure: true}, nil, 64},
		"base64":        {&service{base64: true}, nil, 64},
		"small batches": {&service{most: 10}, many, 8},
		"one by one":    {&service{most: 1, azure: true}, nil, 1},
		"short texts":   {&service{longest: 600}, long, 64},
	} {
		t.Run(name, func(t *testing.T) {
			finds(t, indexed(t, tt.service, t.TempDir(), tt.tools...))
			if last := tt.service.sizes[len(tt.service.sizes)/2:]; slices.Max(last) > tt.most {
				t.Errorf("requests of %v texts", tt.service.sizes)
			}
		})
	}
}

// TestBusyService waits as long as it is told, in all three ways of saying it.
func TestBusyService(t *testing.T) {
	for _, tt := range []struct {
		header map[string]string
		wait   time.Duration
	}{
		{map[string]string{"Retry-After": "2"}, 2 * time.Second},
		{map[string]string{"Retry-After": "1", "Retry-After-Ms": "250"}, 250 * time.Millisecond},
		{nil, time.Second},
	} {
		synctest.Test(t, func(t *testing.T) {
			s := &service{azure: true, fail: func(call int) (int, map[string]string) {
				if call == 1 {
					return http.StatusTooManyRequests, tt.header
				}
				return 0, nil
			}}
			x := indexed(t, s, "")
			began := time.Now()
			finds(t, x)
			if took := time.Since(began); took != tt.wait {
				t.Errorf("%v: it waited %s, want %s", tt.header, took, tt.wait)
			}
		})
	}
}

// TestRefusingService asks a few times at most where asking for less does not help.
func TestRefusingService(t *testing.T) {
	for _, status := range []int{400, 401, 404, 413, 422, 429, 500} {
		s := &service{fail: func(int) (int, map[string]string) { return status, map[string]string{"Retry-After": "3600"} }}
		plain, err := index(t, small(t), nil).Search(t.Context(), search.Query{Text: "merge pull request"})
		if err != nil {
			t.Fatal(err)
		}
		a, err := indexed(t, s, "").Answer(t.Context(), search.Query{Text: "merge pull request"})
		if err != nil || a.Degraded == nil || strings.Contains(a.Degraded.Error(), secret) || !slices.Equal(ids(a.Hits), ids(plain)) {
			t.Errorf("%d: hits %v, degraded %v (%v)", status, ids(a.Hits), a.Degraded, err)
		}
		if s.calls > 10 {
			t.Errorf("%d: it was asked %d times", status, s.calls)
		}
	}
}

// TestOtherModel makes vectors anew when those that come have another length than those that are kept.
func TestOtherModel(t *testing.T) {
	cache := t.TempDir()
	s := &service{}
	finds(t, indexed(t, s, cache))
	s.extra = 3
	finds(t, indexed(t, s, cache)) // those of the cache are too short
	x := indexed(t, s, cache)
	before := s.meaning.asked()
	finds(t, x)
	if n := s.meaning.asked() - before; n != 1 {
		t.Errorf("%d texts were embedded again, want the query alone", n)
	}
	s.extra = 5
	finds(t, x) // those in memory are too short
}
