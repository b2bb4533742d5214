// Command mcpgen makes a tree of typed TypeScript and Python wrappers from the MCP servers a project is configured
// with.
package main

import "github.com/mcpgen/mcpgen/cmd/internal/cli"

func main() {
	cli.Main(cli.Program{Name: "mcpgen", Command: newRootCmd})
}
