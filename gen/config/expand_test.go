package config

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func lookupIn(vars map[string]string) Lookup {
	return func(name string) (string, bool) { v, ok := vars[name]; return v, ok }
}

func TestExpandText(t *testing.T) {
	lookup := lookupIn(map[string]string{"A": "1", "EMPTY": "", "NESTED": "${A}", "_x9": "u"})
	cases := map[string]string{
		"":                    "",
		"plain $A $ {A} $(A)": "plain $A $ {A} $(A)",
		"${A}":                "1",
		"x${A}y${A}z":         "x1y1z",
		"${env:A}":            "1",
		"${_x9}":              "u",
		"${A:-d}":             "1",
		"${NO:-d}":            "d",
		"${env:NO:-d}":        "d",
		"${NO:-}":             "",
		"${NO:-http://h:1/}":  "http://h:1/",
		"${EMPTY}":            "",
		"${EMPTY:-d}":         "d",
		"${NESTED}":           "${A}", // values are not expanded again
		"${A":                 "${A",
		"$${A}":               "$1",
	}
	for in, want := range cases {
		got, err := Server{Key: "s", Transport: TransportStdio, Command: "c", Args: []string{in}}.Expand(lookup)
		if err != nil || got.Args[0] != want {
			t.Errorf("%q gives %q, %v; want %q", in, got.Args, err, want)
		}
	}
}

func TestExpandEveryField(t *testing.T) {
	lookup := lookupIn(map[string]string{"V": "val", "URL": "http://h"})
	in := Server{Key: "${V}", Transport: TransportStdio, Command: "${V}", Args: []string{"${V}"}, Env: map[string]string{"${V}": "${V}"}, Cwd: "${V}", Dir: "/d"}
	got, err := in.Expand(lookup)
	if err != nil {
		t.Fatal(err)
	}
	want := Server{Key: "${V}", Transport: TransportStdio, Command: "val", Args: []string{"val"}, Env: map[string]string{"${V}": "val"}, Cwd: "/d/val", Dir: "/d", Headers: map[string]string{}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("stdio (-want +got):\n%s", diff)
	}
	if in.Args[0] != "${V}" || in.Env["${V}"] != "${V}" {
		t.Error(`the server that was expanded has changed, want in.Args[0] "${V}" and "${V}"`)
	}
	web, err := Server{Key: "w", Transport: TransportHTTP, URL: "${URL}/x", Headers: map[string]string{"H": "Bearer ${V}"}}.Expand(lookup)
	if err != nil || web.URL != "http://h/x" || web.Headers["H"] != "Bearer val" {
		t.Errorf(`http: %q %q, %v, want "http://h/x", "Bearer val" and no error`, web.URL, web.Headers, err)
	}
}

// A secret must not stand in a file, so a default is no advice.
func TestSecretNotSet(t *testing.T) {
	s := &Secret{Text: "${NO}"}
	const want = "${NO} cannot be read: the variable NO is not set; set it in the environment or in .env"
	if _, err := s.Read(t.Context(), SecretSources{Lookup: lookupIn(nil)}); err == nil || err.Error() != want {
		t.Errorf("Read() = %v, want %q", err, want)
	}
}

func TestExpandErrors(t *testing.T) {
	const secret = "s3cret-value"
	lookup := lookupIn(map[string]string{"SECRET": secret, "EMPTY": ""})
	stdio := Server{Key: "my server", Transport: TransportStdio, Command: "c"}
	with := func(change func(*Server)) Server { s := stdio; change(&s); return s }
	cases := map[string]struct {
		server      Server
		field, text string
	}{
		"command": {with(func(s *Server) { s.Command = "${NO}" }), "command", "the variable NO is not set"},
		"args":    {with(func(s *Server) { s.Args = []string{"${SECRET}", "${SECRET}${NO}"} }), "args[1]", "set it in the environment or in .env, or write ${NO:-default}"},
		"env":     {with(func(s *Server) { s.Env = map[string]string{"TOKEN": "${env:NO}"} }), "env.TOKEN", "NO is not set"},
		"cwd":     {with(func(s *Server) { s.Cwd = "${NO}" }), "cwd", "NO is not set"},
		"input":   {with(func(s *Server) { s.Args = []string{"${input:a-token}"} }), "args[0]", "the variable MCPGEN_INPUT_A_TOKEN is not set"},
		"foreign": {with(func(s *Server) { s.Args = []string{"${config:x.y}"} }), "args[0]", "${config…} is not a variable; use ${VAR}"},
		"file":    {with(func(s *Server) { s.Args = []string{"${file:/no/such/file}"} }), "args[0]", `the file "/no/such/file" cannot be read`},
		"envFile": {with(func(s *Server) { s.EnvFile = "no-such.env" }), "envFile", "there is no such file"},
		"empty":   {with(func(s *Server) { s.Command = "${EMPTY}" }), "command", "it is empty once its variables are replaced"},
		"header":  {Server{Key: "my server", Transport: TransportHTTP, URL: "http://h", Headers: map[string]string{"X": "${NO}"}}, "headers.X", "NO is not set"},
		"url":     {Server{Key: "my server", Transport: TransportHTTP, URL: "${SECRET}"}, "url", "not an http or https address"},
		"bad url": {Server{Key: "my server", Transport: TransportHTTP, URL: "http://h\x00/${SECRET}"}, "url", "not an http or https address"},
		"scheme":  {Server{Key: "my server", Transport: TransportSSE, URL: "file:///etc/${SECRET}"}, "url", "not an http or https address"},
	}
	for name, c := range cases {
		_, err := c.server.Expand(lookup)
		var e *ExpandError
		if !errors.As(err, &e) || e.Server != "my server" || e.Field != c.field || !strings.Contains(err.Error(), c.text) {
			t.Errorf("%s: error %v", name, err)
			continue
		}
		if strings.Contains(err.Error(), secret) {
			t.Errorf("%s: the error %q holds a value, want no %q in it", name, err, secret)
		}
	}
	if _, err := with(func(s *Server) { s.Command = "${NO}" }).Expand(nil); err == nil {
		t.Error("a nil lookup found a variable: got no error, want an error")
	}
}

func TestExpandPaths(t *testing.T) {
	cases := []struct{ command, cwd, wantCommand, wantCwd string }{
		{"npx", "", "npx", "/proj"},
		{"./run.sh", "", "/proj/run.sh", "/proj"},
		{"bin/run", "work", "/proj/bin/run", "/proj/work"},
		{"../run", "..", "/run", "/"},
		{"/usr/bin/x", "/tmp", "/usr/bin/x", "/tmp"},
		{"${HOME}/x", "${HOME}", "/home/me/x", "/home/me"},
	}
	for _, c := range cases {
		got, err := Server{Key: "s", Transport: TransportStdio, Command: c.command, Cwd: c.cwd, Dir: "/proj"}.Expand(lookupIn(map[string]string{"HOME": "/home/me"}))
		if err != nil || got.Command != c.wantCommand || got.Cwd != c.wantCwd {
			t.Errorf("%q in %q gives %q in %q, %v, want %q, %q and no error", c.command, c.cwd, got.Command, got.Cwd, err, c.wantCommand, c.wantCwd)
		}
	}
}

func TestServerDoesNotLeak(t *testing.T) {
	const secret = "s3cret-value"
	s := Server{Key: "k", Transport: TransportStdio, Command: secret, Args: []string{secret}, Env: map[string]string{secret: secret},
		Cwd: secret, URL: secret, Headers: map[string]string{secret: secret}, Dir: secret, Source: secret}
	var log bytes.Buffer
	slog.New(slog.NewTextHandler(&log, nil)).Info("x", "server", s, "pointer", &s)
	slog.New(slog.NewJSONHandler(&log, nil)).Info("x", "server", s, "pointer", &s, "list", []Server{s})
	text, err := json.Marshal(map[string]any{"a": s, "b": &s, "c": Config{Servers: []Server{s}}})
	if err != nil {
		t.Fatal(err)
	}
	for _, out := range []string{
		fmt.Sprint(s), fmt.Sprintf("%v %+v %#v %s %q", s, s, s, s, s), fmt.Sprintf("%+v %#v", &s, &s),
		fmt.Sprintf("%+v %#v", Config{Servers: []Server{s}}, []Server{s}), log.String(), string(text),
	} {
		if strings.Contains(out, secret) || !strings.Contains(out, "k") {
			t.Errorf(`it shows %s, want no %q in it and "k" in it`, out, secret)
		}
	}
}

func TestDotEnv(t *testing.T) {
	dir := write(t, map[string]string{".env": "# comment\n\nA=1\nexport B = two words \r\nC='single # $A'\nD=\"x\\ny\\\"\\\\ \\q\" # c\nE=\nF=a#b # c\nG=#c\nURL=http://h/?a=b\n"})
	got, err := DotEnv(dir)
	want := map[string]string{"A": "1", "B": "two words", "C": "single # $A", "D": "x\ny\"\\ \\q", "E": "", "F": "a#b", "G": "", "URL": "http://h/?a=b"}
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
	if got, err := DotEnv(t.TempDir()); err != nil || len(got) != 0 {
		t.Errorf("without a file: %v, %v, want len(got) 0 and no error", got, err)
	}
	for text, want := range map[string]string{
		"A=1\nnonsense s3cret": ":2: the line is not NAME=value",
		"1A=s3cret":            ":1: the line is not NAME=value",
		"A=\"s3cret":           ":1: A: the quoted value does not end on its line",
		"A='s3cret' more":      ":1: A: the quoted value does not end on its line",
		"A=\xff":               "not UTF-8",
	} {
		_, err := DotEnv(write(t, map[string]string{".env": text}))
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "s3cret") {
			t.Errorf(`%q: error %v, want an error, %v in it and no "s3cret" in it`, text, err, want)
		}
	}
}

func TestWithDotEnv(t *testing.T) {
	lookup := WithDotEnv(lookupIn(map[string]string{"A": "env", "EMPTY": ""}), map[string]string{"A": "file", "B": "file", "EMPTY": "file"})
	for name, want := range map[string]string{"A": "env", "B": "file", "EMPTY": ""} {
		if got, ok := lookup(name); got != want || !ok {
			t.Errorf("%s=%q, %t; want %q", name, got, ok, want)
		}
	}
	if _, ok := lookup("C"); ok {
		t.Error("C is set")
	}
	if got, ok := WithDotEnv(nil, map[string]string{"A": "file"})("A"); got != "file" || !ok {
		t.Errorf("A=%q, %t", got, ok)
	}
}
