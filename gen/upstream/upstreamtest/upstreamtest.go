// Package upstreamtest is an MCP server that misbehaves on request, for tests of whatever talks to servers. It runs as
// a process of its own, by starting the test binary a second time, or as an HTTP handler in the test:
//
//	func TestMain(m *testing.M) {
//		upstreamtest.Main() // does not return in the second process
//		os.Exit(m.Run())
//	}
//
//	srv := upstreamtest.Server(t, upstreamtest.Banner) // a config.Server, key "fake"
//
// A [Mode] changes how the server speaks the protocol. A test defines itself what the server lists and how it floods the
// client: see [Behaviours]. The tools are the same in every mode unless its comment says otherwise; [ToolNames] lists them,
// and each is described at its constant. The package shares no code with this module's client and does not use the SDK, so
// that it can violate the specification.
package upstreamtest

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/mcpgen/mcpgen/gen/config"
)

// The tools. All take an object; unless said otherwise it may be empty.
const (
	// ToolEcho answers with its arguments as structuredContent, digit for digit, and as text. It has an output schema.
	ToolEcho = "echo"
	// ToolSlow answers after "ms" milliseconds, 100 without. Calls run side by side.
	ToolSlow = "slow"
	// ToolFail answers with isError and the text "out of paper".
	ToolFail = "fail"
	// ToolRPCError answers with the JSON-RPC error -32050, a message, and data {"retry":9007199254740993}.
	ToolRPCError = "rpc_error"
	// ToolBigInt answers with {"n":9007199254740993,"x":1e400} as structuredContent.
	ToolBigInt = "big_int"
	// ToolWeird answers with a text and a block of the unknown type "hologram".
	ToolWeird = "weird"
	// ToolCrash ends the server, or over HTTP the connection, in the middle of the call. Status 3.
	ToolCrash = "crash"
	// ToolHang never answers; ToolCancelled says how many calls the client has cancelled, as "count", and how many it
	// made of ToolHang, as "hanging".
	ToolHang      = "hang"
	ToolCancelled = "cancelled"
	// ToolEnv answers with {"env":{…},"cwd":"…","args":[…]} of the server's process.
	ToolEnv = "env"
	// ToolPIDs answers with {"pids":[…]}: the server's, and in the mode Grandchild the grandchild's.
	ToolPIDs = "pids"
	// ToolLarge answers with a text of "bytes" bytes.
	ToolLarge = "large"
	// ToolSession answers with {"protocol":"…","capabilities":{…}} as the client gave them.
	ToolSession = "session"
	// ToolStderr writes "text" to standard error before it answers.
	ToolStderr = "stderr"
	// ToolAsk asks the client, over stdio, for sampling, for roots and for something nobody knows, and answers with
	// {"codes":[…]}: the error codes that came back, 0 for a result.
	ToolAsk = "ask"
	// ToolRegion answers with {"region":"…"}, the Mcp-Param-Region header of its request. It is not listed; over HTTP it
	// demands the header if it has the argument "where".
	ToolRegion = "region"

	// The following are not listed.

	// ToolProgress notifies of its progress "steps" times, step i of steps, with the message "step i".
	ToolProgress = "progress"
	// ToolForm asks a person with "message" and "schema", "times" times, and answers with {"answers":[…]}. ToolPage does
	// so with the page "url".
	ToolForm = "form"
	ToolPage = "page"
	// ToolVisit wants a person to visit a page first, which is done after "times" tries, and answers with {"tries":n}.
	ToolVisit = "visit"
	// ToolChange changes the definition of ToolEcho, and says that the tools changed. ToolLists says how often they were
	// listed.
	ToolChange = "change"
	ToolLists  = "lists"
)

// ToolNames are the names of the tools every ordinary mode lists, in its order.
func ToolNames() []string {
	return []string{
		ToolEcho, ToolSlow, ToolFail, ToolRPCError, ToolBigInt, ToolWeird, ToolCrash, ToolHang, ToolCancelled,
		ToolEnv, ToolPIDs, ToolLarge, ToolSession, ToolStderr, ToolAsk,
	}
}

const (
	modeVariable = "MCPGEN_UPSTREAMTEST_MODE"
	// StartsVariable names a file that gets a line for each start of the server, if it is set in the env block.
	StartsVariable = "MCPGEN_UPSTREAMTEST_STARTS"
)

// Main is the server's main function. It returns at once unless the process was started by [Server]'s configuration.
// Call it first in TestMain.
func Main() {
	mode := Mode(os.Getenv(modeVariable))
	if mode == "" {
		return
	}
	os.Exit(serveStdio(mode))
}

// Server is the configuration that starts the running test binary as a server. The caller may change what it likes.
func Server(t testing.TB, mode Mode) config.Server {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatalf("find the test binary: %v", err)
	}
	dir := t.TempDir()
	return config.Server{
		Key: "fake", Transport: config.TransportStdio, Command: self, Dir: dir,
		Env: map[string]string{
			modeVariable: string(mode), StartsVariable: filepath.Join(dir, "starts"),
			"GORACE": "atexit_sleep_ms=0", // a binary built with -race sleeps for a second before it ends
		},
		Source: filepath.Join(dir, config.FileName),
	}
}

// Starts returns how often the server of that configuration was started.
func Starts(t testing.TB, srv config.Server) int {
	t.Helper()
	text, err := os.ReadFile(srv.Env[StartsVariable])
	if err != nil {
		return 0
	}
	return len(text)
}
