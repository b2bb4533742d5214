package bridge_test

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/mcpgen/mcpgen/runner/call"
)

// TestGuestLargeContent: content that is stored in a file can be saved like any other, even if the whole answer was requested.
func TestGuestLargeContent(t *testing.T) {
	dir := t.TempDir()
	list, raw := filepath.Join(dir, "list.json"), filepath.Join(dir, "raw.json")
	if err := errors.Join(os.WriteFile(list, []byte(`[`+picture+`]`), 0o600), os.WriteFile(raw, []byte(`{"content":[`+picture+`]}`), 0o600)); err != nil {
		t.Fatal(err)
	}
	both(t, `
import fs from "node:fs";
const list = await call("demo__list", {}), raw = await call("demo__raw", {}, { raw: true });
console.log(list[0].type, list.find((b) => b.type === "image").bytes().length, fs.readFileSync(list.json()[0].save("a.png")).length, raw.size, raw.content[0].bytes().length);
fs.unlinkSync("a.png");`, `
import os
list, raw = call("demo__list"), call("demo__raw", raw=True)
print(list[0].type, len(next(b for b in list if b.type == "image").bytes), len(open(list.json()[0].save("a.png"), "rb").read()), raw.size, len(raw["content"][0].bytes))
os.unlink("a.png")`, func(t *testing.T, r guestRun) {
		handle := func(path string) *call.Result {
			info, err := os.Stat(path)
			if err != nil {
				t.Fatal(err)
			}
			value, err := json.Marshal(map[string]any{"path": path, "size": info.Size(), "type": "json", "preview": "", "content": true})
			if err != nil {
				t.Fatal(err)
			}
			return &call.Result{As: call.AsHandle, Value: value}
		}
		r.handler = answers(map[string]*call.Result{"demo__list": handle(list), "demo__raw": handle(raw)})
		e := r.run(t)
		if want := "image 8 8 75 8\n"; e.err != nil || e.stderr != "" || e.stdout != want {
			t.Errorf("stdout %s\nwant %s\n%s %v", e.stdout, want, e.stderr, e.err)
		}
	})
}
