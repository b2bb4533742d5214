package main

import (
	"bufio"
	"errors"
	"io"
	"net/http"
	"net/http/cookiejar"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mcpgen/mcpgen/runner/model/modeltest"
)

const contactForm = `schema:
  type: object
  required: [to, due]
  properties:
    to: {type: string, format: email}
    due: {type: string, format: date}
submit:
  tool: people__send
  with: {to: "${fields.to}"}
`

func (p *people) writeForm(name, text string) {
	p.t.Helper()
	if err := os.MkdirAll(filepath.Join(p.dir, "forms"), 0o700); err != nil {
		p.t.Fatal(err)
	}
	p.write(filepath.Join("forms", name+".yaml"), text)
}

// TestFormWords checks that a model reads a form out of a person's words, and sees no personal data.
func TestFormWords(t *testing.T) {
	p := newPeople(t, "")
	p.writeForm("contact", contactForm)
	m := modeltest.New(t, modeltest.Answer{Text: `{"to": "[EMAIL_1]", "due": "2026-12-31", "note": "rm -rf"}`}, modeltest.Answer{Text: `{"to": "nobody", "due": null}`}, modeltest.Answer{Text: "As a model, I will not."},
		modeltest.Answer{Text: `{"to": "[EMAIL_1]", "due": "2026-12-31"}`}, modeltest.Answer{Text: `{"to": "[EMAIL_1]", "due": "2026-12-31"}`})
	p.env = append(p.env, "MCPRUN_MODEL=openai/test", "OPENAI_API_KEY=sk-secret-key-of-the-test", "OPENAI_BASE_URL="+m.URL+"/v1")
	fill := []string{"form", "fill", "contact", "--text", "Write to " + canaries[0] + " by the end of 2026"}
	stdout, stderr, err := p.run("mcprun", fill...)
	if err != nil || !strings.Contains(p.received(), `"to":"`+canaries[0]+`"`) || !strings.Contains(stderr, "model") {
		t.Errorf("%v: %s %s; the server got %s", err, stdout, stderr, p.received())
	}
	before := p.received()
	stdout, stderr, _ = p.run("mcprun", append(fill, "--json")...)
	if !strings.Contains(stdout, `"state": "open"`) || !strings.Contains(stdout, "to: expected a text of the format email") || !strings.Contains(stdout, `"due"`) || p.received() != before {
		t.Errorf("an answer that does not fit: %s %s; the server got %s", stdout, stderr, p.received())
	}
	_, stderr, err = p.run("mcprun", fill...)
	if err == nil || !strings.Contains(stderr, "the model's answer has no JSON object") || strings.Contains(stderr, "secret-key") {
		t.Errorf("no answer: %v, %s", err, stderr)
	}
	for _, words := range []string{"Write to somebody by the end of 2026", "Write to [EMAIL_1] by the end of 2026"} { // a token of the first words
		stdout, stderr, err = p.run("mcprun", "form", "fill", "contact", "--text", words)
		if err == nil || !strings.Contains(stderr, "unknown token EMAIL_1") || p.received() != before {
			t.Errorf("a token that the words %q have not led to: %v, %s; the server got %s", words, err, stderr, p.received())
		}
		p.hasNoCanary("a token of other words", stdout+stderr)
	}
	for _, r := range m.Requests() {
		p.hasNoCanary("what the model got", r.Body)
	}
	if n := len(m.Requests()); n != 5 {
		t.Errorf("the model was asked %d times, want 5", n)
	}
}

// TestFormTokens checks that a script that has tokens fills a form in with them, that the check and the tool see what they stand for, and that
// the script learns nothing of it.
func TestFormTokens(t *testing.T) {
	p := newPeople(t, "")
	p.writeForm("contact", contactForm)
	p.write("a.ts", `import { fillForm } from "mcprun";
import { listContacts } from "./servers/people";
const { contacts } = (await listContacts({})) as any;
const bad = await fillForm("contact", { to: contacts[0].phone, due: contacts[0].email });
console.log(bad.status, JSON.stringify(bad.problems));
const done = await fillForm("contact", { to: contacts[0].email, due: "2026-12-31" });
console.log(done.status, contacts[0].email);`)
	stdout, stderr, err := p.run("mcprun", "--pii", "bridge", "a.ts")
	if err != nil || !strings.Contains(stdout, "submitted [EMAIL_1]") || !strings.Contains(stdout, "invalid") || !strings.Contains(p.received(), canaries[0]) {
		t.Errorf("%v: %s %s; the server got %s", err, stdout, stderr, p.received())
	}
	p.hasNoCanary("a script with tokens", stdout+stderr)
	stdout, stderr, err = p.run("mcprun", "form", "list", "--json")
	if err != nil || !strings.Contains(stdout, `"state": "submitted"`) {
		t.Errorf("form list: %v, %s %s", err, stdout, stderr)
	}
	p.hasNoCanary("form list --json", stdout+stderr)
}

// TestFormPage fills a form in on its page, and checks that it is then submitted.
func TestFormPage(t *testing.T) {
	p := newPeople(t, "")
	p.writeForm("contact", contactForm)
	cmd := exec.CommandContext(t.Context(), "mcprun", "form", "fill", "contact", "--page", "--set", "due=soon")
	cmd.Dir, cmd.Env = p.dir, p.env
	said, err := cmd.StderrPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	var address string
	lines := bufio.NewScanner(said)
	for address == "" && lines.Scan() {
		_, address, _ = strings.Cut(lines.Text(), "fill the form in at ")
	}
	jar, _ := cookiejar.New(nil)
	client := &http.Client{Jar: jar}
	res, err := client.Get(address)
	if err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(res.Body)
	res.Body.Close()
	_, word, _ := strings.Cut(string(text), `name="word" content="`)
	word, _, ok := strings.Cut(word, `"`)
	if err != nil || !ok {
		t.Fatalf("%v: %s", err, text)
	}
	base, _, _ := strings.Cut(address, "/?")
	r, err := http.NewRequestWithContext(t.Context(), "POST", base+"/answer", strings.NewReader(`{"values":{"to":"`+canaries[0]+`","due":"2026-12-31"}}`))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("X-Word", word)
	if res, err = client.Do(r); err != nil {
		t.Fatal(err)
	}
	text, err = io.ReadAll(res.Body)
	res.Body.Close()
	if err != nil || !strings.Contains(string(text), `"done":true`) {
		t.Errorf("the page answered %s, %v", text, err)
	}
	rest, err := io.ReadAll(said)
	if err := errors.Join(err, cmd.Wait()); err != nil || !strings.Contains(p.received(), canaries[0]) {
		t.Errorf("%v: %s; the server got %s", err, rest, p.received())
	}
}

// TestFormServe fills a form in over MCP: the client's user is asked for what is missing, and sees tokens only.
func TestFormServe(t *testing.T) {
	p := newPeople(t, "")
	p.writeForm("contact", contactForm)
	p.serve()
	if text, failed := p.call("call_tool", map[string]any{"tool": "people__list_contacts"}); failed || !strings.Contains(text, "[EMAIL_1]") {
		t.Fatalf("list_contacts: %s", text)
	}
	text, failed := p.call("call_tool", map[string]any{"tool": "mcprun__fill_form", "arguments": map[string]any{"form": "contact", "data": map[string]any{"due": "2026-12-31"}}})
	if failed || !strings.Contains(text, `"status":"submitted"`) || !strings.Contains(p.received(), `send {"to":"`+canaries[0]+`"}`) {
		t.Errorf("fill_form: %s; the server got %s", text, p.received())
	}
	before := p.received()
	text, failed = p.call("fill_form", map[string]any{"form": "contact", "data": map[string]any{"due": "soon", "to": "[EMAIL_1]"}})
	if failed || !strings.Contains(text, `"status":"invalid"`) || !strings.Contains(text, "due: expected a text of the format date") || p.received() != before {
		t.Errorf("fill_form: %s; the server got %s", text, p.received())
	}
	if text, failed := p.call("fill_form", map[string]any{"form": "contakt"}); !failed || !strings.Contains(text, "did you mean contact") {
		t.Errorf("fill_form of an unknown form: %s", text)
	}
	p.hasNoCanary("the client", p.got.String())
}
