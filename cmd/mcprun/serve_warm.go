package main

import (
	"context"
	"sync"

	"github.com/mcpgen/mcpgen/runner/mcpserver"
	"github.com/mcpgen/mcpgen/runner/sandbox"
)

// warm makes an empty run in each language in the background, after which the pool has sandboxes of their kind waiting: the
// first real run need not start its own. It writes nowhere, calls nothing and is in no log. What it returns ends it and waits
// for that.
func (b *bench) warm(ctx context.Context, languages []string) (end func()) {
	ctx, cancel := context.WithCancel(ctx)
	var work sync.WaitGroup
	for _, name := range languages {
		work.Go(func() {
			if err := b.emptyRun(ctx, name); err != nil && ctx.Err() == nil {
				b.log.Debug("no sandbox was started ahead; the first run says why", "language", name, "error", err)
			}
		})
	}
	return func() { cancel(); work.Wait() }
}

func (b *bench) emptyRun(ctx context.Context, language string) error {
	lang, code := sandbox.LangTypeScript, "export {};"
	if language == mcpserver.Python {
		lang, code = sandbox.LangPython, "pass"
	}
	p, err := b.o.run.plan(&source{Name: "script" + extension(lang), Code: code, Language: lang}, b.project)
	if err != nil {
		return err
	}
	p.Workspace = ""
	at, done, err := b.site(ctx, "")
	if err != nil {
		return err
	}
	defer done()
	_, err = p.run(ctx, at, talk{Say: func(string) {}})
	return err
}
