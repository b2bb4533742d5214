package check

import (
	"io/fs"
	"path"
	"strings"

	"github.com/mcpgen/mcpgen/gen/ident"
	"github.com/mcpgen/mcpgen/runner/sandbox"
	"github.com/mcpgen/mcpgen/runner/script"
)

// pythonSkills copies the saved scripts, and makes each skill the package that it is in a sandbox: skills/save-sheet/scripts/main.py
// is skills.save_sheet, and the files beside it are in that package.
func (c *checker) pythonSkills() error {
	if err := c.mirror.copyTree(c.opt.Skills, "lib/skills", isPython, func(_, text string) string { return text }); err != nil {
		return err
	}
	copied, err := fs.Sub(c.mirror.root.FS(), "lib/skills")
	if err != nil {
		return err
	}
	folders, err := fs.ReadDir(copied, ".")
	if err != nil {
		return nil // no skill has a script in Python
	}
	for _, f := range folders {
		if f.IsDir() {
			if err := c.pythonSkill(copied, f.Name()); err != nil {
				return err
			}
		}
	}
	return nil
}

func (c *checker) pythonSkill(copied fs.FS, name string) error {
	entries, err := fs.ReadDir(copied, path.Join(name, "scripts"))
	if err != nil {
		return nil // it has none
	}
	files := []string{}
	if _, err := fs.Stat(copied, name+"/__init__.py"); err == nil {
		return nil // it is a package already
	}
	for _, e := range entries {
		if !e.IsDir() {
			files = append(files, "scripts/"+e.Name())
		}
	}
	main := script.MainScript(files, sandbox.LangPython)
	written := ident.Snake(strings.ReplaceAll(name, "-", "_"))
	for _, as := range []string{written, ident.Camel(written)} {
		for _, file := range files {
			text, err := fs.ReadFile(copied, path.Join(name, file))
			if err != nil {
				return err
			}
			to := []string{path.Base(file)}
			if file == main {
				to = append(to, "__init__.py")
			}
			for _, each := range to {
				if err := c.mirror.write(path.Join("lib/skills", as, each), string(text)); err != nil {
					return err
				}
			}
		}
		if as == ident.Camel(written) && as == written {
			break
		}
	}
	return nil
}
