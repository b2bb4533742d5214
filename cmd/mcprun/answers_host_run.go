package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/mcpgen/mcpgen/cmd/internal/cli"
	"github.com/mcpgen/mcpgen/gen"
	"github.com/mcpgen/mcpgen/gen/config"
	"github.com/mcpgen/mcpgen/gen/search"
	"github.com/mcpgen/mcpgen/runner/pii"
	"github.com/mcpgen/mcpgen/runner/skill"
	"github.com/mcpgen/mcpgen/runner/workspace"
)

// runAnswers are what the script of one run may ask the host for. Nothing is opened before it is asked for.
type runAnswers struct {
	hostAnswers
	images shownImages
	finder *treeFinder // nil: there is no tree
	plan   *plan
	say    func(line string)
	wrong  func(line string) // says what went wrong
}

// newRunAnswers prepares the answers of a run, for a customer if v is not nil. The caller calls finish after the run.
func (o *runOptions) newRunAnswers(project *project, p *plan, v *visit, say func(line string)) *runAnswers {
	var own *workspace.Customer
	if v != nil {
		own = v.session.Customer()
	}
	a := &runAnswers{plan: p, say: say, wrong: say}
	a.trouble = a.sayTrouble
	a.image = func(mimeType string, data []byte) error {
		if p.Workspace == "" {
			return errors.New("there is no workspace to put the image into")
		}
		return a.images.add(mimeType, data)
	}
	a.vault = once(func() (*pii.Vault, error) { return openVault(o.app, project.base, own, p.Workspace) })
	a.skills = skill.AnswersAs(once(func() (*skill.Store, error) {
		return openSkillsOf(o.app, &o.projectOptions, project, own, checkOptions{})
	}), skill.AuthorScript)
	if project.tree != "" {
		a.finder = &treeFinder{dir: project.tree, lang: config.Language(p.Source.Language), host: o.host, options: func() (*search.Options, error) {
			return searchOptions(o.app, project, a.sayTrouble)
		}}
		a.tools = a.finder.find
	}
	return a
}

// sayTrouble tells a person what the script can't help, with what can be done about it.
func (a *runAnswers) sayTrouble(err error) {
	line := err.Error()
	if h, ok := errors.AsType[interface {
		error
		Hint() string
	}](err); ok && h.Hint() != "" {
		line += "; " + h.Hint()
	}
	a.wrong(cli.CleanLine(line))
}

// finish ends what was opened, and puts what the script showed where it can be seen.
func (a *runAnswers) finish() []imageFile {
	files, err := a.images.store(a.plan.Workspace, a.plan.Limits.Disk)
	sayImages(a.say, a.plan.Workspace, files, err)
	if a.finder != nil {
		a.finder.close()
	}
	return files
}

// once opens something when it is first needed. What failed is tried again the next time.
func once[T any](open func() (T, error)) func() (T, error) {
	var mu sync.Mutex
	var value T
	var done bool
	return func() (T, error) {
		mu.Lock()
		defer mu.Unlock()
		if done {
			return value, nil
		}
		v, err := open()
		if err == nil {
			value, done = v, true
		}
		return v, err
	}
}

// searchOptions are what the configuration says of searching. degraded is told, once, why a search was by words only.
func searchOptions(app *cli.App, project *project, degraded func(error)) (*search.Options, error) {
	if project.cfg == nil {
		return nil, nil
	}
	opt, err := gen.SearchOptions(project.cfg, app.LookupEnv, app.CacheDir())
	if err != nil {
		return nil, err
	}
	var first sync.Once
	opt.Degraded = func(err error) {
		first.Do(func() { degraded(fmt.Errorf("tools are searched by words only: %w", err)) })
	}
	return opt, nil
}

// treeIndex is a tree that can be searched.
type treeIndex struct {
	tree  *gen.Tree
	index *search.Index
}

func (x *treeIndex) close() { _ = x.index.Close() } // it is in memory

// treeFinder finds tools of a tree, whose index it gets for the first search.
type treeFinder struct {
	dir  string
	lang config.Language
	host host
	// options are how it is searched.
	options func() (*search.Options, error)

	mu      sync.RWMutex // held for reading while somebody searches
	found   *treeIndex
	release func()
	over    bool // the run is over
}

// open gets the index, if that was not done yet.
func (f *treeFinder) open() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.over {
		return context.Canceled
	}
	if f.found != nil {
		return nil
	}
	opt, err := f.options()
	if err != nil {
		return err
	}
	x, release, err := f.host.index(f.dir, opt, func() (*treeIndex, error) {
		tree, err := gen.Open(gen.Options{Out: f.dir})
		if err != nil {
			return nil, err
		}
		index, err := tree.Index(opt)
		if err != nil {
			return nil, err
		}
		return &treeIndex{tree, index}, nil
	})
	if err != nil {
		return err
	}
	f.found, f.release = x, release
	if !slices.Contains(x.tree.Languages(), string(f.lang)) {
		f.lang = "" // what there is
	}
	return nil
}

func (f *treeFinder) find(ctx context.Context, q search.Query, detail search.Detail) ([]search.Result, error) {
	if err := f.open(); err != nil {
		return nil, err
	}
	f.mu.RLock()
	defer f.mu.RUnlock()
	if f.found == nil {
		return nil, context.Canceled
	}
	hits, err := f.found.index.Search(ctx, q)
	if err != nil {
		return nil, err
	}
	return f.found.tree.Results(hits, detail, f.lang)
}

// close waits for searches that are under way.
func (f *treeFinder) close() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.over = true
	if f.found != nil {
		f.release()
		f.found = nil
	}
}
