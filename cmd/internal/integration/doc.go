// Package integration tests the whole product as a person uses it: the real binaries, servers that others wrote, every
// sandbox, and the machine after a run. It holds tests only.
//
// A test creates a project, which is a folder of its own with a .mcp.json, a runtime folder and an environment, and runs mcpgen
// and mcprun in it. When the test ends, the project checks what its runs have left on the machine. A test asks for what it
// depends on (node, python3, Docker, the npm packages of testdata/npm) with a need function. If that is missing, the test fails
// in CI and is skipped, with the reason, elsewhere.
package integration
