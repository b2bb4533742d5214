package filesystem

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/mcpgen/mcpgen/cmd/mcpdemo/internal/tooltest"
)

func TestServer(t *testing.T) {
	srv, err := New(filepath.Join(t.TempDir(), "fs"))
	if err != nil {
		t.Fatal(err)
	}
	args := func(kv ...any) map[string]any {
		m := map[string]any{}
		for i := 0; i < len(kv); i += 2 {
			m[kv[i].(string)] = kv[i+1]
		}
		return m
	}
	tooltest.Tour(t, srv, []tooltest.Call{
		{Tool: "list_directory", Want: `"name":"README.md"`},
		{Tool: "list_directory", Args: args("path", "README.md"), Fails: true, Want: "not a directory"},
		{Tool: "list_directory", Args: args("path", "logs", "sort_by", "size"), Want: `"path":"logs/scheduler-2026-02-26.log"`},
		{Tool: "read_file", Args: args("path", "reports/q1-depots.csv", "head", 1), Want: `"truncated":true`},
		{Tool: "read_file", Args: args("path", "reports/q1-depots.csv", "tail", 1), Want: `"content":"Tallinn,EE,14,3644,129,0.897\n"`},
		{Tool: "read_file", Args: args("path", "README.md", "head", 1, "tail", 1), Fails: true, Want: "not both"},
		{Tool: "read_file", Args: args("path", "notes"), Fails: true, Want: "is a directory"},
		{Tool: "read_file", Args: args("path", "nope.txt"), Fails: true, Want: "does not exist"},
		{Tool: "read_multiple_files", Args: args("paths", []string{"README.md", "nope"}), Want: `"content":null,"error":"path \"nope\" does not exist`},
		{Tool: "directory_tree", Args: args("max_depth", 1), Want: `"truncated":true`},
		{Tool: "directory_tree", Want: `"name":"scheduler.yaml"`},
		{Tool: "get_file_info", Args: args("path", "notes"), Want: `"type":"directory"`},
		{Tool: "search_files", Args: args("content", "todo", "name_pattern", "*.md"), Want: `"path":"notes/capacity-plan.md"`},
		{Tool: "search_files", Args: args("content", "job 48213 .*lock", "regexp", true), Want: `lock timeout`},
		{Tool: "search_files", Args: args("content", "(", "regexp", true), Fails: true, Want: "regular expression"},
		{Tool: "search_files", Args: args(), Fails: true, Want: "give name_pattern"},
		{Tool: "write_file", Args: args("path", "new/dir/a.txt", "content", "one\n"), Want: `"created":true`},
		{Tool: "write_file", Args: args("path", "new/dir/a.txt", "content", "two\n", "mode", "append"), Want: `"size_bytes":8`},
		{Tool: "write_file", Args: args("path", "new/dir/a.txt", "content", "", "mode", "create"), Fails: true, Want: "exists already"},
		{Tool: "write_file", Args: args("path", "new/b.bin", "content", "/w==", "encoding", "base64"), Want: `"size_bytes":1`},
		{Tool: "read_file", Args: args("path", "new/b.bin"), Fails: true, Want: "not UTF-8"},
		{Tool: "read_file", Args: args("path", "new/b.bin", "encoding", "base64"), Want: `"content":"/w=="`},
		{Tool: "edit_file", Args: args("path", "new/dir/a.txt", "edits", []any{args("old_text", "two", "new_text", "three")}), Want: `"content":"one\nthree\n"`},
		{Tool: "edit_file", Args: args("path", "new/dir/a.txt", "edits", []any{args("old_text", "e\n", "new_text", "")}), Fails: true, Want: "occurs 2 times"},
		{Tool: "create_directory", Args: args("path", "new/empty"), Want: `"created":true`},
		{Tool: "create_directory", Args: args("path", "README.md/x"), Fails: true, Want: "README.md/x"},
		{Tool: "move_file", Args: args("source", "new/dir/a.txt", "destination", "new/c.txt"), Want: `"destination":"new/c.txt"`},
		{Tool: "move_file", Args: args("source", "new/c.txt", "destination", "README.md"), Fails: true, Want: "exists already"},
		{Tool: "delete_file", Args: args("path", "new"), Fails: true, Want: "not empty"},
		{Tool: "delete_file", Args: args("path", "new", "recursive", true), Want: `"type":"directory"`},
		{Tool: "delete_file", Args: args("path", ".", "recursive", true), Fails: true, Want: "cannot be deleted"},
	})
}

// TestEscapes tries to get out of the folder with every tool.
func TestEscapes(t *testing.T) {
	dir := t.TempDir()
	secret := filepath.Join(dir, "secret.txt")
	if err := os.WriteFile(secret, []byte("hidden"), 0o644); err != nil {
		t.Fatal(err)
	}
	folder := filepath.Join(dir, "fs")
	srv, err := New(folder)
	if err != nil {
		t.Fatal(err)
	}
	for link, target := range map[string]string{"file": "../secret.txt", "abs": secret, "up": "..", "inside": "README.md"} {
		if err := os.Symlink(target, filepath.Join(folder, link)); err != nil {
			t.Fatal(err)
		}
	}
	if err := syscall.Mkfifo(filepath.Join(folder, "pipe"), 0o644); err != nil {
		t.Fatal(err)
	}
	client := tooltest.Connect(t, srv)
	for _, path := range []string{"../secret.txt", "notes/../../secret.txt", secret, "file", "abs", "up/secret.txt", "up", "..", "pipe", "a\x00b"} {
		for tool, args := range map[string]map[string]any{
			"read_file":        {"path": path},
			"write_file":       {"path": path, "content": "changed"},
			"edit_file":        {"path": path, "edits": []any{map[string]any{"old_text": "hidden", "new_text": ""}}},
			"list_directory":   {"path": path},
			"directory_tree":   {"path": path},
			"search_files":     {"path": path, "name_pattern": "*"},
			"create_directory": {"path": path + "/x"},
			"move_file":        {"source": "README.md", "destination": path + "/x"},
		} {
			text, isError := tooltest.Do(t, client, tool, args)
			if !isError || strings.Contains(text, dir) && !strings.Contains(path, dir) {
				t.Errorf("%s %q: %s", tool, path, text)
			}
		}
	}
	if text, isError := tooltest.Do(t, client, "read_file", map[string]any{"path": "file"}); !isError || !strings.Contains(text, "access denied") {
		t.Errorf("link escape: %s", text)
	}
	if text, isError := tooltest.Do(t, client, "read_file", map[string]any{"path": "inside"}); isError || !strings.Contains(text, "Fieldline") {
		t.Errorf("a link within the folder: %s", text)
	}
	// Deleting a link deletes the link; the tree and the search do not follow it.
	if text, isError := tooltest.Do(t, client, "delete_file", map[string]any{"path": "up", "recursive": true}); isError {
		t.Errorf("delete link: %s", text)
	}
	text, _ := tooltest.Do(t, client, "search_files", map[string]any{"content": "hidden"})
	if strings.Contains(text, "secret") {
		t.Errorf(`search followed a link: %s, want no "secret" in it`, text)
	}
	if got, err := os.ReadFile(secret); err != nil || string(got) != "hidden" {
		t.Fatalf(`the file outside was changed: %q, %v, want "hidden" and no error`, got, err)
	}
}
