// Package skills holds the skills that come with the program, in the Agent Skills format: a folder each.
package skills

import "embed"

// FS has the skills' folders. What a folder of skills keeps for itself begins with a dot and is not in it.
//
//go:embed mcp-progressive-discovery save-sheet-as-csv collect-pages compare-records
var FS embed.FS
