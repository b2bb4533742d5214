package main

import (
	"testing"

	"github.com/mcpgen/mcpgen/cmd/internal/cli"
	"github.com/mcpgen/mcpgen/cmd/internal/manpages"
	"github.com/mcpgen/mcpgen/cmd/mcprun/internal/resources"
)

func TestManPages(t *testing.T) { manpages.Write(t, newRoot(&cli.App{}, resources.Cold{})) }
