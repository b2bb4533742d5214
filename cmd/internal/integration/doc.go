// Package integration tests the whole product as a person uses it: the real binaries, servers that others wrote, every
// sandbox, and the machine after a run. It holds tests only.
//
// A test makes a project, which is a folder of its own with a .mcp.json, a runtime folder and an environment, and
// runs mcpgen and mcprun in it. When the test ends, the project looks at the machine for what its runs have left. What a
// test stands on (node, python3, Docker, the npm packages of testdata/npm) is asked for with a need function: without
// it the test fails where CI is set, and is skipped with the reason elsewhere.
package integration
