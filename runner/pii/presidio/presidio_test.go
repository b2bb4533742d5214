package presidio

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"reflect"
	"strings"
	"testing"

	"github.com/mcpgen/mcpgen/runner/pii/detect"
)

// TestDetect: offsets count code points, also those of bytes that are not UTF-8; other entities and low scores do not count.
func TestDetect(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var in struct{ Text, Language string }
		if err := json.NewDecoder(r.Body).Decode(&in); err != nil || r.Method != http.MethodPost || r.URL.Path != "/analyze" || in.Language != "en" || in.Text != "é\ufffd Zoë, 漢字" {
			t.Errorf("%s %s %+v, %v", r.Method, r.URL, in, err)
		}
		fmt.Fprint(w, `[{"start":8,"end":10,"entity_type":"LOCATION","score":0.5},{"start":3,"end":6,"entity_type":"PERSON","score":0.9},
			{"start":0,"end":1,"entity_type":"PERSON","score":0.4},{"start":0,"end":1,"entity_type":"URL","score":1}]`)
	}))
	defer server.Close()
	for _, path := range []string{"", "/", "/analyze"} {
		s := &Service{Client: server.Client(), URL: server.URL + path, MinScore: 0.5}
		got, err := s.Detect(t.Context(), "é\xff Zoë, 漢字")
		want := []detect.Match{{Start: 10, End: 16, Type: detect.Address}, {Start: 4, End: 8, Type: detect.Name}}
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("Detect at %q = %+v, %v, want %+v", path, got, err, want)
		}
	}
}

func TestBadAnswers(t *testing.T) {
	for name, c := range map[string]struct {
		answer http.HandlerFunc
		want   string
	}{
		"status": {func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(500) }, "HTTP 500"},
		"redirect": {func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "/elsewhere", http.StatusTemporaryRedirect)
		}, "HTTP 307"},
		"not JSON": {func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "<html>") }, "not a list"},
		"backwards": {func(w http.ResponseWriter, _ *http.Request) {
			fmt.Fprint(w, `[{"start":3,"end":2,"entity_type":"PERSON","score":1}]`)
		}, "from 3 to 2"},
		"endless": {func(w http.ResponseWriter, _ *http.Request) {
			for range maxAnswer/1000 + 2 {
				fmt.Fprint(w, strings.Repeat(" ", 1000))
			}
		}, "more than"},
	} {
		t.Run(name, func(t *testing.T) {
			server := httptest.NewServer(c.answer)
			defer server.Close()
			_, err := (&Service{Client: server.Client(), URL: server.URL}).Detect(t.Context(), "Zoë and others")
			bad, ok := errors.AsType[*Error](err)
			if !ok || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), server.URL) || bad.Hint() == "" {
				t.Errorf("Detect() = %v, want %q and the address", err, c.want)
			}
		})
	}
}
