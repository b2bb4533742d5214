package form

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"strings"
	"testing"
)

// servePage serves the page of a filling.
func servePage(t *testing.T, x *Filling) *Page {
	t.Helper()
	var p *Page
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { p.Handler().ServeHTTP(w, r) }))
	t.Cleanup(s.Close)
	p = NewPage(x, s.Listener.Addr().String())
	return p
}

func TestPage(t *testing.T) {
	f := readForm(t, strings.Replace(lead, "title: Full name", "title: '<img src=x onerror=alert(1)>', template: '{{x}}', links: [{href: 'javascript:x'}], options: {infoText: x}", 1))
	x, err := f.Fill(json.RawMessage(`{"Mail":"nobody","source":"fair"}`), nil)
	if err != nil {
		t.Fatal(err)
	}
	p := servePage(t, x)
	jar, _ := cookiejar.New(nil)
	c := &http.Client{Jar: jar}
	base := strings.TrimSuffix(p.URL(), p.URL()[strings.Index(p.URL(), "/?"):])
	send := func(c *http.Client, method, path, body string, head ...string) (int, string) {
		t.Helper()
		r, err := http.NewRequestWithContext(t.Context(), method, base+path, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		for i := 0; i+1 < len(head); i += 2 {
			r.Header.Set(head[i], head[i+1])
		}
		res, err := c.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		defer res.Body.Close()
		text, err := io.ReadAll(res.Body)
		if err != nil {
			t.Fatal(err)
		}
		if csp := res.Header.Get("Content-Security-Policy"); !strings.Contains(csp, "default-src 'none'; script-src 'self';") {
			t.Errorf("%s: the policy is %q", path, csp)
		}
		return res.StatusCode, string(text)
	}
	url := strings.TrimPrefix(p.URL(), base)
	if status, _ := send(&http.Client{}, "GET", "/form.json", ""); status != http.StatusForbidden {
		t.Errorf("without the token: %d, want 403", status)
	}
	status, text := send(c, "GET", url, "")
	if status != http.StatusOK || !strings.Contains(text, p.door.Word()) {
		t.Errorf("with the token: %d, %s", status, text)
	}
	if status, _ := send(&http.Client{}, "GET", url, ""); status != http.StatusForbidden {
		t.Errorf("with the token once more: %d, want 403", status)
	}
	_, text = send(c, "GET", "/form.json", "")
	for _, bad := range []string{"<img", "template", "links", "javascript", "infoText"} {
		if strings.Contains(text, bad) {
			t.Errorf("the page gets %s: %s", bad, text)
		}
	}
	if !strings.Contains(text, `"email":"nobody"`) || !strings.Contains(text, `"missing":["name","due"]`) {
		t.Errorf("form.json: %s, want values and what is missing", text)
	}
	const good = `{"values":{"name":"Ann","email":"ann@example.com","due":"2026-12-31","address":{"city":"Oslo"},"source":"fair"}}`
	for name, head := range map[string][]string{"no word": nil, "a wrong word": {"X-Word", "x"}, "another site": {"X-Word", p.door.Word(), "Origin", "https://evil.example"}} {
		if status, _ := send(c, "POST", "/answer", good, head...); status != http.StatusForbidden {
			t.Errorf("%s: %d, want 403", name, status)
		}
	}
	word := p.door.Word()
	for _, body := range []string{`x`, `{"values":[]}`, `{"values":"` + strings.Repeat("x", maxAnswer) + `"}`} {
		if status, _ := send(c, "POST", "/answer", body, "X-Word", word); status != http.StatusBadRequest {
			t.Errorf("%.20s: %d, want 400", body, status)
		}
	}
	_, text = send(c, "POST", "/answer", `{"values":{"name":"Ann","due":"soon"}}`, "X-Word", word)
	if !strings.Contains(text, `"missing":["email"]`) || !strings.Contains(text, `"field":"due"`) || !strings.Contains(text, `"done":false`) {
		t.Errorf("a wrong answer: %s", text)
	}
	status, text = send(c, "POST", "/answer", good, "X-Word", word)
	if status != http.StatusOK || !strings.Contains(text, `"done":true`) {
		t.Errorf("a good answer: %d, %s", status, text)
	}
	<-p.Done()
	if status, _ := send(c, "POST", "/answer", good, "X-Word", word); status != http.StatusConflict {
		t.Errorf("after the end: %d, want 409", status)
	}
	if !x.Complete() || !strings.Contains(string(x.Values()), `"city":"Oslo"`) || x.From()["name"] != "page" {
		t.Errorf("values %s from %v", x.Values(), x.From())
	}
}

func TestPageLeave(t *testing.T) {
	x, err := readForm(t, lead).Fill(nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	p := servePage(t, x)
	w := httptest.NewRecorder()
	r := httptest.NewRequest("POST", "/answer", strings.NewReader(`{"leave":true}`))
	r.Header.Set("X-Word", p.door.Word())
	p.answer(w, r)
	<-p.Done()
	if x.Complete() || !strings.Contains(w.Body.String(), `"complete":false`) {
		t.Errorf("%s, want it open", w.Body)
	}
}

// TestEditor checks that the editor is the published one.
func TestEditor(t *testing.T) {
	z, err := gzip.NewReader(bytes.NewReader(editor))
	if err != nil {
		t.Fatal(err)
	}
	h := sha256.New()
	if _, err := io.Copy(h, z); err != nil {
		t.Fatal(err)
	}
	const published = "c7a7278bf93d75e3de8b02a914ed36bd879a3e76105a87b6aa286a5a7885f4fc" // dist/jsoneditor.js of @json-editor/json-editor 2.17.2
	if got := hex.EncodeToString(h.Sum(nil)); got != published {
		t.Errorf("the editor has the digest %s, want %s", got, published)
	}
}
