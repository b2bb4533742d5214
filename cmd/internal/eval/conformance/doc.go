// Package conformance runs the official MCP conformance suite for clients against the built programs. There is no code
// but tests: the suite starts the test binary as its client, which writes a .mcp.json for the scenario's server and
// runs mcpgen login, mcpgen sync and mcprun as a person would; the script calls the tools by their wrappers.
//
// TestServer runs the suite's scenarios for servers against mcprun serve; testdata/server-baseline.txt lists those that are
// left out, or fail, with the reason.
//
// testdata/baseline.txt lists the scenarios that are expected to fail, each with its reason. The test fails when one of
// them passes, too.
package conformance
