package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"sort"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/mcpgen/mcpgen/runner/script"
)

func TestMain(m *testing.M) {
	script.Child() // this program acts as mcpgen for tests that bundle skills
	testscript.Main(m, map[string]func(){"mcpgen": main, "fakemcp": fakeServer})
}

func TestScripts(t *testing.T) {
	bin := buildDemo(t)
	testscript.Run(t, testscript.Params{
		Dir:                 filepath.Join("..", "..", "testdata", "script", "mcpgen"),
		RequireExplicitExec: true,
		Setup: func(env *testscript.Env) error {
			env.Setenv("PATH", bin+string(os.PathListSeparator)+env.Getenv("PATH"))
			env.Setenv("MCPGEN_TRUST", "1") // trust.txtar takes it away
			env.Setenv("REGISTRY", fakeRegistry(env))
			return nil
		},
		Cmds: map[string]func(ts *testscript.TestScript, neg bool, args []string){
			"status": status, "snapshot": snapshot, "same": same, "waitfile": waitFile, "expand": expand,
		},
	})
}

// buildDemo builds the demo servers and returns the folder they are in.
func buildDemo(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	build := exec.Command("go", "build", "-trimpath", "-o", filepath.Join(dir, "mcpdemo"), "../mcpdemo")
	build.Env = append(os.Environ(), "CGO_ENABLED=0") // as make build does, whose compiled packages it uses
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("build the demo servers: %v\n%s", err, out)
	}
	return dir
}

// status CODE COMMAND...: the command must end with that exit code.
func status(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: status CODE COMMAND...")
	}
	err := ts.Exec(args[1], args[2:]...)
	code := 0
	if exit, ok := err.(*exec.ExitError); ok {
		code = exit.ExitCode()
	} else if err != nil {
		ts.Fatalf("%v", err)
	}
	if fmt.Sprint(code) != args[0] {
		ts.Fatalf("exit code %d, want %s", code, args[0])
	}
}

// snapshot DIR FILE writes names, contents and modification times of everything in DIR to FILE; same DIR FILE compares.
func snapshot(ts *testscript.TestScript, _ bool, args []string) {
	ts.Check(os.WriteFile(ts.MkAbs(args[1]), []byte(describe(ts, ts.MkAbs(args[0]))), 0o644))
}

func same(ts *testscript.TestScript, neg bool, args []string) {
	before := ts.ReadFile(args[1])
	if now := describe(ts, ts.MkAbs(args[0])); (now == before) == neg {
		ts.Fatalf("before:\n%s\nnow:\n%s", before, now)
	}
}

func describe(ts *testscript.TestScript, dir string) string {
	var lines []string
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		b, err := os.ReadFile(path)
		ts.Check(err)
		info, err := d.Info()
		lines = append(lines, fmt.Sprintf("%s %d %q", path, info.ModTime().UnixNano(), b))
		return err
	})
	ts.Check(err)
	sort.Strings(lines)
	return strings.Join(lines, "\n")
}

// expand FROM TO copies a file with the variables of the script expanded.
func expand(ts *testscript.TestScript, _ bool, args []string) {
	ts.Check(os.WriteFile(ts.MkAbs(args[1]), []byte(os.Expand(ts.ReadFile(args[0]), ts.Getenv)), 0o644))
}

// waitFile NAME waits until a file is there.
func waitFile(ts *testscript.TestScript, _ bool, args []string) {
	for began := time.Now(); time.Since(began) < time.Minute; time.Sleep(5 * time.Millisecond) {
		if _, err := os.Stat(ts.MkAbs(args[0])); err == nil {
			return
		}
	}
	ts.Fatalf("%s never came", args[0])
}

// fakeRegistry starts a registry of the servers in registry.json, which answers with pages of two, and returns its address.
func fakeRegistry(env *testscript.Env) string {
	type listed struct {
		Server json.RawMessage `json:"server"`
		Meta   json.RawMessage `json:"_meta,omitempty"`
	}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		text, err := os.ReadFile(filepath.Join(env.WorkDir, "registry.json"))
		var all []listed
		if err = errors.Join(err, json.Unmarshal(text, &all)); err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		fits := []listed{}
		for _, l := range all {
			var head struct{ Name string }
			_ = json.Unmarshal(l.Server, &head) // some are no objects
			if r.URL.EscapedPath() == "/v0.1/servers/"+url.PathEscape(head.Name)+"/versions/latest" {
				_ = json.NewEncoder(w).Encode(l)
				return
			}
			if strings.Contains(head.Name, r.FormValue("search")) || head.Name == "" {
				fits = append(fits, l)
			}
		}
		if r.URL.Path != "/v0.1/servers" || r.FormValue("version") != "latest" {
			http.NotFound(w, r)
			return
		}
		from, _ := strconv.Atoi(r.FormValue("cursor"))
		to, next := min(from+2, len(fits)), ""
		if to < len(fits) {
			next = strconv.Itoa(to)
		}
		_ = json.NewEncoder(w).Encode(map[string]any{"servers": fits[from:to], "metadata": map[string]any{"nextCursor": next}})
	}))
	env.Defer(s.Close)
	return s.URL
}

// fakeServer is an MCP server of the older era over stdio: fakemcp FILE lists the tools in the JSON file. With a
// second argument it creates a file of that name and then hangs.
func fakeServer() {
	if len(os.Args) > 2 {
		if err := os.WriteFile(os.Args[2], nil, 0o644); err != nil {
			panic(err)
		}
		select {}
	}
	tools, err := os.ReadFile(os.Args[1])
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	in := bufio.NewScanner(os.Stdin)
	in.Buffer(nil, 1<<20)
	for in.Scan() {
		var m struct {
			ID     json.RawMessage `json:"id"`
			Method string          `json:"method"`
			Params struct {
				Name      string          `json:"name"`
				Arguments json.RawMessage `json:"arguments"`
			} `json:"params"`
		}
		if json.Unmarshal(in.Bytes(), &m) != nil || m.ID == nil {
			continue
		}
		answer := `"error":{"code":-32601,"message":"no such method"}`
		switch m.Method {
		case "initialize":
			answer = `"result":{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"fake","version":"1"}}`
		case "tools/list":
			answer = `"result":{"tools":` + strings.Join(strings.Fields(string(tools)), " ") + `}`
		case "tools/call":
			answer = fakeCall(os.Args[1]+".replies", m.Params.Name+" "+string(m.Params.Arguments))
		}
		fmt.Printf("{\"jsonrpc\":\"2.0\",\"id\":%s,%s}\n", m.ID, answer)
	}
}

// fakeCall answers a call with the result that a file of results has under "tool {arguments}". The text SECRET in it
// becomes the variable of that name, the result "exit" ends the server, and every call is noted in calls.log.
func fakeCall(file, call string) string {
	log, err := os.OpenFile("calls.log", os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err == nil {
		_, _ = fmt.Fprintln(log, call)
		err = log.Close()
	}
	text, readErr := os.ReadFile(file)
	var replies map[string]json.RawMessage
	if err = errors.Join(err, readErr, json.Unmarshal(text, &replies)); err != nil {
		panic(err)
	}
	reply, known := replies[call]
	if string(reply) == `"exit"` {
		os.Exit(3)
	}
	if !known {
		return `"error":{"code":-32602,"message":"no reply to ` + strings.ReplaceAll(call, `"`, "'") + `"}`
	}
	return `"result":` + strings.ReplaceAll(string(reply), "SECRET", os.Getenv("SECRET"))
}
