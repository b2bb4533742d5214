package run

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"sync"

	"github.com/mcpgen/mcpgen/cmd/internal/cli"
	"github.com/mcpgen/mcpgen/cmd/mcprun/internal/customers"
	"github.com/mcpgen/mcpgen/cmd/mcprun/internal/flags"
	"github.com/mcpgen/mcpgen/cmd/mcprun/internal/project"
	"github.com/mcpgen/mcpgen/cmd/mcprun/internal/resources"
	"github.com/mcpgen/mcpgen/cmd/mcprun/internal/skills"
	"github.com/mcpgen/mcpgen/gen"
	"github.com/mcpgen/mcpgen/gen/config"
	"github.com/mcpgen/mcpgen/gen/search"
	"github.com/mcpgen/mcpgen/runner"
	"github.com/mcpgen/mcpgen/runner/form"
	"github.com/mcpgen/mcpgen/runner/hostapi"
	"github.com/mcpgen/mcpgen/runner/pii"
	"github.com/mcpgen/mcpgen/runner/policy"
	"github.com/mcpgen/mcpgen/runner/skill"
	"github.com/mcpgen/mcpgen/runner/taint"
	"github.com/mcpgen/mcpgen/runner/workspace/customer"
)

// sayImages prints where images were stored.
func sayImages(say func(string), dir string, files []hostapi.ImageFile, err error) {
	for _, f := range files {
		say(fmt.Sprintf("image: %s (%s, %s)", cli.EscapeLine(filepath.Join(dir, filepath.FromSlash(f.Path))), cli.EscapeLine(f.MimeType), flags.Bytes(f.Size)))
	}
	if err != nil {
		say(cli.EscapeLine(err.Error()))
	}
}

// answers implements what the script of a run may ask the host for. Everything is opened when it is first used.
type answers struct {
	hostapi.Methods
	images hostapi.Images
	script *runner.Script
	say    func(line string)
	warn   func(line string) // prints an error
	labels string            // see project.Project.Taint
}

// newRunAnswers prepares the answers of a run, for a customer if v is not nil, and tells its calls which tokens the vault has issued. The caller
// calls finish after the run.
func (o *Options) newRunAnswers(project *project.Project, s *runner.Script, v *customers.LeasedRun, say func(line string)) *answers {
	var own *customer.Customer
	if v != nil {
		own = v.Session.Customer()
	}
	a := &answers{script: s, say: say, warn: say}
	a.Trouble, s.Trouble = a.sayTrouble, a.sayTrouble
	a.Image = func(mimeType string, data []byte) error {
		if s.Workspace == "" {
			return errors.New("there is no workspace to put the image into")
		}
		return a.images.Add(mimeType, data)
	}
	a.Vault = hostapi.Once(func() (*pii.Vault, error) { return customers.OpenVault(o.App, project, own, s.Workspace, say) })
	s.Calls.Issued = o.pii.Issued(o.App, &project.Settings.PII, s.Calls.Subject.Customer, func() (*pii.Vault, error) {
		return customers.OpenUsedVault(o.App, project, own, s.Workspace, say)
	})
	a.Skills = hostapi.Once(func() (*skill.Store, error) {
		return skills.OpenFor(o.App, &o.LocationFlags, project, own, skills.CheckFlags{})
	})
	if project.Policy.UsesTaint(s.Calls.Subject.Customer) {
		s.Calls.Known = &policy.Run{}
		a.Run, a.labels = s.Calls.Known, project.Taint
	}
	if project.Tree != "" {
		a.Forms = &hostapi.Forms{
			Folder: o.Forms(o.App, project), Kept: &form.Kept{State: project.State, Secret: func() ([]byte, error) { return customers.KeyFor(o.App, s.Workspace) }, Customer: s.Calls.Subject.Customer},
			Tree: hostapi.Once(func() (*gen.Tree, error) { return gen.Open(gen.Options{Out: project.Tree}) }),
		}
		a.Tools = o.finder(project, config.Language(s.Language), s.Calls.Subject.Customer, a.sayTrouble)
	}
	return a
}

// sayTrouble prints an error that is not the script's fault, with its hint.
func (a *answers) sayTrouble(err error) { a.warn(cli.ErrorLine(err)) }

// finish stores the images that the script showed.
func (a *answers) finish() []hostapi.ImageFile {
	files, err := a.images.Store(a.script.Workspace, a.script.Limits.Disk)
	if a.Run != nil { // the run is over, and what it wrote is labelled
		at := taint.Open(a.labels)
		for _, f := range files {
			err = errors.Join(err, at.Wrote(context.Background(), cli.RealPath(a.script.Workspace), f.Path, a.Run.Taint()))
		}
	}
	sayImages(a.say, a.script.Workspace, files, err)
	return files
}

// finder returns a function that finds tools of the project's tree. The first search builds the index. If a search could not use
// everything that is configured, degraded is called with the reason, but only once.
func (o *Options) finder(p *project.Project, lang config.Language, customer string, degraded func(error)) func(context.Context, search.Query, search.Detail) ([]search.Result, error) {
	open := hostapi.Once(func() (*resources.TreeIndex, error) { return resources.OpenIndex(o.App, o.Resources, p.Tree, p.Cfg) })
	var first sync.Once
	return func(ctx context.Context, q search.Query, detail search.Detail) ([]search.Result, error) {
		x, err := open()
		if err != nil {
			return nil, err
		}
		found, lost, err := x.Search(ctx, q, detail, lang)
		if err := p.Recommend(ctx, x.Tree.Catalog, customer, found); err != nil {
			degraded(err)
		}
		if lost != nil {
			first.Do(func() { degraded(fmt.Errorf("tools are searched with less than is configured: %w", lost)) })
		}
		return found, err
	}
}
