package task

import (
	"errors"
	"strings"
	"testing"

	"github.com/mcpgen/mcpgen/runner/model"
	"github.com/mcpgen/mcpgen/runner/sandbox"
)

// TestParseAnswer checks that an answer has exactly one script.
func TestParseAnswer(t *testing.T) {
	for text, want := range map[string]struct{ code, err string }{
		"```ts\nlet a;\n```":                          {"let a;\n", ""},
		"Sure!\r\n```typescript\r\nlet a;\r\n```\r\n": {"let a;\n", ""},
		"~~~\nlet a;\n~~~":                            {"let a;\n", ""},
		"````ts\nconst s = `\n```\n`;\n````":          {"const s = `\n```\n`;\n", ""},
		"  ```TS\nlet a;\n  ```":                      {"let a;\n", ""},
		"":                                            {"", "0 code blocks"},
		"let a;":                                      {"", "0 code blocks"},
		"```ts\na\n```\n```ts\nb\n```":                {"", "2 code blocks"},
		"```ts\nlet a;":                               {"", "no end"},
		"```python\na = 1\n```":                       {"", `marked as "python"`},
		"```bash\nrm -rf /\n```":                      {"", `marked as "bash"`},
		"```ts\n\n```":                                {"", "empty"},
		"```ts\n" + strings.Repeat("a", maxCode+1) + "\n```": {"", "at most"},
	} {
		got, err := parseAnswer(&model.Response{Text: text, Stop: model.StopEnd}, sandbox.LangTypeScript)
		if got != want.code || (err == nil) != (want.err == "") || err != nil && !strings.Contains(err.Error(), want.err) {
			t.Errorf("parseAnswer(%.40q) = %q, %v; want %q, %q", text, got, err, want.code, want.err)
		}
	}
	if _, err := parseAnswer(&model.Response{Text: "```ts\nlet a;\n```", Stop: model.StopLength}, sandbox.LangTypeScript); err == nil || !strings.Contains(err.Error(), "cut") {
		t.Errorf("an answer that was cut: %v", err)
	}
	_, err := parseAnswer(&model.Response{Text: "CANNOT: " + strings.Repeat("no\x1b[31m ", 1000)}, sandbox.LangTypeScript)
	refused, ok := errors.AsType[*RefusedError](err)
	if !ok || len(refused.Reason) > 600 || strings.Contains(refused.Reason, "\x1b") {
		t.Errorf("a refusal: %v", err)
	}
}

// FuzzParseAnswer checks that a script is never more than what stands between two fences.
func FuzzParseAnswer(f *testing.F) {
	f.Add("```ts\nlet a;\n```")
	f.Add("````\n```\n````")
	f.Fuzz(func(t *testing.T, text string) {
		code, err := parseAnswer(&model.Response{Text: text}, sandbox.LangPython)
		if err == nil && (code == "" || len(code) > maxCode || !strings.Contains(strings.ReplaceAll(text, "\r\n", "\n")+"\n", code)) {
			t.Errorf("parseAnswer(%q) = %q", text, code)
		}
	})
}
