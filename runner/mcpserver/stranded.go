package mcpserver

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"github.com/mcpgen/mcpgen/runner/durable"
)

// endStranded ends calls that no server can go on with, until this one is closed.
func (s *Server) endStranded() {
	tick := time.NewTicker(max(s.opt.StrandTime/10, 10*time.Millisecond))
	defer tick.Stop()
	for {
		ended, err := s.opt.Engine.EndStranded(s.ctx, workKind, s.opt.StrandTime, s.whyStranded)
		if err != nil && s.ctx.Err() == nil {
			s.log.Warn("tasks of servers that have ended could not be ended", "error", err)
		}
		for _, st := range ended {
			s.log.Warn("a task ended because no server that was started with its flags and its key runs any more", "id", st.ID, "customer", st.Customer)
			s.settled(st.Customer, st.ID)
		}
		select {
		case <-s.ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// whyStranded returns the error of a call that ends because no server can go on with it.
func (s *Server) whyStranded(st *durable.Status) string {
	done, then := "nothing of it was run", "Make the call again if it is still wanted"
	if st.State != durable.Queued {
		if done = s.madeBefore(st.Customer, st.ID); done == "" {
			done = "it had called nothing that changes something"
		} else {
			then = "Find out what took effect before making the call again"
		}
	}
	long := strings.Replace(s.opt.StrandTime.String(), "m0s", "m", 1)
	return fmt.Sprintf("no mcprun serve that was started with the same flags and the same key has run for %s, so that nothing continued it; %s. %s", long, done, then)
}

// notContinued returns the error of a call that this server could not go on with, with what was done before.
func (s *Server) notContinued(in *workInput, err error) *jsonrpc.Error {
	e := *taskError(err)
	if s.opt.Made == nil {
		return &e
	}
	if done := s.madeBefore(in.Customer, in.ID); done != "" {
		e.Message += "; before, " + done
	}
	return &e
}

// madeBefore says what a call that does not continue has done; empty: nothing that changes something.
func (s *Server) madeBefore(customer, work string) string {
	const unknown = "it may have called tools, and which is unknown"
	if s.opt.Made == nil {
		return unknown
	}
	ctx, cancel := bounded(s.ctx)
	defer cancel()
	made, err := s.opt.Made(ctx, customer, work)
	if err != nil {
		s.log.Debug("what a call has done cannot be read", "id", work, "error", err)
		return unknown
	}
	var list []string
	const most = 20
	for _, tool := range slices.Sorted(maps.Keys(made)) {
		if len(list) == most {
			list = append(list, fmt.Sprintf("and %d other tools", len(made)-most))
			break
		}
		list = append(list, fmt.Sprintf("%s (%d)", tool, made[tool]))
	}
	if len(list) == 0 {
		return ""
	}
	return "it had called " + strings.Join(list, ", ")
}
