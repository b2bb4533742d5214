package mcpserver

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/mcpgen/mcpgen/gen/exit"
	"github.com/mcpgen/mcpgen/gen/ident"
	"github.com/mcpgen/mcpgen/gen/schema/validate"
	"github.com/mcpgen/mcpgen/gen/upstream"
	"github.com/mcpgen/mcpgen/runner"
	"github.com/mcpgen/mcpgen/runner/chain"
	"github.com/mcpgen/mcpgen/runner/durable"
	"github.com/mcpgen/mcpgen/runner/journal"
	"github.com/mcpgen/mcpgen/runner/mcpserver/internal/progress"
	"github.com/mcpgen/mcpgen/runner/store"
	"github.com/mcpgen/mcpgen/runner/workflow"
)

// Workflow is a workflow of the project, which clients run as a tool.
type Workflow struct {
	// Name is that of the tool: at most 64 letters, digits and - _ . Workflows whose names other tools have are left out.
	Name, Description string
	// Input is the JSON Schema of its input. If that is an object, the arguments of the tool are the input, and otherwise its argument input is.
	// Nil: any object.
	Input   json.RawMessage
	Program workflow.Program
}

// Workflows is what workflows need. See [workflow.Options] for Digest and Ready.
type Workflows struct {
	State  store.Store
	Run    func(ctx context.Context, p *workflow.Part, job *Job) (*runner.Result, error)
	Digest func(ctx context.Context, p *workflow.Program) (string, error)
	Ready  func(p *workflow.Program) error
}

const (
	statusTool = "workflow_status"
	// lookTime is how often a call looks at its workflow.
	lookTime = 300 * time.Millisecond
)

// servedBy is what is kept with a workflow: which client started it.
type servedBy struct {
	Serve   bool   `json:"serve"`
	Session string `json:"session,omitempty"`
	Client  Client `json:"client"`
}

// openWorkflows makes the engine run workflows.
func (s *Server) openWorkflows(ctx context.Context) (err error) {
	w := s.opt.Workflows
	if w == nil {
		return nil
	}
	s.flows, err = workflow.New(workflow.Options{Durable: s.opt.Engine, State: w.State, Secret: s.opt.Secret, Run: s.runPart, Digest: w.Digest, Ready: w.Ready})
	if err != nil {
		return err
	}
	return s.flows.Register(ctx)
}

// runPart runs a part of a workflow when it has a place, as a run of the client that started the workflow.
func (s *Server) runPart(ctx context.Context, p *workflow.Part) (*runner.Result, error) {
	var by servedBy
	if err := json.Unmarshal(p.Settings, &by); err != nil {
		return nil, err
	}
	cs, err := s.customer(p.Customer)
	if errors.Is(err, errClosing) {
		<-ctx.Done() // the part begins in the next process
	}
	if err != nil {
		return nil, err
	}
	v, err := s.refresh(ctx)
	if err != nil {
		return nil, err
	}
	leave, err := s.queue.Await(ctx, p.Customer)
	if err != nil {
		return nil, err
	}
	defer leave()
	res, err := s.opt.Workflows.Run(ctx, p, &Job{
		Customer: cs.customer, Session: by.Session, Client: by.Client, Timeout: s.opt.MaxTime, Memory: v.Memory,
		Stdout: io.Discard, Stderr: io.Discard, Ask: decline, Watch: func(chain.Event) {}, Ending: s.ctx.Done(),
	})
	logged := &runner.Script{Name: p.Program.Name, Code: p.Program.Code, Language: p.Program.Language}
	if err != nil {
		cs.note(Entry{by.Session, runner.LoggedFailure(logged, err)})
		return nil, err
	}
	cs.note(Entry{by.Session, res.Logged(logged)})
	return res, nil
}

// workflowTools returns the tools of the project's workflows, and the one that looks at them.
func (s *Server) workflowTools(v *view, others []*tool) []*tool {
	var all []*tool
	for i := range v.Workflows {
		w := &v.Workflows[i]
		if slices.ContainsFunc(slices.Concat(others, all), func(t *tool) bool { return t.name == w.Name }) || w.Name == statusTool {
			s.log.Warn("a workflow is not offered, because another tool has its name", "workflow", w.Name)
			continue
		}
		input := string(w.Input)
		switch {
		case w.Input == nil:
			input = inputSchema(`{"input":` + anyObject + `}`)
		case !w.takesObject():
			input = inputSchema(`{"input":{}}`)
		}
		all = append(all, &tool{name: w.Name, description: w.Description, input: input, run: callWorkflow, long: true, stage: progress.StageSandbox, listed: true})
	}
	if len(all) > 0 {
		all = append(all, &tool{
			name: statusTool, description: "How a workflow is that has not ended with its call.", run: withArgs(callWorkflowStatus), listed: true,
			input: inputSchema(`{"id":{"type":"string"},"cancel":{"type":"boolean","description":"end it"}}`, "id"),
		})
	}
	return all
}

// callWorkflow starts a workflow, and returns its result, or after the time of a call, how it is.
func callWorkflow(ctx context.Context, c *toolCall) (*reply, error) {
	s := c.cs.s
	i := slices.IndexFunc(c.view.Workflows, func(w Workflow) bool { return w.Name == c.tool.name })
	if i < 0 {
		return nil, c.refused(ctx, c.errorf("the workflow is not here any more"))
	}
	w := &c.view.Workflows[i]
	input, err := w.input(c.args)
	if err != nil {
		return nil, c.refused(ctx, c.errorf("%v", err))
	}
	settings, err := json.Marshal(servedBy{true, c.session, c.client})
	if err != nil {
		return nil, err
	}
	// If the call begins again in another process, the workflow is there.
	id := "wf-" + strings.ToLower(cmp.Or(c.work, rand.Text()))
	_, err = s.flows.Start(ctx, &w.Program, workflow.Start{ID: id, Customer: c.cs.customer.ID, Input: input, Settings: settings})
	if err != nil && !errors.Is(err, durable.ErrExists) {
		return nil, c.refused(ctx, c.errorf("%s", forModel(exit.Hinted(err).Error())))
	}
	if c.leave != nil {
		c.leave() // its parts take places of their own
	}
	limit := c.view.Time
	if c.task {
		limit = s.opt.MaxTime
	}
	return c.followWorkflow(ctx, id, time.Now().Add(limit))
}

// input returns the workflow's input from the arguments of its tool.
func (w *Workflow) input(args json.RawMessage) (json.RawMessage, error) {
	if len(args) == 0 || string(args) == "null" {
		args = json.RawMessage("{}")
	}
	input := args
	if !w.takesObject() {
		var only map[string]json.RawMessage
		if err := json.Unmarshal(args, &only); err != nil {
			return nil, errors.New("the arguments are not an object")
		}
		for name := range only {
			if name != "input" {
				return nil, fmt.Errorf("the only argument is input, not %q", ident.Clip(name, 100))
			}
		}
		if input = only["input"]; input == nil {
			input = json.RawMessage("{}")
		}
	}
	if w.Input == nil {
		return input, nil
	}
	v, err := validate.Compile(w.Input)
	if err != nil {
		return nil, err
	}
	return input, v.ValidateAs("the input", input)
}

// takesObject reports whether the schema of the input is that of an object, as those of tools are.
func (w *Workflow) takesObject() bool {
	var kind struct{ Type string }
	return json.Unmarshal(w.Input, &kind) == nil && kind.Type == "object"
}

// followWorkflow waits for the end of a workflow until a time, and has the client's user answer what it asks.
func (c *toolCall) followWorkflow(ctx context.Context, id string, until time.Time) (*reply, error) {
	asked := map[string]bool{}
	var state durable.State
	var size int64
	for n := 0; ; n++ {
		now, at, err := c.cs.s.flows.Peek(ctx, id)
		if err != nil || now != state || at != size || n%10 == 0 || time.Now().After(until) { // else it has done nothing
			state, size = now, at
			if r, err := c.lookAt(ctx, id, asked, until); r != nil || err != nil && ctx.Err() == nil {
				return r, err
			}
		}
		select {
		case <-time.After(lookTime):
		case <-ctx.Done():
			cause := context.Cause(ctx)
			if !errors.Is(cause, errTaskCancelled) {
				return nil, modelErrorf("the call was ended: %v; the workflow %s goes on", cause, id)
			}
			over, cancel := bounded(ctx)
			defer cancel()
			return nil, errors.Join(modelErrorf("the workflow %s was cancelled", id), c.cs.s.flows.Cancel(over, id))
		}
	}
}

// lookAt returns how a workflow is if it has ended or the time has come, and otherwise nil, once its questions were asked.
func (c *toolCall) lookAt(ctx context.Context, id string, asked map[string]bool, until time.Time) (*reply, error) {
	st, err := c.cs.workflow(ctx, id)
	if err != nil {
		return nil, err
	}
	if st.State.Ended() || st.Stop != nil || time.Now().After(until) {
		return workflowReply(st), nil
	}
	for _, w := range st.Waits() {
		if w.Kind != journal.StepAsk || asked[w.Topic] || !c.canAsk {
			continue
		}
		asked[w.Topic] = true
		if err := c.askFor(ctx, id, &w); err != nil && ctx.Err() == nil {
			c.cs.logger().Warn("a question of a workflow was not answered", "workflow", id, "error", err)
		}
	}
	return nil, nil
}

// askFor puts a question of a workflow to the client's user. Whoever closes it without an answer leaves the workflow waiting.
func (c *toolCall) askFor(ctx context.Context, id string, w *journal.Step) error {
	q, err := chain.Question(w)
	if err != nil {
		return err
	}
	answer, err := c.ask(ctx, q)
	if err != nil || answer.Action == upstream.ActionCancel {
		return err
	}
	_, err = c.cs.s.flows.Answer(ctx, id, w, answer)
	if errors.Is(err, workflow.ErrAnswered) {
		return nil
	}
	return err
}

// workflow returns the status of a workflow that a client of the customer has started.
func (cs *customerServer) workflow(ctx context.Context, id string) (*workflow.Status, error) {
	st, err := cs.s.flows.Get(ctx, id)
	var by servedBy
	if err == nil && (st.Customer != cs.customer.ID || json.Unmarshal(st.Settings, &by) != nil || !by.Serve) {
		err = store.ErrNotFound
	}
	if errors.Is(err, store.ErrNotFound) {
		return nil, modelErrorf("there is no workflow %q", ident.Clip(ident.CleanLine(id), 100))
	}
	return st, err
}

type workflowStatusArgs struct {
	ID     string `json:"id" required:""`
	Cancel bool   `json:"cancel"`
}

func callWorkflowStatus(ctx context.Context, c *toolCall, args *workflowStatusArgs) (*reply, error) {
	st, err := c.cs.workflow(ctx, args.ID)
	if err == nil && args.Cancel && !st.State.Ended() {
		if err = c.cs.s.flows.Cancel(ctx, args.ID); err == nil || errors.Is(err, durable.ErrEnded) {
			st, err = c.cs.workflow(ctx, args.ID)
		}
	}
	if err != nil {
		return nil, err
	}
	return workflowReply(st), nil
}

// workflowState is the structured content of the tools of workflows.
type workflowState struct {
	Workflow string          `json:"workflow"` // the id
	Status   durable.State   `json:"status"`
	Result   json.RawMessage `json:"result,omitempty"`
	Message  string          `json:"message,omitempty"`
	Waits    []string        `json:"waits,omitempty"` // what it waits for
}

// workflowReply describes how a workflow is.
func workflowReply(st *workflow.Status) *reply {
	out := &workflowState{Workflow: st.ID, Status: st.State}
	if st.Outcome != nil {
		out.Result, out.Message = st.Outcome.Result, st.Outcome.Message
	}
	if st.Stop != nil {
		out.Message = st.Stop.Reason + "; an operator continues it: mcprun workflow resume " + st.ID
	}
	for _, w := range st.Waits() {
		switch {
		case w.Kind == journal.StepAsk:
			out.Waits = append(out.Waits, ident.Clip(w.Name, 500)+" (a person answers: mcprun workflow answer "+st.ID+")")
		case w.Kind == journal.StepWait:
			out.Waits = append(out.Waits, "the value "+ident.Clip(w.Name, 200))
		case w.Until.IsZero():
		default:
			out.Waits = append(out.Waits, "the time "+w.Until.UTC().Format(time.RFC3339))
		}
	}
	failed := st.Stop != nil || st.State.Ended() && st.State != durable.Done
	lines := []string{fmt.Sprintf("The workflow %s: %s.", st.ID, st.State)}
	if !st.State.Ended() && st.Stop == nil {
		lines[0] = fmt.Sprintf("The workflow %s has not ended: %s. Ask for it with %s.", st.ID, st.State, statusTool)
	}
	for _, w := range out.Waits {
		lines = append(lines, "It waits for "+w+".")
	}
	if out.Message != "" {
		lines = append(lines, forModel(out.Message))
	}
	if len(out.Result) > 0 {
		lines = append(lines, string(out.Result))
	}
	return &reply{text: strings.Join(lines, "\n"), data: out, failed: failed}
}
