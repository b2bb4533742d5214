package guest

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mcpgen/mcpgen/runner/sandbox/embedded/internal/testhost"
)

// dressed answers with values richer than JSON, depending on the tool's name, in a workspace that contains one stored result.
func dressed(t *testing.T, code string) (run, string) {
	t.Helper()
	workspace := t.TempDir()
	stored := `{"rows":[1,9007199254740993]}` + "\nsecond\nthird"
	if err := os.WriteFile(filepath.Join(workspace, "stored.txt"), []byte(stored), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(workspace, "stored.json"), []byte(`{"rows":[1,9007199254740993]}`), 0o600); err != nil {
		t.Fatal(err)
	}
	files, err := OpenFiles(Folders{Workspace: workspace})
	if err != nil {
		t.Fatal(err)
	}
	values := map[string][2]string{
		"t__content": {"content", `[{"type":"text","text":"é"},{"type":"image","data":"iVBORw==","mimeType":"image/png","_meta":{"n":9007199254740993}},` +
			`{"type":"resource","resource":{"uri":"a://b","blob":"AAEC"}},{"type":"resource_link","uri":"a://c","name":"c"},{"type":"new","x":1}]`},
		"t__json":   {"handle", `{"path":"/workspace/stored.json","size":29,"type":"json","preview":"{\"rows\":[1,90"}`},
		"t__parsed": {"handle", `{"path":"/workspace/stored.json","size":29,"type":"json","text":true,"preview":"{\"rows\":[1,90"}`},
		"t__stored": {"handle", `{"path":"/workspace/stored.txt","size":42,"type":"text","preview":"{\"rows\""}`},
		"t__dry":    {"dry", `{"call":3}`},
	}
	h := testhost.Host{
		As: func(tool string) string { return values[tool][0] },
		Answer: func(tool string, args json.RawMessage) (string, string) {
			if v, ok := values[tool]; ok {
				return v[1], ""
			}
			return string(args), ""
		},
		Ask: func(method string, params json.RawMessage) (string, string) {
			if method == "resources/read" {
				return `{"contents":[{"uri":"a://c","blob":"BAUG","mimeType":"application/x"}]}`, ""
			}
			return "", `{"kind":"argument","message":"no such method"}`
		},
	}
	return runWith(t, call+code, h, Options{Files: files}), workspace
}

func TestContentObjects(t *testing.T) {
	r, workspace := dressed(t, `
		const [text, image, resource, link, other] = await call("t__content", {});
		console.log(text.text, image.mimeType, image.bytes(), resource.resource.bytes(), other.x);
		console.log(image.save("out/a.png"), text.save("/workspace/t.txt"), resource.save("r.bin"), await link.save("link.bin"));
		for (const name of ["../x", "/etc/x", "/workspace", ""]) try { image.save(name); console.log("saved", name) } catch (e) { console.log(e instanceof Error) }
		console.log(JSON.stringify([text, image, resource, link, other]));
		await call("t__echo", { image });
		const { request } = globalThis[Symbol.for("mcprun.transport")];
		const read = await request("resources/read", { server: "t", uri: "a://c" });
		console.log(read.contents[0].bytes(), read.contents[0].save("read.bin"));
	`)
	want := `é image/png Uint8Array(4) [ 137, 80, 78, 71 ] Uint8Array(3) [ 0, 1, 2 ] 1
/workspace/out/a.png /workspace/t.txt /workspace/r.bin /workspace/link.bin
true
true
true
true
[{"type":"text","text":"é"},{"type":"image","data":"iVBORw==","mimeType":"image/png","_meta":{"n":9007199254740993}},{"type":"resource","resource":{"uri":"a://b","blob":"AAEC"}},{"type":"resource_link","uri":"a://c","name":"c"},{"type":"new","x":1}]
Uint8Array(3) [ 4, 5, 6 ] /workspace/read.bin
`
	if r.stdout != want || r.stderr != "" {
		t.Errorf("got  %s\nwant %s\nstderr %s", r.stdout, want, r.stderr)
	}
	if last := r.Calls[len(r.Calls)-1]; last != `t__echo {"image":{"type":"image","data":"iVBORw==","mimeType":"image/png","_meta":{"n":9007199254740993}}}` {
		t.Errorf("passed on as %s, want %q", last, `t__echo {"image":{"type":"image","data":"iVBORw==","mimeType":"image/png","_meta":{"n":9007199254740993}}}`)
	}
	for name, want := range map[string]string{"out/a.png": "\x89PNG", "t.txt": "é", "r.bin": "\x00\x01\x02", "link.bin": "\x04\x05\x06", "read.bin": "\x04\x05\x06"} {
		if got, err := os.ReadFile(filepath.Join(workspace, name)); err != nil || string(got) != want {
			t.Errorf("%s holds %q: %v, want %v and no error", name, got, err, want)
		}
	}
}

func TestHandles(t *testing.T) {
	r, _ := dressed(t, `
		const h = await call("t__json", {}), s = await call("t__stored", {});
		console.log(h.size, h.path, h.preview, h.json(), s.text().length, [...s.lines()].length);
		for (const bad of [{ h }, { deep: [{ h }] }]) try { await call("t__echo", bad) } catch (e) { console.log(e.kind, e.message) }
		console.log(h);
		console.log((await call("t__echo", { rows: h.json().rows })).rows);
		console.log(h.rows[1], Object.keys(h), s.slice(0, 5), s.split("\n").length);
		const p = await call("t__parsed", {});
		console.log(String(p), JSON.parse(p).rows[0], p.rows.push(3), `+"`${p}`"+`);
		export const result = { h };
	`)
	lines := strings.Split(strings.TrimSpace(r.stdout), "\n")
	if r.stderr != "" || len(lines) < 5 {
		t.Fatalf(`stdout %s stderr %s, want "" and len(lines) at least 5`, r.stdout, r.stderr)
	}
	if want := `29 /workspace/stored.json {"rows":[1,90 { rows: [ 1, 9007199254740993n ] } 42 3`; lines[0] != want {
		t.Errorf("got  %s\nwant %s", lines[0], want)
	}
	for i, where := range []string{"argument input.h ", "argument input.deep[0].h "} {
		if got := lines[1+i]; !strings.HasPrefix(got, where) || !strings.Contains(got, "json()") {
			t.Errorf(`refused with %q, want %q at its start and "json()" in it`, got, where)
		}
	}
	if want := `{"h":{"path":"/workspace/stored.json","size":29,"type":"json","preview":"{\"rows\":[1,90"}}`; r.Result.Result != want {
		t.Errorf("the run's result is %s, want %s", r.Result.Result, want)
	}
	if last, want := lines[len(lines)-1], `{"rows":[1,9007199254740993]} 1 3 {"rows":[1,9007199254740993,3]}`; last != want {
		t.Errorf("a JSON text in a file: got %s, want %s", last, want)
	}
	if last, want := lines[len(lines)-2], `9007199254740993n [ 'rows' ] {"row 3`; last != want {
		t.Errorf("a handle that is used as its value gives %s, want %s", last, want)
	}
	lines = lines[:len(lines)-2]
	if shown := strings.Join(lines[3:len(lines)-1], " "); !strings.Contains(shown, "stored.json") || !strings.Contains(shown, "29") {
		t.Errorf(`a handle is shown as %q, want "stored.json" in it and "29" in it`, shown)
	}
	if last := lines[len(lines)-1]; last != "[ 1, 9007199254740993n ]" {
		t.Errorf(`passed on as %s, want "[ 1, 9007199254740993n ]"`, last)
	}
}

// As in node: only a text in one piece can be written, and no other stored result.
func TestHandlesAreWrittenToFiles(t *testing.T) {
	r, workspace := dressed(t, `
		const fs = await import("node:fs");
		const h = await call("t__json", {}), s = await call("t__stored", {});
		await fs.promises.writeFile("copy", s);
		await fs.promises.appendFile("copy", s, "utf8");
		await fs.promises.writeFile("pieces", (async function* () { yield "a"; yield new Uint16Array([0x6362]); })());
		await fs.promises.writeFile("list", ["c", "d"]);
		for (const write of [() => fs.promises.writeFile("no", h), () => fs.promises.writeFile("no", [1]), () => fs.writeFileSync("no", s)])
			try { await write(); console.log("written") } catch (e) { console.log(e.code) }
		console.log(fs.existsSync("no"));
	`)
	if want := strings.Repeat("ERR_INVALID_ARG_TYPE\n", 3) + "false\n"; r.stdout != want || r.stderr != "" {
		t.Errorf(`stdout %s stderr %s, want %s and ""`, r.stdout, r.stderr, want)
	}
	stored := `{"rows":[1,9007199254740993]}` + "\nsecond\nthird"
	for name, want := range map[string]string{"copy": stored + stored, "pieces": "abc", "list": "cd"} {
		if got, err := os.ReadFile(filepath.Join(workspace, name)); err != nil || string(got) != want {
			t.Errorf("%s holds %q: %v, want %v and no error", name, got, err, want)
		}
	}
}

func TestContentOfErrorsAndRawResults(t *testing.T) {
	h := testhost.Host{Answer: func(tool string, _ json.RawMessage) (string, string) {
		const content = `"content":[{"type":"image","data":"AAEC","mimeType":"image/png"}]`
		if tool == "t__raw" {
			return "{" + content + `,"isError":true}`, ""
		}
		return "", `{"kind":"tool","message":"failed","tool":"t__fails",` + content + "}"
	}}
	r := runWith(t, call+`
		console.log((await call("t__raw", {}, { raw: true })).content[0].bytes(), (await call("t__raw", {})).content[0].bytes);
		try { await call("t__fails", {}) } catch (e) { console.log(e.kind, e.content[0].bytes()) }
	`, h, Options{})
	if want := "Uint8Array(3) [ 0, 1, 2 ] undefined\ntool Uint8Array(3) [ 0, 1, 2 ]\n"; r.stdout != want || r.stderr != "" {
		t.Errorf("got %s\nwant %s\nstderr %s", r.stdout, want, r.stderr)
	}
}

func TestPlaceholders(t *testing.T) {
	r, _ := dressed(t, `
		const made = await call("t__dry", {});
		await call("t__echo", { id: made, deep: [made.id, { x: made.rows[0].name }] });
	`)
	if last := r.Calls[len(r.Calls)-1]; last != `t__echo {"id":{"call":3},"deep":[{"call":3},{"x":{"call":3}}]}` || r.stderr != "" {
		t.Errorf(`passed on as %s; stderr %s, want %q and ""`, last, r.stderr, `t__echo {"id":{"call":3},"deep":[{"call":3},{"x":{"call":3}}]}`)
	}
}
