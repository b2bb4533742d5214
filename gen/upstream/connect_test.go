package upstream

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/mcpgen/mcpgen/gen/config"
	"github.com/mcpgen/mcpgen/gen/upstream/stdio"
	"github.com/mcpgen/mcpgen/gen/upstream/upstreamtest"
)

// variant is one way to reach the fake in a mode.
type variant struct {
	name  string
	start func(t *testing.T, mode upstreamtest.Mode) config.Server
}

func variants() []variant {
	http := func(opts *upstreamtest.HTTPOptions) func(*testing.T, upstreamtest.Mode) config.Server {
		return func(t *testing.T, mode upstreamtest.Mode) config.Server {
			return upstreamtest.HTTPServer(t, mode, opts)
		}
	}
	return []variant{
		{"stdio", func(t *testing.T, mode upstreamtest.Mode) config.Server { return upstreamtest.Server(t, mode) }},
		{"http json", http(nil)},
		{"http events", http(&upstreamtest.HTTPOptions{EventStream: true})},
		{"http sessions", http(&upstreamtest.HTTPOptions{Sessions: true})},
	}
}

func TestConnectFindsTheEra(t *testing.T) {
	const modern, legacy = "2026-07-28", "2025-11-25"
	slowStart := modern
	if runtime.GOOS != "linux" { // where it does not show that the server has not read the probe yet
		slowStart = legacy
	}
	cases := []struct {
		mode     upstreamtest.Mode
		protocol string
		starts   int // of a process
	}{
		{upstreamtest.Normal, modern, 1},
		{upstreamtest.LegacyOnly, legacy, 1},
		{upstreamtest.ModernOnly, modern, 1},
		{upstreamtest.IgnoreProbe, legacy, 1},
		{upstreamtest.ExitOnProbe, legacy, 2},
		{upstreamtest.SlowModern, modern, 2},
		{upstreamtest.SlowStart, slowStart, 1},
		{upstreamtest.SlowStartLegacy, legacy, 1},
		{upstreamtest.Banner, modern, 1},
	}
	for _, v := range variants() {
		for _, c := range cases {
			if v.name != "stdio" && (c.mode == upstreamtest.IgnoreProbe || c.mode == upstreamtest.ExitOnProbe || c.mode == upstreamtest.Banner || c.mode == upstreamtest.SlowStart || c.mode == upstreamtest.SlowStartLegacy) {
				continue // a process's ways; a hanging endpoint has a test of its own
			}
			t.Run(v.name+"/"+string(c.mode), func(t *testing.T) {
				t.Parallel()
				opts := testOptions()
				switch c.mode {
				case upstreamtest.IgnoreProbe, upstreamtest.SlowModern:
					opts.ProbeTimeout = 200 * time.Millisecond
				case upstreamtest.SlowStart, upstreamtest.SlowStartLegacy:
					opts.ProbeTimeout = 4 * time.Second // less than the start, and enough to answer in on a busy machine
				}
				srv := v.start(t, c.mode)
				s := open(t, srv, opts)
				want := Info{Title: "A fake", Version: "1.2.3", Instructions: "be kind", Protocol: c.protocol}
				if got := s.Info(); got != want {
					t.Errorf("Info %+v, want %+v", got, want)
				}
				if res := mustCall(t, s, upstreamtest.ToolEcho, `{"a":1}`); string(res.Structured) != `{"a":1}` {
					t.Errorf("echo %s, want %q", res.Structured, `{"a":1}`)
				}
				if v.name == "stdio" {
					if got := upstreamtest.Starts(t, srv); got != c.starts {
						t.Errorf("%d starts, want %d", got, c.starts)
					}
				}
			})
		}
	}
}

func TestConnectHTTPThatHangsOnTheProbe(t *testing.T) {
	t.Parallel()
	opts := testOptions()
	opts.ProbeTimeout, opts.ConnectTimeout = 100*time.Millisecond, time.Second
	_, err := Connect(testContext(t), upstreamtest.HTTPServer(t, upstreamtest.HangOnProbe, nil), opts)
	wantConnectionError(t, err, "did not get ready in time")
	if gone, _ := errors.AsType[*ConnectionError](err); !gone.Slow {
		t.Errorf("Connect() = %v, want Slow set", err)
	}
}

func TestConnectFailures(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cases := map[string]struct {
		server  func(t *testing.T) config.Server
		timeout time.Duration
		text    string
	}{
		"no such program": {func(t *testing.T) config.Server {
			return config.Server{Key: "x", Transport: config.TransportStdio, Command: "no-such-program-at-all", Dir: t.TempDir()}
		}, 0, `the program "no-such-program-at-all" is not on the PATH`},
		"no such file": {func(t *testing.T) config.Server {
			return config.Server{Key: "x", Transport: config.TransportStdio, Command: "./nothing", Dir: t.TempDir()}
		}, 0, "no such file"},
		"no such folder": {func(t *testing.T) config.Server {
			return config.Server{Key: "x", Transport: config.TransportStdio, Command: self, Cwd: "gone", Dir: t.TempDir()}
		}, 0, "its working directory does not exist"},
		"ends at once": {func(t *testing.T) config.Server { return upstreamtest.Server(t, upstreamtest.ExitAtOnce) },
			0, "exit status 7), last line of its standard error: no licence found"},
		"never answers": {func(t *testing.T) config.Server { return upstreamtest.Server(t, upstreamtest.HangAlways) },
			time.Second, "did not get ready in time (1s)"},
		"a foreign version": {func(t *testing.T) config.Server { return upstreamtest.Server(t, upstreamtest.ForeignVersion) },
			0, `"fake": it speaks protocol version "1999-01-01", which mcpgen does not`},
		"a foreign version over HTTP": {func(t *testing.T) config.Server { return upstreamtest.HTTPServer(t, upstreamtest.ForeignVersion, nil) },
			0, `it speaks protocol version "1999-01-01", which mcpgen does not`},
		"hangs up": {func(t *testing.T) config.Server { return hangsUp(t) }, 0, `the connection was closed before an answer came`},
		"nobody there": {func(t *testing.T) config.Server {
			return config.Server{Key: "x", Transport: config.TransportHTTP, URL: "http://127.0.0.1:1/mcp"}
		}, 0, "connection refused; nothing listens there: start the server, or check its url"},
		"http, not https": {func(t *testing.T) config.Server {
			srv := upstreamtest.HTTPServer(t, upstreamtest.Normal, nil)
			srv.URL = strings.Replace(srv.URL, "http://", "https://", 1)
			return srv
		}, 0, "the server speaks http, not https: write http:// in its url"},
		"wrong token": {func(t *testing.T) config.Server {
			srv := upstreamtest.HTTPServer(t, upstreamtest.Normal, &upstreamtest.HTTPOptions{Token: "right-token"})
			srv.Headers["Authorization"] = "Bearer wrong-token"
			srv.Inferred = true // must not lead to the SSE transport
			return srv
		}, 0, "401 Unauthorized; check the headers"},
		"wrong path": {func(t *testing.T) config.Server {
			srv := upstreamtest.SSEServer(t)
			srv.Transport = config.TransportHTTP
			return srv
		}, 0, `404 Not Found; check its url; an older server may need "type": "sse"`},
		"newer than said": {func(t *testing.T) config.Server {
			srv := upstreamtest.HTTPServer(t, upstreamtest.Normal, nil)
			srv.Transport = config.TransportSSE
			return srv
		}, 0, `others have "type": "http"`},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			opts := testOptions()
			opts.ProbeTimeout = 200 * time.Millisecond
			if name == "ends at once" {
				opts.ProbeTimeout = testTime
			}
			if c.timeout > 0 {
				opts.ConnectTimeout = c.timeout
			}
			_, err := Connect(testContext(t), c.server(t), opts)
			wantConnectionError(t, err, c.text)
			if strings.Contains(err.Error(), "wrong-token") {
				t.Errorf(`the error %q holds a secret, want no "wrong-token" in it`, err)
			}
			if gone, _ := errors.AsType[*ConnectionError](err); gone.Missing != strings.HasPrefix(name, "no such program") && name != "no such file" {
				t.Errorf("Missing = %v of %q", gone.Missing, err)
			}
		})
	}
}

func TestConnectEndsWithItsContext(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(testContext(t))
	srv := upstreamtest.Server(t, upstreamtest.HangAlways)
	go func() {
		for upstreamtest.Starts(t, srv) == 0 && ctx.Err() == nil {
			time.Sleep(5 * time.Millisecond)
		}
		cancel()
	}()
	if _, err := Connect(ctx, srv, testOptions()); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v, want the context's", err)
	}
}

func TestConnectSSE(t *testing.T) {
	for name, change := range map[string]func(*config.Server){
		"configured": func(*config.Server) {},
		"fallback":   func(s *config.Server) { s.Transport, s.Inferred = config.TransportHTTP, true },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			srv := upstreamtest.SSEServer(t)
			change(&srv)
			// The stream must outlive the context of Connect.
			ctx, cancel := context.WithCancel(testContext(t))
			s, err := Connect(ctx, srv, testOptions())
			cancel()
			if err != nil {
				t.Fatal(err)
			}
			defer s.Close()
			if tools, err := s.ListTools(testContext(t)); err != nil || len(tools) != 3 {
				t.Errorf("ListTools: %d tools, %v, want 3 and no error", len(tools), err)
			}
			if res := mustCall(t, s, upstreamtest.ToolEcho, `{"n":9007199254740993}`); string(res.Structured) != `{"n":9007199254740993}` {
				t.Errorf("echo %s, want %q", res.Structured, `{"n":9007199254740993}`)
			}
		})
	}
}

func TestUnsetVariable(t *testing.T) {
	srv := upstreamtest.Server(t, upstreamtest.Normal)
	srv.Env["TOKEN"] = "${NO_SUCH_VARIABLE_HERE}"
	_, err := Connect(testContext(t), srv, testOptions())
	var e *config.ExpandError
	if !errors.As(err, &e) || e.Field != "env.TOKEN" {
		t.Errorf("error %v", err)
	}
}

func TestEnvironmentOfTheServer(t *testing.T) {
	t.Parallel()
	vars := map[string]string{
		"PATH": os.Getenv("PATH"), "HOME": "/home/me", "LC_ALL": "C", "HTTPS_PROXY": "http://127.0.0.1:9",
		"AWS_SECRET_ACCESS_KEY": "aws-secret", "MCPGODEBUG": "x=1", "GITHUB_TOKEN": "gh-secret", "GIVEN": "given-value",
	}
	opts := testOptions()
	opts.Lookup = func(name string) (string, bool) { v, ok := vars[name]; return v, ok }
	srv := upstreamtest.Server(t, upstreamtest.Normal)
	srv.Env["TOKEN"] = "${GIVEN}"
	srv.Env["HOME"] = "/elsewhere"
	srv.Args = []string{"--key=${env:GIVEN}"}
	s := open(t, srv, opts)

	res := mustCall(t, s, upstreamtest.ToolEnv, "")
	env := field[map[string]string](t, res, "env")
	for name, want := range map[string]string{"PATH": vars["PATH"], "HOME": "/elsewhere", "LC_ALL": "C", "HTTPS_PROXY": vars["HTTPS_PROXY"], "TOKEN": "given-value"} {
		if env[name] != want {
			t.Errorf("%s=%q, want %q", name, env[name], want)
		}
	}
	allowed := append(InheritedNames(), "TOKEN", upstreamtest.StartsVariable, "MCPGEN_UPSTREAMTEST_MODE", "GORACE", stdio.OwnerVariable, "MCPGEN_SERVER")
	for name := range env {
		if !slices.Contains(allowed, name) {
			t.Errorf("the server sees %s", name)
		}
	}
	dir, err := filepath.EvalSymlinks(srv.Dir)
	if err != nil {
		t.Fatal(err)
	}
	if cwd := field[string](t, res, "cwd"); cwd != dir {
		t.Errorf("working directory %q, want %q", cwd, dir)
	}
	if args := field[[]string](t, res, "args"); len(args) != 1 || args[0] != "--key=given-value" {
		t.Errorf(`arguments %q, want len(args) 1 and args[0] "--key=given-value"`, args)
	}
}

func TestProgramIsFoundOnTheChildsPath(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(self, filepath.Join(dir, "my-server")); err != nil {
		t.Fatal(err)
	}
	srv := upstreamtest.Server(t, upstreamtest.Normal)
	srv.Command, srv.Env["PATH"] = "my-server", dir
	open(t, srv, &Options{})

	// A relative entry of PATH would run whatever lies in the working directory.
	srv = upstreamtest.Server(t, upstreamtest.Normal)
	srv.Dir, srv.Command, srv.Env["PATH"] = dir, "my-server", "."
	_, err = Connect(testContext(t), srv, &Options{})
	wantConnectionError(t, err, "not on the PATH")
}

// countStarts counts how often a process is started. A server on a busy machine may be ended before it can count itself.
func countStarts(opts *Options) func() int {
	log := &record{}
	opts.Logger = log.logger()
	return func() int { return strings.Count(log.String(), "server started") }
}

// TestConnectHangsOnTheProbe names the remedy for a server that answers nothing after the probe.
func TestConnectHangsOnTheProbe(t *testing.T) {
	t.Parallel()
	opts := testOptions()
	opts.ProbeTimeout, opts.ConnectTimeout = 100*time.Millisecond, time.Second
	starts := countStarts(opts)
	_, err := Connect(testContext(t), upstreamtest.Server(t, upstreamtest.HangOnProbe), opts)
	wantConnectionError(t, err, "set protocol: legacy for it; it wrote nothing to standard error")
	if n := starts(); n != 1 {
		t.Errorf("%d starts, want 1", n)
	}
}
