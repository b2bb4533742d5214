package skills

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"github.com/mcpgen/mcpgen/cmd/internal/cli"
	"github.com/mcpgen/mcpgen/cmd/mcprun/internal/customers"
	"github.com/mcpgen/mcpgen/cmd/mcprun/internal/packages"
	"github.com/mcpgen/mcpgen/cmd/mcprun/internal/project"
	"github.com/mcpgen/mcpgen/gen/catalog"
	"github.com/mcpgen/mcpgen/runner"
	"github.com/mcpgen/mcpgen/runner/script"
	"github.com/mcpgen/mcpgen/runner/script/check"
	"github.com/mcpgen/mcpgen/runner/skill"
	"github.com/mcpgen/mcpgen/runner/workspace/customer"
	"github.com/mcpgen/mcpgen/skills"
)

// Open opens the skills of a project: first the customer's, then the project's, then the ones that come with the program.
// customer is the customer's folder of skills. Skills are saved there, or in the project's folder if it is empty. Neither folder
// needs to exist. Types are checked by the programs that checkers names.
func Open(app *cli.App, o *project.LocationFlags, p *project.Project, customer string, checkers CheckFlags) (*skill.Store, error) {
	own, link, err := o.SkillsFolder(p)
	if err != nil {
		return nil, err
	}
	dirs := []skill.Dir{{Path: own, Link: link, Writable: customer == ""}, {FS: skills.FS, Shipped: true}}
	if customer != "" {
		dirs = append([]skill.Dir{{Path: customer, Writable: true}}, dirs...)
	}
	// A script may save code that takes much memory to bundle. The bundler's process bounds that, and soon ends by itself.
	bundler := script.NewBundler(&script.BundlerOptions{Idle: 10 * time.Second})
	set, err := packages.Of(app, p)
	if err != nil {
		p.Log.Debug("the types of packages are not known", "error", err)
	}
	store, err := skill.Open(dirs, &skill.Options{
		Tree: p.Tree, Logger: p.Log, Scripts: bundler,
		Check: skill.Checker(check.Options{Tree: p.Tree, Skills: dirs[0].Path, Packages: set, Places: checkers.Places(app, p)}),
	})
	if tree, ok := errors.AsType[*catalog.TreeError](err); ok {
		return nil, &cli.UsageError{Err: tree}
	}
	return store, err
}

// OpenFor is Open for a customer, whose quota bounds what is saved. A nil customer is the project.
func OpenFor(app *cli.App, o *project.LocationFlags, p *project.Project, c *customer.Customer, checkers CheckFlags) (*skill.Store, error) {
	if c == nil {
		return Open(app, o, p, "", checkers)
	}
	store, err := Open(app, o, p, c.Skills(), checkers)
	if err != nil {
		return nil, err
	}
	store.Limit(func(more int64) error {
		ctx, cancel := context.WithTimeout(context.Background(), customers.RoomTime)
		defer cancel()
		free, err := c.Room(ctx)
		if err == nil && more > free {
			err = &customer.QuotaError{Customer: c.ID(), Quota: c.Quota(), Free: free, For: "skills"}
		}
		return err
	})
	return store, nil
}

// Show returns the folder that a script sees as ./skills. That is the folder of opt or, if the script imports skills from
// elsewhere, such as the ones that come with the program, a view of all skills. Show warns of an imported skill whose tools have
// changed, and returns a *brokenSkillError for one that cannot work. The result is empty if there is no folder. The script is read by
// its run's bundler with its run's options, so that the run need not read it again. open is called only if it imports a skill.
func Show(ctx context.Context, app *cli.App, open func() (*skill.Store, error), bundler *script.Bundler, opt script.Options, src *runner.Script, say func(line string)) (string, error) {
	cache := app.CacheDir()
	if cache != "" && opt.Skills != "" && !skill.Readable(opt.Skills) { // only its owner may read a customer's folder
		own, err := skill.Open([]skill.Dir{{Path: opt.Skills}}, nil)
		if err == nil {
			opt.Skills, err = own.View(filepath.Join(cache, "skills"))
		}
		if err != nil {
			return "", err
		}
	}
	if !strings.Contains(src.Code, "skills") && src.Dir == "" {
		return opt.Skills, nil
	}
	program, _ := src.Read(ctx, bundler, opt)
	if program == nil || len(program.Uses.Skills) == 0 {
		return opt.Skills, nil // the run reports what is wrong with the script
	}
	store, err := open()
	if err != nil {
		return "", err
	}
	all, err := store.Used(program.Uses.Skills)
	if err != nil {
		return "", err
	}
	elsewhere := false // whether some are not in the folder shown
	for _, k := range all {
		if k.Fatal() {
			return "", &brokenSkillError{name: k.Name, reason: k.Reason()}
		}
		if k.Broken {
			say(cli.EscapeLine(fmt.Sprintf("the skill %s that the script imports may not work: %s", k.Name, k.Reason())))
		}
		if filepath.Dir(k.Path) != opt.Skills {
			elsewhere = true
		}
	}
	if !elsewhere || cache == "" {
		return opt.Skills, nil
	}
	return store.View(filepath.Join(cache, "skills"))
}

// brokenSkillError reports a script that imports a skill which cannot work.
type brokenSkillError struct{ name, reason string }

func (e *brokenSkillError) Error() string {
	return fmt.Sprintf("the script imports the skill %s, which cannot work: %s", e.name, e.reason)
}

func (e *brokenSkillError) Hint() string {
	return fmt.Sprintf("fix it, then run `mcprun skill save %s`; `mcprun skill show %s` says what is wrong", e.name, e.name)
}

// ExitCode is that of a script that fails to load.
func (e *brokenSkillError) ExitCode() int { return 1 }
