package main

import (
	"testing"

	"github.com/mcpgen/mcpgen/cmd/internal/cli"
	"github.com/mcpgen/mcpgen/cmd/internal/manpages"
)

func TestManPages(t *testing.T) { manpages.Write(t, newRootCmd(&cli.App{})) }
