// Package conformance runs the official MCP conformance suite for clients against the built programs. It contains only tests. The
// suite starts the test binary as its client. That client writes a .mcp.json for the scenario's server and runs mcpgen login,
// mcpgen sync and mcprun as a user would; the script calls the tools through their wrappers.
//
// TestServer runs the suite's scenarios for servers against mcprun serve. testdata/server-baseline.txt lists the ones that are
// left out or fail, each with the reason.
//
// testdata/baseline.txt lists the scenarios that are expected to fail, each with its reason. The test also fails if one of them passes.
package conformance
