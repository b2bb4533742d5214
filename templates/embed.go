// Package templates holds the text that generated trees are made of: layouts for wrappers and index files, and the
// files that are copied as they are. It knows nothing of what is put into them; package render fills them.
package templates

import (
	"embed"
	"fmt"
)

//go:embed ts py tree
var files embed.FS

// Text returns the file of that name below this folder, for example "ts/client.ts". It panics where there is none,
// which only a mistake in this program can cause.
func Text(name string) string {
	text, err := files.ReadFile(name)
	if err != nil {
		panic(fmt.Sprintf("templates: %v", err))
	}
	return string(text)
}
