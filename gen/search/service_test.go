package search_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/mcpgen/mcpgen/gen/search"
)

// service is an endpoint that answers like OpenAI, Azure OpenAI and compatible servers, with the vectors of [meaning].
type service struct {
	meaning meaning
	azure   bool
	extra   int // number of dimensions beyond the topics
	fail    int // status of the answer to every request; 0 means success

	mu    sync.Mutex
	calls int
}

// RoundTrip answers without a network, so that time can be simulated.
func (s *service) RoundTrip(r *http.Request) (*http.Response, error) {
	w := httptest.NewRecorder()
	s.ServeHTTP(w, r)
	return w.Result(), nil
}

func (s *service) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.calls++
	if s.fail != 0 {
		s.refuse(w, s.fail, "Requests to the Embeddings_Create Operation have exceeded call rate limit. Please retry after 1 second.")
		return
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
	made, err := s.meaning.Embed(r.Context(), asked.Input)
	if err != nil {
		s.refuse(w, http.StatusInternalServerError, err.Error())
		return
	}
	var data []map[string]any
	for i, v := range made {
		v = append(v, make([]float32, s.extra)...)
		data = append(data, map[string]any{"object": "embedding", "index": i, "embedding": v})
	}
	slices.Reverse(data) // the index field says where each belongs
	_ = json.NewEncoder(w).Encode(map[string]any{"object": "list", "data": data, "model": "m", "usage": map[string]int{"prompt_tokens": 1, "total_tokens": 1}})
}

// refuse writes an error in the form of the protocol.
func (s *service) refuse(w http.ResponseWriter, status int, message string) {
	detail := map[string]any{"message": message, "type": "invalid_request_error", "param": nil, "code": nil}
	if s.azure {
		detail = map[string]any{"code": fmt.Sprint(status), "message": message}
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(map[string]any{"error": detail})
}

// indexed returns an index that uses an endpoint.
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

// finds searches for something that only its meaning reveals, and requires it to be found.
func finds(t *testing.T, x *search.Index) {
	t.Helper()
	a, err := x.Answer(t.Context(), search.Query{Text: "photograph"})
	if err != nil || a.Degraded != nil || len(a.Hits) == 0 || a.Hits[0].ID != "mail__take_screenshot" {
		t.Errorf("found %v, degraded %v (%v)", ids(a.Hits), a.Degraded, err)
	}
}

// TestServices checks search by meaning with both protocols.
func TestServices(t *testing.T) {
	many := []tool{{name: "take_screenshot", description: "Of the screen. " + strings.Repeat("Very long words. ", 500)}}
	for i := range 3 * search.EmbedBatch {
		many = append(many, tool{name: fmt.Sprintf("other_%d", i)})
	}
	for name, s := range map[string]*service{"openai": {}, "azure": {azure: true}} {
		t.Run(name, func(t *testing.T) { finds(t, indexed(t, s, t.TempDir(), many...)) })
	}
}

// TestRefusingService checks that a refused request is not repeated, and that words alone then decide.
func TestRefusingService(t *testing.T) {
	for _, status := range []int{400, 401, 404, 413, 422, 429, 500} {
		s := &service{fail: status}
		want, err := index(t, small(t), nil).Search(t.Context(), search.Query{Text: "merge pull request"})
		if err != nil {
			t.Fatal(err)
		}
		a, err := indexed(t, s, "").Answer(t.Context(), search.Query{Text: "merge pull request"})
		if err != nil || a.Degraded == nil || strings.Contains(a.Degraded.Error(), secret) || !slices.Equal(ids(a.Hits), ids(want)) {
			t.Errorf("%d: hits %v, degraded %v (%v)", status, ids(a.Hits), a.Degraded, err)
		}
		if s.calls != 1 {
			t.Errorf("%d: it was asked %d times, want 1", status, s.calls)
		}
	}
}

// TestOtherModel checks that a change of dimensions is reported with the file to remove.
func TestOtherModel(t *testing.T) {
	cache := t.TempDir()
	s := &service{}
	finds(t, indexed(t, s, cache))
	before := s.meaning.asked()
	finds(t, indexed(t, s, cache))
	if n := s.meaning.asked() - before; n != 1 {
		t.Errorf("%d texts were embedded again, want the query alone", n)
	}
	s.extra = 3
	a, err := indexed(t, s, cache).Answer(t.Context(), search.Query{Text: "photograph"})
	if err != nil || a.Degraded == nil || !strings.Contains(a.Degraded.Error(), "remove "+cache) {
		t.Errorf("degraded %v (%v), want the file to remove", a.Degraded, err)
	}
}
