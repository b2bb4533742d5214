package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestFormTerminal checks that a person is asked for what a row lacks and what does not fit, and that the form is then submitted once.
func TestFormTerminal(t *testing.T) {
	dir := deskProject(t, map[string]string{
		"row.json": `{"due": "soon"}`,
		"fill.ts":  `import { fillForm } from "mcprun"; console.log((await fillForm("note", { name: "Bo" })).status);`,
	})
	if err := os.Mkdir(filepath.Join(dir, "forms"), 0o700); err != nil {
		t.Fatal(err)
	}
	const note = "schema:\n  type: object\n  required: [name, due]\n  properties: {name: {type: string}, due: {type: string, format: date}}\nsubmit:\n  tool: desk__note\n  with: {text: '${fields.name + \" \" + fields.due}'}\n"
	if err := os.WriteFile(filepath.Join(dir, "forms", "note.yaml"), []byte(note), 0o600); err != nil {
		t.Fatal(err)
	}
	s := onTerminal(t, dir, nil, "form", "fill", "note", "--data", "row.json")
	at := s.wait(t, 0, "The form note asks:\n  note\n  due: expected a text of the format date")
	at = s.wait(t, at, "[A]nswer, [d]ecline: ")
	s.typed(t, "\n")
	at = s.wait(t, at, "name  text, required\n> ")
	s.typed(t, "Ann\n")
	at = s.wait(t, at, "due  date, such as 2026-12-31, required\n> ")
	s.typed(t, "tomorrow\n")
	at = s.wait(t, at, "it must be of the format date\n> ")
	s.typed(t, "2026-12-31\n")
	at = s.wait(t, at, `To be filled in: {"name": "Ann", "due": "2026-12-31"}`)
	at = s.wait(t, at, "[F]ill in, [c]hange, [d]ecline: ")
	s.typed(t, "\n")
	s.wait(t, at, "submitted the form note as form-")
	if code := s.ends(t); code != 0 {
		t.Errorf("exit code %d, want 0\n%s", code, s)
	}
	s = onTerminal(t, dir, nil, "fill.ts")
	at = s.wait(t, 0, "The form note asks:\n  note\n")
	s.wait(t, at, "[d]ecline: ")
	s.typed(t, "d\n")
	s.wait(t, at, "open\n")
	if code := s.ends(t); code != 0 {
		t.Errorf("exit code %d, want 0\n%s", code, s)
	}
	text, err := os.ReadFile(filepath.Join(dir, "notes.txt"))
	if err != nil || strings.TrimSpace(string(text)) != "Ann 2026-12-31" {
		t.Errorf("the server has %q, %v, want one note", text, err)
	}
}
