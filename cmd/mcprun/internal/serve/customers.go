package serve

import (
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"sync"

	"github.com/mcpgen/mcpgen/cmd/mcprun/internal/customers"
	"github.com/mcpgen/mcpgen/cmd/mcprun/internal/skills"
	"github.com/mcpgen/mcpgen/gen"
	"github.com/mcpgen/mcpgen/gen/exit"
	"github.com/mcpgen/mcpgen/gen/search"
	"github.com/mcpgen/mcpgen/runner/chain"
	"github.com/mcpgen/mcpgen/runner/form"
	"github.com/mcpgen/mcpgen/runner/hostapi"
	"github.com/mcpgen/mcpgen/runner/mcpserver"
	"github.com/mcpgen/mcpgen/runner/model"
	"github.com/mcpgen/mcpgen/runner/pii"
	"github.com/mcpgen/mcpgen/runner/policy"
	"github.com/mcpgen/mcpgen/runner/skill"
	"github.com/mcpgen/mcpgen/runner/workspace"
	"github.com/mcpgen/mcpgen/runner/workspace/customer"
)

// equip gives a customer its skills and its vault: those in its own folders, or the project's.
func (b *snapshot) equip(c *mcpserver.Customer, own *customer.Customer) {
	c.Skills = func() (*skill.Store, error) {
		now, leave, err := b.live.enter(context.Background())
		if err != nil {
			return nil, err
		}
		defer leave()
		return now.skillsOf(c.ID)
	}
	c.Used = func(ctx context.Context, u mcpserver.Use) error { return b.live.used(ctx, c, u) }
	c.Labels = &labels{live: b.live, id: c.ID, files: c.Files}
	c.Vault = hostapi.Once(func() (*pii.Vault, error) {
		return customers.OpenVault(b.o.app, b.project, own, c.Files, func(line string) { b.log.Warn(line) })
	})
	c.Personal = func() *chain.Personal { return b.live.current().personalOf(c) }
}

// skillsOf returns the skills of a customer, checked against this project's tree.
func (b *snapshot) skillsOf(id string) (store *skill.Store, err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if store = b.stores[id]; store != nil {
		return store, nil
	}
	var own *customer.Customer
	if id != "" {
		if own, err = b.live.customer(b, id); err != nil {
			return nil, err
		}
	}
	if store, err = skills.OpenFor(b.o.app, &b.o.run.LocationFlags, b.project, own, skills.CheckFlags{}); err == nil {
		b.stores[id] = store
	}
	return store, err
}

// personalOf returns what is done with the personal data of a customer, or nil if it is passed on as it is. newSnapshot has found that it can
// be told.
func (b *snapshot) personalOf(c *mcpserver.Customer) *chain.Personal {
	b.mu.Lock()
	defer b.mu.Unlock()
	if p, ok := b.personal[c.ID]; ok {
		return p
	}
	p, err := b.o.run.Personal(b.project, c.ID, c.Vault)
	if err != nil {
		panic(err)
	}
	b.personal[c.ID] = p
	return p
}

// masker returns what replaces personal data in the questions about a customer's calls, so that the recipients of two calls never look
// alike.
func (b *snapshot) masker(c *mcpserver.Customer) pii.Masker {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.maskers[c.ID] == nil {
		b.maskers[c.ID] = pii.New()
	}
	return b.maskers[c.ID]
}

// sessionLog logs a customer's runs in sessions: one for each session of a client, and one for all clients without a session.
// A session begins with its first run.
type sessionLog struct {
	customer *customer.Customer
	prices   model.Prices

	mu       sync.Mutex
	sessions map[string]*customer.Session // by the client's session
}

// maxLogged bounds the client sessions that are logged separately. Further ones are logged with the clients without a session.
const maxLogged = 1000

// begun returns the session in which a client's runs are logged. old is one that cannot be written to any more.
func (l *sessionLog) begun(client string, old *customer.Session) (*customer.Session, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if _, known := l.sessions[client]; !known && len(l.sessions) >= maxLogged {
		client = ""
	}
	if s := l.sessions[client]; s != nil && s != old {
		return s, nil
	}
	s, err := l.customer.NewSession(customer.Meta{Title: "mcprun serve"})
	if err != nil {
		return nil, err
	}
	if l.sessions == nil {
		l.sessions = map[string]*customer.Session{}
	}
	l.sessions[client] = s
	return s, nil
}

// Append logs a run.
func (l *sessionLog) Append(e mcpserver.Entry) error {
	record := customer.Record{Kind: customer.KindRun, Run: e.Run}
	s, err := l.begun(e.Session, nil)
	if err != nil {
		return err
	}
	err = s.Append(record)
	if !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, workspace.ErrNoRoom) {
		return err
	}
	if s, err = l.begun(e.Session, s); err != nil { // it was removed, or has reached the limit of a log
		return err
	}
	return s.Append(record)
}

// Stats returns the totals of all the customer's sessions.
func (l *sessionLog) Stats() (json.RawMessage, error) {
	all, err := l.customer.Stats(context.Background())
	if err != nil {
		return nil, err
	}
	return json.Marshal(struct {
		Sessions int             `json:"sessions"`
		Runs     int             `json:"runs"`
		Failed   int             `json:"failedRuns"`
		Calls    int             `json:"calls"`
		Tokens   customer.Tokens `json:"tokens"`
		Costs    customer.Costs  `json:"costs"`
	}{len(all.Sessions), all.Runs, all.Failed, all.Calls, all.Tokens, all.Tokens.Costs(l.prices)})
}

// answers returns what a script may ask the host for. known records the data that the run has seen, for the policy. It is nil if
// the policy has no condition on that.
func (b *snapshot) answers(job *mcpserver.Job, known *policy.Run) *hostapi.Methods {
	h := &hostapi.Methods{
		Run: known, Skills: func() (*skill.Store, error) { return b.skillsOf(job.Customer.ID) }, Vault: job.Customer.Vault, Sealed: b.personalOf(job.Customer).Bridges(), Image: job.Image,
		Trouble: func(err error) {
			b.log.Warn("what a script asked for failed", "customer", job.Customer.ID, "error", exit.Hinted(err))
		},
	}
	if b.tree != nil {
		h.Forms = &hostapi.Forms{
			Folder: b.o.run.Forms(b.o.app, b.project), Tree: func() (*gen.Tree, error) { return b.tree, nil },
			Kept: &form.Kept{State: b.project.State, Customer: job.Customer.ID, Secret: func() ([]byte, error) { return customers.KeyFor(b.o.app, job.Customer.Files) }},
		}
	}
	if b.index != nil {
		h.Tools = func(ctx context.Context, q search.Query, detail search.Detail) ([]search.Result, error) {
			found, err := (&finder{tree: b.tree, index: b.index, log: b.log}).Search(ctx, q, detail, job.Language)
			b.together(ctx, job.Customer.ID, found)
			return found, err
		}
	}
	return h
}
