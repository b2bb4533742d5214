// Package modeltest is an endpoint of language models for tests. It speaks the protocols of Anthropic, OpenAI (chat completions and responses)
// and Azure OpenAI as their references describe them, and answers what a test has written down.
package modeltest

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"

	"github.com/mcpgen/mcpgen/runner/model"
)

// Answer is one answer of the endpoint. The zero value is an empty text.
type Answer struct {
	Text  string
	Stop  model.Stop // empty: model.StopEnd
	Model string     // empty: that of the request
	// Input and Output are the tokens that it claims. Zero: 10 and 5. Negative: it claims none.
	Input, Output int64
	// Status, Header and Body are sent instead, if Status is not 0.
	Status int
	Header http.Header
	Body   string
	// Echo answers 401 with the head of the request in the text.
	Echo bool
	// Nonsense is sent with status 200 instead of an answer, if it is not empty.
	Nonsense string
	// Cut ends the connection in the middle of the answer.
	Cut bool
	// Overloaded reports a failure in the middle of a stream instead of its end.
	Overloaded bool
	// Wait delays the answer, or the second half of a stream, until it is closed or the client has left. Open leaves the connection of a stream
	// open after the last event.
	Wait <-chan struct{}
	Open bool
}

// Request is a request as the endpoint has read it.
type Request struct {
	Path     string
	Query    url.Values
	Header   http.Header
	Body     string
	Model    string
	System   string
	Messages []model.Message
	Max      int // tokens
	Stream   bool
}

// Server is an endpoint on this machine.
type Server struct {
	// URL is the address without a path: that of Anthropic and Azure. OpenAI's is URL + "/v1".
	URL string
	// Answer returns the answer to a request, if it is not nil. Otherwise answers come in the order in which they were added. A Server with it
	// is a handler without [New].
	Answer func(Request) Answer

	t        testing.TB
	mu       sync.Mutex
	answers  []Answer
	requests []Request
}

// New starts an endpoint that gives these answers, one for each request, and fails the test at a further one. It ends with the test.
func New(t testing.TB, answers ...Answer) *Server {
	s := &Server{t: t, answers: answers}
	server := httptest.NewServer(s)
	t.Cleanup(server.Close)
	s.URL = server.URL
	return s
}

// Add adds answers.
func (s *Server) Add(answers ...Answer) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.answers = append(s.answers, answers...)
}

// Requests returns the requests so far.
func (s *Server) Requests() []Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]Request(nil), s.requests...)
}

// next returns the answer to a request.
func (s *Server) next(r Request) Answer {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.requests = append(s.requests, r)
	if s.Answer != nil {
		return s.Answer(r)
	}
	if len(s.answers) == 0 {
		s.t.Errorf("the model got request %d, want no more: %s", len(s.requests), r.Body)
		return Answer{Status: http.StatusTeapot, Body: "no more answers"}
	}
	a := s.answers[0]
	s.answers = s.answers[1:]
	return a
}

// ServeHTTP implements [http.Handler].
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return // the client has left
	}
	req := Request{Path: r.URL.Path, Query: r.URL.Query(), Header: r.Header, Body: string(body)}
	write := form(r.URL.Path)
	if write == nil || r.Method != http.MethodPost {
		http.NotFound(w, r)
		return
	}
	if err := read(body, &req); err != nil {
		w.WriteHeader(http.StatusBadRequest)
		fmt.Fprintf(w, `{"error":{"type":"invalid_request_error","message":%q}}`, err.Error())
		return
	}
	a := s.next(req)
	a.Model, a.Stop = cmp.Or(a.Model, req.Model), cmp.Or(a.Stop, model.StopEnd)
	a.Input, a.Output = cmp.Or(a.Input, 10), cmp.Or(a.Output, 5)
	if !req.Stream {
		a.wait(r)
	}
	for name, values := range a.Header {
		w.Header()[name] = values
	}
	switch {
	case a.Echo:
		w.WriteHeader(http.StatusUnauthorized)
		_, _ = fmt.Fprintf(w, `{"error":{"message":"wrong key in %q","type":"authentication_error"}}`, fmt.Sprint(r.Header))
	case a.Status != 0:
		w.WriteHeader(a.Status)
		_, _ = io.WriteString(w, a.Body)
	case a.Nonsense != "":
		_, _ = io.WriteString(w, a.Nonsense)
	case req.Stream:
		stream(w, r, write.stream(a), a)
	default:
		w.Header().Set("Content-Type", "application/json")
		text, _ := json.Marshal(write.whole(a)) // maps of texts and numbers
		if a.Cut {
			w.Header().Set("Content-Length", fmt.Sprint(len(text)))
			text = text[:len(text)/2]
		}
		_, _ = w.Write(text)
	}
}

func (a *Answer) wait(r *http.Request) {
	if a.Wait != nil {
		select {
		case <-a.Wait:
		case <-r.Context().Done():
		}
	}
}

// stream sends events, of which the first half is before a pause or a cut.
func stream(w http.ResponseWriter, r *http.Request, events []map[string]any, a Answer) {
	w.Header().Set("Content-Type", "text/event-stream")
	flush := func() { _ = http.NewResponseController(w).Flush() }
	for i, e := range events {
		if i == (len(events)+1)/2 {
			flush()
			a.wait(r)
			if a.Cut {
				panic(http.ErrAbortHandler)
			}
			if a.Overloaded {
				_, _ = io.WriteString(w, "event: error\ndata: {\"type\":\"error\",\"error\":{\"type\":\"overloaded_error\",\"message\":\"Overloaded\"}}\n\n")
				return
			}
		}
		if name, ok := e["type"].(string); ok {
			_, _ = fmt.Fprintf(w, "event: %s\n", name)
		}
		text, _ := json.Marshal(e) // as above
		_, _ = fmt.Fprintf(w, "data: %s\n\n", text)
	}
	if strings.HasSuffix(r.URL.Path, "/chat/completions") {
		_, _ = io.WriteString(w, "data: [DONE]\n\n")
	}
	if a.Open {
		flush()
		<-r.Context().Done()
	}
}

// read reads a request of any of the protocols. Members that none of them has are an error.
func read(body []byte, into *Request) error {
	var b struct {
		Model         string           `json:"model"`
		System        string           `json:"system"`
		Instructions  string           `json:"instructions"`
		Messages      []member         `json:"messages"`
		Input         []member         `json:"input"`
		Max           int              `json:"max_tokens"`
		MaxCompletion int              `json:"max_completion_tokens"`
		MaxOutput     int              `json:"max_output_tokens"`
		Stream        bool             `json:"stream"`
		Store         *bool            `json:"store"`
		StreamOptions *map[string]bool `json:"stream_options"`
	}
	dec := json.NewDecoder(strings.NewReader(string(body)))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&b); err != nil {
		return err
	}
	into.Model, into.System, into.Stream = b.Model, b.System+b.Instructions, b.Stream
	into.Max = b.Max + b.MaxCompletion + b.MaxOutput
	for _, m := range append(b.Messages, b.Input...) {
		if m.Role == "system" {
			into.System = m.Content
			continue
		}
		into.Messages = append(into.Messages, model.Message{Role: model.Role(m.Role), Text: m.Content})
	}
	if into.Model == "" || into.Max == 0 || len(into.Messages) == 0 {
		return fmt.Errorf("model, a bound of tokens and messages are required")
	}
	return nil
}

type member struct {
	Role    string `json:"role"`
	Content string `json:"content"`
}
