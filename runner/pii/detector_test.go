package pii

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/mcpgen/mcpgen/runner/pii/presidio"
)

// analyzer answers as the service does: it finds each of some words, with offsets in code points.
func analyzer(t *testing.T, words map[string]string) (*presidio.Service, *[]string) {
	t.Helper()
	var asked []string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var in struct{ Text, Language string }
		if err := json.NewDecoder(r.Body).Decode(&in); err != nil || r.Method != http.MethodPost || r.URL.Path != "/analyze" || in.Language != "de" {
			t.Errorf("%s %s %v, %v", r.Method, r.URL, in, err)
		}
		asked = append(asked, in.Text)
		entry := func(start, end int, entity string, score float64) map[string]any {
			return map[string]any{"start": start, "end": end, "entity_type": entity, "score": score}
		}
		out := []map[string]any{entry(0, 1, "UNKNOWN", 1), entry(0, 1, "PERSON", 0.1)}
		for word, entity := range words {
			for at := 0; ; {
				i := strings.Index(in.Text[at:], word)
				if i < 0 {
					break
				}
				start := utf8.RuneCountInString(in.Text[:at+i])
				out = append(out, entry(start, start+utf8.RuneCountInString(word), entity, 0.85))
				at += i + len(word)
			}
		}
		_ = json.NewEncoder(w).Encode(out)
	}))
	t.Cleanup(server.Close)
	return &presidio.Service{Client: server.Client(), URL: server.URL + "/", Language: "de", MinScore: 0.5}, &asked
}

// TestDetectorIsLeftAlone: a detector that fails is not asked about each text.
func TestDetectorIsLeftAlone(t *testing.T) {
	asked := 0
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		asked++
		w.WriteHeader(http.StatusInternalServerError)
	}))
	defer server.Close()
	o, _ := newOutlet(t, OutletSettings{Detector: &presidio.Service{Client: server.Client(), URL: server.URL}})
	for range 3 {
		if got := o.Mask("Zoë"); got != unchecked {
			t.Errorf("a text becomes %q, want %q", got, unchecked)
		}
	}
	if asked != 1 {
		t.Errorf("%d requests, want 1", asked)
	}
	if o.Trouble() == nil {
		t.Error("nobody is told: got no error, want an error")
	}
	if _, err := o.RestoreText("Zoë " + unchecked); err == nil {
		t.Error("the note reaches a server: got no error, want an error")
	}
	o.detectAgain = time.Now()
	if o.Mask("Zoë"); asked != 2 {
		t.Errorf("%d requests, want 2: it is asked again later", asked)
	}
}

func TestDetector(t *testing.T) {
	d, asked := analyzer(t, map[string]string{"Zoë": "PERSON", "Ärö GmbH": "ORGANIZATION", "EMAIL": "PERSON", "example": "LOCATION", "漢字": "LOCATION"})
	o, _ := newOutlet(t, OutletSettings{Detector: d, Fields: map[string]Type{"never": ""}})
	raw := `{"a":"é \xff Zoë of Ärö GmbH","b":["ann@example.com","{\"c\":\"漢字\"}"],"n":12,"e":"","never":"Zoë","id":"é Zoë"}`
	want := `{"a":"é \xff [NAME_1] of [COMPANY_1]","b":["[EMAIL_1]","{\"c\":\"[ADDRESS_1]\"}"],"n":12,"e":"","never":"Zoë","id":"é [NAME_1]"}`
	raw, want = strings.ReplaceAll(raw, `\xff`, "\xff"), strings.ReplaceAll(want, `\xff`, "\xff")
	for range 2 {
		got := string(o.MaskJSON([]byte(raw)))
		if got != want {
			t.Errorf("got %s\nwant %s", got, want)
		}
		raw = got // the token stays, whatever the detector finds in it
	}
	if len(*asked) != 2 {
		t.Errorf("%d requests for two JSON values, want one for each: %q", len(*asked), *asked)
	}
	// A long text is asked about in pieces, none of which cuts a word.
	*asked = nil
	long := strings.Repeat("Zoë was here. ", 3*detectorText/len("Zoë was here. ")) + strings.Repeat("漢", detectorText) + "字"
	if got := o.Mask(long); strings.Contains(got, "Zoë") || len(*asked) < 4 || slices.ContainsFunc(*asked, func(s string) bool { return len(s) > detectorText || !utf8.ValidString(s) }) {
		t.Errorf("%d requests, and %.80q", len(*asked), got)
	}
	if err := o.Trouble(); err != nil {
		t.Errorf("Trouble() = %v, want none", err)
	}
}

// TestDetectorFails: if the detector does not answer, or not what it should, texts are not shown, unless the settings say so.
func TestDetectorFails(t *testing.T) {
	const raw = `{"to":"ann@example.com","n":[1,"Zoë"],"e":"12"}`
	for name, c := range map[string]struct {
		answer http.HandlerFunc
		want   string
	}{
		"status": {func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(500) }, "HTTP 500"},
		"outside": {func(w http.ResponseWriter, _ *http.Request) {
			fmt.Fprint(w, `[{"start":3,"end":9999,"entity_type":"PERSON","score":1}]`)
		}, "from 3 to 9999"},
		"slow": {func(_ http.ResponseWriter, r *http.Request) {
			_, _ = io.Copy(io.Discard, r.Body) // only then does the server see that the client has gone
			<-r.Context().Done()
		}, "no answer in 50ms"},
	} {
		t.Run(name, func(t *testing.T) {
			server := httptest.NewServer(c.answer)
			defer server.Close()
			d := &presidio.Service{Client: server.Client(), URL: server.URL + "/analyze", Timeout: 10 * time.Second}
			if name == "slow" {
				d.Timeout = 50 * time.Millisecond
			}
			closed, _ := newOutlet(t, OutletSettings{Detector: d})
			open, _ := newOutlet(t, OutletSettings{Detector: d, WithoutDetector: true})
			for want, o := range map[string]*Outlet{
				`{"to":"` + unchecked + `","n":[1,"` + unchecked + `"],"e":"12"}`: closed,
				`{"to":"[EMAIL_1]","n":[1,"Zoë"],"e":"12"}`:                       open,
			} {
				got := o.MaskJSON([]byte(raw))
				if string(got) != want {
					t.Errorf("got %s\nwant %s", got, want)
				}
				if again := o.MaskJSON(got); string(again) != want {
					t.Errorf("again %s\nwant %s", again, want)
				}
				if err := o.Trouble(); err == nil || strings.Count(err.Error(), c.want) != 1 || !strings.Contains(err.Error(), server.URL) {
					t.Errorf("Trouble() = %v, want %q once", err, c.want)
				}
			}
			if got := closed.Mask("Zoë"); got != unchecked {
				t.Errorf("a text becomes %q, want %q", got, unchecked)
			}
		})
	}
}
