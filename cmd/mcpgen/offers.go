package main

import (
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/mcpgen/mcpgen/cmd/internal/cli"
	"github.com/mcpgen/mcpgen/gen"
)

// promptJSON is one prompt in list --json and show --json.
type promptJSON struct {
	Name        string               `json:"name"`
	Title       string               `json:"title,omitempty"`
	Description string               `json:"description,omitempty"`
	Arguments   []promptArgumentJSON `json:"arguments"`
}

type promptArgumentJSON struct {
	Name        string `json:"name"`
	Description string `json:"description,omitempty"`
	Required    bool   `json:"required,omitempty"`
}

func promptsOf(s *gen.Server) []promptJSON {
	var out []promptJSON
	for _, p := range s.Prompts {
		js := promptJSON{Name: p.Name, Title: p.Title, Description: p.Description, Arguments: []promptArgumentJSON{}}
		for _, a := range p.Arguments {
			js.Arguments = append(js.Arguments, promptArgumentJSON{a.Name, a.Description, a.Required})
		}
		out = append(out, js)
	}
	return out
}

// promptRow returns the row of a prompt: its name with its arguments, and its title or description.
func promptRow(prefix string, p promptJSON) []string {
	names := make([]string, len(p.Arguments))
	for i, a := range p.Arguments {
		if names[i] = a.Name; !a.Required {
			names[i] += "?"
		}
	}
	head := cli.Shorten(cli.EscapeLine(p.Name+"("+strings.Join(names, ", ")+")"), 60)
	return []string{prefix + head, firstLine(p.Title, p.Description)}
}

// offer is what a server offers besides tools: its prompts or its resources.
type offer struct {
	server *gen.Server
	kind   string // prompts or resources
}

// offerJSON is the output of show --json for an offer.
type offerJSON struct {
	Server   string                 `json:"server"`
	Offer    string                 `json:"offer"`
	Prompts  []promptJSON           `json:"prompts,omitempty"`
	Wrappers map[string]wrapperJSON `json:"wrappers"`
}

// findOffer parses SERVER/prompts, SERVER/resources and SERVER/NAME, where NAME is a prompt's name.
func findOffer(tree *gen.Tree, name string) *offer {
	dir, what, ok := strings.Cut(name, "/")
	if !ok {
		return nil
	}
	for i := range tree.Catalog.Servers {
		s := &tree.Catalog.Servers[i]
		if s.Key != dir && s.Dir != dir {
			continue
		}
		if what == "resources" && s.Resources || what == "prompts" && s.HasPrompts {
			return &offer{s, what}
		}
		for _, p := range s.Prompts {
			if p.Name == what {
				return &offer{s, "prompts"}
			}
		}
	}
	return nil
}

// showOffer shows the modules for the prompts or the resources of a server. The tree lists prompts, but only the server knows its
// resources.
func (o *showOptions) showOffer(tree *gen.Tree, f *offer) error {
	root, err := os.OpenRoot(tree.Dir)
	if err != nil {
		return fmt.Errorf("read the tree: %w", err)
	}
	defer root.Close()
	js := offerJSON{Server: f.server.Key, Offer: f.kind, Wrappers: map[string]wrapperJSON{}}
	if f.kind == "prompts" {
		js.Prompts = promptsOf(f.server)
	}
	var out strings.Builder
	for _, language := range tree.Languages() {
		if !o.shown(language) {
			continue
		}
		l, _ := gen.LanguageOf(language)
		file := path.Join(f.server.Dir, f.kind+l.Ext)
		source, err := fs.ReadFile(root.FS(), file)
		if err != nil {
			return fmt.Errorf("read the tree: %w", err)
		}
		js.Wrappers[language] = wrapperJSON{File: file, Function: f.kind, Source: string(source)}
		fmt.Fprintf(&out, "%s\n\n%s\n\n", o.app.OutStyle().Bold(path.Join(filepath.Base(tree.Dir), file)), cli.Escape(strings.TrimSpace(string(source))))
	}
	if o.json {
		return o.app.JSON(js)
	}
	_, err = io.WriteString(o.app.Stdout, out.String())
	return err
}
