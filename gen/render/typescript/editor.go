package typescript

import (
	"strings"

	"github.com/mcpgen/mcpgen/gen/ident"
	"github.com/mcpgen/mcpgen/gen/render"
	"github.com/mcpgen/mcpgen/gen/tree"
)

// namesDir holds modules for the editor, for imports under names that no file in the tree has: the editor's settings overlay this folder on
// the one that contains the tree. mcprun resolves such imports by itself and does not look here.
const namesDir = render.EditorDir + "names/servers/"

// otherNames adds the index over all servers and, for each folder with _ in its name, an index under the name with - instead.
func otherNames(t tree.Tree, servers []render.Server) {
	var all strings.Builder
	all.WriteString(header)
	used := map[string]bool{}
	for _, s := range servers {
		used[s.Dir] = true
	}
	for _, s := range servers {
		from := quote("../../../../" + s.Dir + "/index.ts")
		names := []string{s.Dir}
		if camel := ident.Camel(s.Dir); !used[camel] {
			used[camel] = true
			names = append(names, camel)
		}
		for _, name := range names {
			if !ident.TypeScriptReserved(name) {
				all.WriteString("export * as " + name + " from " + from + ";\n")
			}
		}
		if hyphen := strings.ReplaceAll(s.Dir, "_", "-"); hyphen != s.Dir {
			t[namesDir+hyphen+".ts"] = []byte(header + "export * from " + from + ";\n")
		}
	}
	if len(servers) == 0 {
		all.WriteString("export {};\n")
	}
	t[namesDir+"index.ts"] = []byte(all.String())
}
