package approve

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/mcpgen/mcpgen/runner/policy"
	"github.com/mcpgen/mcpgen/runner/store"
)

// maxPlan bounds the calls of a plan.
const maxPlan = 1000

// Plan is an approval of calls before they are made. It holds for one run of one script.
type Plan struct {
	ID string `json:"id"`
	// Script is the script's name, Digest the digest of the script and everything it imports, Lock the digest of the lock.
	Script   string `json:"script"`
	Digest   string `json:"sha256"`
	Lock     string `json:"lock"`
	Customer string `json:"customer,omitempty"`
	// By is who approved it, and Until is when it expires.
	By    string         `json:"by"`
	Until time.Time      `json:"until"`
	Calls []*PlannedCall `json:"calls"`

	// Lasts is how long after it was made the plan expires; it is only for whoever approves it.
	Lasts time.Duration `json:"-"`

	// Used is called when the first call of a run has used the plan up, before the call is made. May be nil.
	Used func() `json:"-"`

	version int64 // of its document
	vouched bool  // the keyring has an entry for it
}

// PlannedCall is a call that a plan allows, or several that are alike.
type PlannedCall struct {
	Tool string `json:"tool"`
	Most int    `json:"most"` // calls
	// Values are the allowed values of each argument, in a form that does not reveal them; null allows any value. A call must have exactly
	// these arguments.
	Values map[string][]string `json:"values"`
	// Shown are the arguments of each call, for whoever approves the plan. A stored plan has tokens for personal data.
	Shown []json.RawMessage `json:"shown"`
	// Rule is the rule that asks about the call, with its place, or empty if none does.
	Rule string `json:"rule,omitempty"`

	masked []json.RawMessage // Shown, with tokens
}

// Call is a call that a dry run listed.
type Call struct {
	Tool string
	// Arguments are the call's arguments, and Masked the same with tokens for personal data.
	Arguments, Masked json.RawMessage
	// Rule is the rule that asks about it, or empty if none does.
	Rule string
}

// Loosen says what a plan allows in addition to the calls that a dry run listed.
type Loosen struct {
	// Most allows up to this many calls of a tool, by tool id, whose arguments have values that the dry run saw, in any combination.
	Most map[string]int
	// Any are arguments that may have any value, as TOOL.ARGUMENT.
	Any []string
}

// unknown, in the arguments of a call, stands for the result of an earlier call that a dry run did not make.
const unknown = "<result of call "

// Plans are the approved plans of a project.
type Plans struct {
	kept *Kept
	old  string
}

// planKind is the kind of plans among the documents.
const planKind = "plan"

// OpenPlans returns the plans that are kept. old is a folder with plans of earlier versions of mcprun, or empty; one is moved when it is opened.
func OpenPlans(k *Kept, old string) *Plans { return &Plans{k, old} }

// entry names the keyring's entry for a plan that was not used.
func entry(id string) string { return "plan-" + id }

// New returns a plan for calls. It is not approved yet, and not stored.
func (s *Plans) New(calls []Call, loosen Loosen) (*Plan, error) {
	if len(calls) > maxPlan {
		return nil, fmt.Errorf("the script makes %d calls that change data; a plan can have at most %d", len(calls), maxPlan)
	}
	if err := s.kept.keys(); err != nil {
		return nil, err
	}
	p := &Plan{ID: strings.ToLower(rand.Text()[:12])}
	loops := map[string]*PlannedCall{} // by tool and arguments
	for _, c := range calls {
		args, err := argumentsOf(c.Arguments)
		if err != nil {
			return nil, fmt.Errorf("read the arguments of %s: %w", c.Tool, err)
		}
		key := c.Tool + "\x00" + strings.Join(slices.Sorted(maps.Keys(args)), "\x00")
		planned := loops[key]
		if planned == nil {
			planned = &PlannedCall{Tool: c.Tool, Most: 1, Values: map[string][]string{}, Rule: c.Rule}
			p.Calls = append(p.Calls, planned)
			if n := loosen.Most[c.Tool]; n > 0 {
				planned.Most, loops[key] = n, planned
			}
		}
		planned.Shown, planned.masked = append(planned.Shown, c.Arguments), append(planned.masked, c.Masked)
		for name, value := range args {
			known, seen := planned.Values[name]
			switch {
			case strings.Contains(value, unknown) || slices.Contains(loosen.Any, c.Tool+"."+name):
				planned.Values[name] = nil
			case !seen || known != nil:
				if mac := s.value(c.Tool, name, value); !slices.Contains(known, mac) {
					planned.Values[name] = append(known, mac)
				}
			}
		}
	}
	return p, nil
}

// argumentsOf returns each argument in canonical JSON.
func argumentsOf(args json.RawMessage) (map[string]string, error) {
	dec := json.NewDecoder(bytes.NewReader(args))
	dec.UseNumber()
	var members map[string]any
	if err := dec.Decode(&members); err != nil {
		return nil, err
	}
	out := map[string]string{}
	for name, value := range members {
		var b strings.Builder
		enc := json.NewEncoder(&b)
		enc.SetEscapeHTML(false)
		if err := enc.Encode(value); err != nil {
			return nil, err
		}
		out[name] = b.String()
	}
	return out, nil
}

func (s *Plans) value(tool, name, value string) string { return s.kept.mac("value", tool, name, value) }

// planDocument is the document of a plan. A plan that was used is only that.
type planDocument struct {
	Plan json.RawMessage `json:"plan,omitempty"`
	Used time.Time       `json:"used,omitzero"`
}

// Save stores a plan that a person has approved.
func (s *Plans) Save(ctx context.Context, p *Plan) error {
	stored := *p
	stored.Calls = make([]*PlannedCall, len(p.Calls))
	for i, c := range p.Calls {
		one := *c
		if c.masked != nil {
			one.Shown = c.masked
		}
		stored.Calls[i] = &one
	}
	text, err := json.Marshal(stored)
	if err != nil {
		return err
	}
	s.kept.vouch(entry(p.ID), string(text))
	if _, err := s.write(ctx, p.ID, planDocument{Plan: text}, 0); err != nil {
		return fmt.Errorf("store the plan: %w", err)
	}
	return nil
}

func (s *Plans) write(ctx context.Context, id string, doc planDocument, version int64) (int64, error) {
	text, err := json.Marshal(doc)
	if err != nil {
		return 0, err
	}
	return s.kept.write(ctx, planKind, id, string(text), version)
}

// validID matches the ids of plans.
var validID = regexp.MustCompile(`^[a-z0-9]{12}$`)

// PlanError reports why a plan cannot be used.
type PlanError struct{ ID, Problem string }

func (e *PlanError) Error() string { return fmt.Sprintf("plan %.40q: %s", e.ID, e.Problem) }

// Hint says what to do.
func (e *PlanError) Hint() string { return "make a new one: mcprun plan SCRIPT" }

// Open returns a stored plan, if it is for this script, lock and customer. The errors are *PlanError.
func (s *Plans) Open(ctx context.Context, id string, want *Plan) (*Plan, error) {
	bad := func(format string, args ...any) (*Plan, error) {
		return nil, &PlanError{id, fmt.Sprintf(format, args...)}
	}
	if !validID.MatchString(id) {
		return bad("not a plan id")
	}
	var doc planDocument
	_, version, err := s.kept.read(ctx, planKind, id, &doc)
	file := ""
	if errors.Is(err, store.ErrNotFound) {
		file = filepath.Join(s.old, id+oldEnd)
		doc, err = s.readOld(file)
	}
	if err != nil {
		return bad("%v", err)
	}
	if !doc.Used.IsZero() {
		return bad("it was already used; a plan is good for one run")
	}
	var p Plan
	if json.Unmarshal(doc.Plan, &p) != nil || p.ID != id {
		return bad("%v", errForeign)
	}
	switch {
	case time.Now().After(p.Until):
		return bad("it expired at %s", p.Until.Local().Format(time.DateTime))
	case p.Digest != want.Digest:
		return bad("it was made for another script, or %s or a file that it imports has changed since", p.Script)
	case p.Lock != want.Lock:
		return bad("the tools have changed since it was made")
	case p.Customer != want.Customer:
		return bad("it was made for customer %q, not %q", p.Customer, want.Customer)
	}
	if p.vouched, err = s.kept.vouched(entry(id), string(doc.Plan)); err != nil {
		return bad("%v", err)
	}
	if p.version = version; file == "" {
		return &p, nil
	}
	switch p.version, err = s.move(ctx, id, file, doc); {
	case errors.Is(err, store.ErrConflict): // another process has moved it meanwhile
		return s.Open(ctx, id, want)
	case err != nil:
		return bad("move it into the state: %v", err)
	}
	return &p, nil
}

// Suffixes of the files of earlier versions: of plans, of used ones, and of those that were moved.
const (
	oldEnd   = ".json"
	oldUsed  = ".used"
	oldMoved = ".moved"
)

// readOld reads the file of a plan that an earlier version of mcprun has written.
func (s *Plans) readOld(path string) (doc planDocument, err error) {
	if s.old == "" {
		return doc, errors.New("you have no such plan")
	}
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		if _, err := os.Lstat(path + oldUsed); err == nil {
			return planDocument{Used: time.Unix(0, 0)}, nil
		}
		return doc, errors.New("you have no such plan")
	}
	if err != nil {
		return doc, err
	}
	var file struct {
		Plan json.RawMessage `json:"plan"`
		MAC  string          `json:"mac"`
	}
	if json.Unmarshal(text, &file) != nil || !hmac.Equal([]byte(file.MAC), []byte(s.kept.mac("plan", string(file.Plan)))) {
		return doc, errForeign
	}
	return planDocument{Plan: file.Plan}, nil
}

// move moves a plan from its file into the state. The document counts from then on, even if the file stays.
func (s *Plans) move(ctx context.Context, id, file string, doc planDocument) (version int64, err error) {
	if version, err = s.write(ctx, id, doc, 0); err != nil {
		return 0, err
	}
	if err := os.Rename(file, file+oldMoved); err == nil {
		s.kept.say("the plan %s was moved into the state of the project; its file is now %s%s", id, file, oldMoved)
	}
	return version, nil
}

// use marks a plan as used, for this run only.
func (s *Plans) use(ctx context.Context, p *Plan) error {
	_, err := s.write(ctx, p.ID, planDocument{Used: time.Now().UTC()}, p.version)
	if errors.Is(err, store.ErrConflict) {
		return errors.New("another run has already used the plan")
	}
	if err == nil && p.vouched {
		err = s.kept.spend(entry(p.ID))
	}
	if err != nil {
		return fmt.Errorf("the plan cannot be used: %w", err)
	}
	return nil
}

// Allow combines d with a plan. Calls that the plan lists are allowed, each once, where d would ask or allow. Other calls that may change
// data ask. What d denies stays denied. Once the plan has allowed a call, other runs cannot use it.
func (s *Plans) Allow(d policy.Decider, p *Plan) policy.Decider {
	return &planned{Decider: d, plans: s, plan: p, made: map[*PlannedCall]int{}}
}

type planned struct {
	policy.Decider
	plans *Plans
	plan  *Plan

	mu    sync.Mutex
	taken bool
	made  map[*PlannedCall]int
}

// Decide implements policy.Decider.
func (d *planned) Decide(ctx context.Context, req *policy.Request) policy.Decision {
	got := d.Decider.Decide(ctx, req)
	if got.Effect == policy.Deny || got.Effect == policy.Allow && (req.Hints.ReadOnly || got.By != "") {
		return got
	}
	rule := "plan " + d.plan.ID
	why := d.take(ctx, req)
	switch {
	case why == "":
		return policy.Decision{Effect: policy.Allow, Rule: rule, By: d.plan.By, Counted: got.Counted}
	case got.Effect == policy.Ask:
		return got
	}
	return policy.Decision{Effect: policy.Ask, Rule: rule, Reason: why, Counted: got.Counted}
}

// take counts a call that the plan allows, or returns why the plan does not allow it.
func (d *planned) take(ctx context.Context, req *policy.Request) (why string) {
	args, err := argumentsOf(req.Args)
	if err != nil {
		return "its arguments cannot be parsed"
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if time.Now().After(d.plan.Until) {
		return "the plan has expired"
	}
	for _, c := range d.plan.Calls {
		if c.Tool != req.Tool || d.made[c] >= c.Most || !d.plans.fits(c, args) {
			continue
		}
		if !d.taken {
			if err := d.plans.use(ctx, d.plan); err != nil {
				return err.Error()
			}
			if d.taken = true; d.plan.Used != nil {
				d.plan.Used()
			}
		}
		d.made[c]++
		return ""
	}
	return "the plan does not list it"
}

// fits reports whether a call's arguments match the planned call.
func (s *Plans) fits(c *PlannedCall, args map[string]string) bool {
	if len(args) != len(c.Values) {
		return false
	}
	for name, value := range args {
		allowed, ok := c.Values[name]
		if !ok || allowed != nil && !slices.Contains(allowed, s.value(c.Tool, name, value)) {
			return false
		}
	}
	return true
}

// lines describes the calls of a plan for a person.
func (p *Plan) lines() []string {
	var lines []string
	for i, c := range p.Calls {
		what := ""
		if c.Most > 1 || len(c.Shown) > 1 {
			what = fmt.Sprintf(", up to %d times, with these values in any combination", c.Most)
		}
		lines = append(lines, fmt.Sprintf("%d. %s%s", i+1, visible(c.Tool), what))
		for _, args := range c.Shown {
			lines = append(lines, members(args)...)
		}
		if c.Rule != "" {
			lines = append(lines, "  Asked by: "+visible(c.Rule))
		}
		for _, name := range slices.Sorted(maps.Keys(c.Values)) {
			if c.Values[name] == nil {
				lines = append(lines, "  any value is allowed for "+visible(name))
			}
		}
	}
	expires := "Expires: " + p.Until.Local().Format(time.DateTime)
	if p.Lasts > 0 {
		expires += fmt.Sprintf(", %v after it was made", p.Lasts)
	}
	return append(lines, expires)
}
