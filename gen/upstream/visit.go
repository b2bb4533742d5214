package upstream

import (
	"context"
	"encoding/json"
	"errors"
	"time"
)

const (
	// codeVisit is the error of a server that wants a person to visit pages before it does what was asked of it
	// (MCP 2025-11-25, client/elicitation).
	codeVisit = -32042
	// visitTime bounds how long a request waits for that. Without a word from the server it is tried after
	// firstVisitPause, and then with pauses that grow up to maxVisitPause.
	visitTime       = 5 * time.Minute
	firstVisitPause = time.Second
	maxVisitPause   = 10 * time.Second
)

// visit is what one request waits for: pages that a person is to visit. The server refuses the request until then.
type visit struct {
	until time.Time // zero before anybody was asked
	pause time.Duration
	// done are closed when the server says that a page is done; those before have been.
	done []*sight
}

// again reports whether a request that failed may be made once more: a person has agreed to visit what the server
// names. It waits until that may be done.
func (v *visit) again(ctx context.Context, d *desk, fl *flight, failed error) bool {
	pages := pagesOf(failed)
	if len(pages) == 0 || fl.opt.Elicit == nil {
		return false
	}
	if v.until.IsZero() {
		for _, page := range pages {
			d.await(v, page.ID)
		}
		if !d.agree(ctx, fl, pages) {
			return false
		}
		v.until, v.pause = time.Now().Add(visitTime), firstVisitPause
	}
	if fl.progress != nil {
		fl.progress.put(Progress{Message: "waiting until a person has finished at the server's page"})
	}
	v.wait(ctx)
	return ctx.Err() == nil && time.Now().Before(v.until)
}

// agree asks for each page and reports whether all of them were accepted.
func (d *desk) agree(ctx context.Context, fl *flight, pages []asked) bool {
	for _, page := range pages {
		params, err := json.Marshal(page)
		if err != nil {
			return false
		}
		var answer struct {
			Action string `json:"action"`
		}
		if json.Unmarshal(d.ask(ctx, fl, params), &answer) != nil || answer.Action != ActionAccept {
			return false
		}
	}
	return true
}

// wait waits until the server says that the pages are done, but not long: not every server can say so. Where it said so
// before and refuses all the same, it gets the same time.
func (v *visit) wait(ctx context.Context) {
	timer := time.NewTimer(v.pause)
	defer timer.Stop()
	v.pause = min(2*v.pause, maxVisitPause)
	for len(v.done) > 0 {
		select {
		case <-v.done[0].visited:
			if v.done = v.done[1:]; len(v.done) == 0 {
				return
			}
		case <-ctx.Done():
			return
		case <-timer.C:
			return
		}
	}
	select {
	case <-ctx.Done():
	case <-timer.C:
	}
}

// pagesOf are the pages that a codeVisit error names, nil for any other error.
func pagesOf(err error) []asked {
	var p *ProtocolError
	if !errors.As(err, &p) || p.Code != codeVisit {
		return nil
	}
	var data struct {
		Elicitations []asked `json:"elicitations"`
	}
	if json.Unmarshal(p.Data, &data) != nil || len(data.Elicitations) > maxRequests {
		return nil
	}
	for _, page := range data.Elicitations {
		if page.Mode != "url" {
			return nil
		}
	}
	return data.Elicitations
}
