package gvisor

import (
	"github.com/mcpgen/mcpgen/runner/sandbox"
	"github.com/mcpgen/mcpgen/runner/sandbox/internal/acl"
	"github.com/mcpgen/mcpgen/runner/sandbox/internal/folder"
)

// prepareFolders makes the workspace writable to the guest, and in it the places where other folders are shown, which the
// guest must be able to read. The places stay: another run may be using them.
func (d *direct) prepareFolders(spec sandbox.Spec, late bool) error {
	for _, dir := range []string{spec.Tree, spec.Skills, spec.Workspace} {
		if dir == "" {
			continue
		}
		if err := folder.Check(dir); err != nil {
			return err
		}
	}
	uid, gid := d.user()
	if d.root {
		groups := append(d.groups(spec.Workspace, late), gid)
		for _, dir := range []string{spec.Tree, spec.Skills} {
			if dir == "" {
				continue
			}
			if err := d.b.readable.Check(dir, uid, groups...); err != nil {
				return err
			}
		}
	}
	if spec.Workspace == "" {
		return nil
	}
	if d.root {
		if err := acl.Grant(spec.Workspace, uid); err != nil {
			return err
		}
	}
	for name, shown := range map[string]string{treeName: spec.Tree, skillsName: spec.Skills} {
		if shown == "" {
			continue
		}
		if err := folder.Place(spec.Workspace, name); err != nil {
			return err
		}
	}
	return nil
}
