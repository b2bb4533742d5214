package runner

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"

	"github.com/mcpgen/mcpgen/gen/config"
	"github.com/mcpgen/mcpgen/gen/exit"
	"github.com/mcpgen/mcpgen/runner/approve"
	"github.com/mcpgen/mcpgen/runner/call"
	"github.com/mcpgen/mcpgen/runner/egress"
	"github.com/mcpgen/mcpgen/runner/policy"
	"github.com/mcpgen/mcpgen/runner/sandbox"
)

// Network is what the runs of a project may have of a network. A run has none unless Script.Network asks for it.
type Network struct {
	// Settings are the key network of the file File.
	Settings *config.Network
	File     string
	// Secret reads the secret of a credential; see egress.Options.
	Secret func(ctx context.Context, s *config.Secret) (string, error)
	// Watch is called with each connection of a run, allowed or not, when it has ended; several runs may call it at once. Alert is called with
	// alerts. Both must return soon, and may be nil.
	Watch func(egress.Event)
	Alert func(egress.Alert)
	// Certificates returns the authorities that programs in sandboxes trust, in PEM. Nil: programs use their own.
	Certificates func() ([]byte, error)
	// ConnectTo is for tests; see egress.Options.
	ConnectTo map[string]string
}

// Rules returns the rules for the runs of a customer. The empty customer is the project itself.
func (n *Network) Rules(p *policy.Policy, customer string) (*egress.Rules, error) {
	level, hosts := p.Reach(customer)
	return egress.NewRules(egress.RulesOptions{Network: n.Settings, File: n.File, Customer: customer, Level: level, Hosts: hosts})
}

// maxNamed bounds the hosts in the text of Offer, and the names in that of Effects.
const maxNamed = 8

// Offer says what runs may connect to if they ask for the network, for people and models: a part of a sentence. It is empty if none may.
func (n *Network) Offer(p *policy.Policy) (string, error) {
	if n == nil || !n.Settings.Present {
		return "", nil
	}
	rules, err := n.Rules(p, "")
	hosts := rules.Hosts()
	text := "hosts that an operator allows"
	if len(hosts) > 0 {
		text = strings.Join(hosts[:min(len(hosts), maxNamed)], ", ")
	}
	if len(hosts) > maxNamed {
		text += " and others"
	}
	if n.Settings.Default == "ask" {
		text += "; a person is asked about other hosts"
	}
	return text, err
}

// NetworkError refuses a run that asks for a network of which the policy allows nothing.
type NetworkError struct{ Script string }

func (e *NetworkError) Error() string {
	return fmt.Sprintf("%s asks for the network, and the policy allows none", e.Script)
}

// Hint says what an operator would write.
func (e *NetworkError) Hint() string {
	return "an operator writes the hosts to mcpgen.yaml, as in network: {allow: [api.example.com]}; mcprun network explain URL says what is allowed"
}

// ExitCode returns the exit code of a script that was refused before it ran.
func (*NetworkError) ExitCode() int { return exit.Refused }

// bundleName is the guest's file of certificates.
const bundleName = "certificates.pem"

// maxConnections bounds the events of connections in a Result: those that were allowed, and as many that were refused, which a script can
// cause as often as it likes.
const maxConnections = 1000

// maxReached bounds Result.Reached.
const maxReached = 100

// methodFetch is the request of a guest that has no sockets.
const methodFetch = "network/fetch"

// network is the network of one run.
type network struct {
	*egress.Proxy
	bundle []byte // certificates for programs in the sandbox

	mu               sync.Mutex
	allowed, refused []egress.Event
	count            int
	reached          []string
}

// openNetwork returns the network of a run that asks for one, or nil. The caller closes it.
func (x *run) openNetwork(n *granted) (*network, error) {
	if n == nil {
		return nil, nil
	}
	out := &network{}
	opt := egress.Options{
		Run: x.id, Rules: n.rules, Secret: n.Secret, Alert: n.Alert, ConnectTo: n.ConnectTo, Logger: x.runner.log,
		Watch: func(e egress.Event) {
			out.reach(&e)
			if e.Check == "" && n.Settings.Log == config.LogRefused {
				return
			}
			if n.Watch != nil {
				n.Watch(e)
			}
			out.mu.Lock()
			defer out.mu.Unlock()
			list := &out.allowed
			if e.Check != "" {
				list = &out.refused
			}
			if e.Check == "" || len(*list) < maxConnections {
				x.script.trail.connection(e)
			}
			if out.count++; len(*list) < maxConnections {
				*list = append(*list, e)
			}
		},
	}
	if a := n.Settings.Alerts; a != nil {
		opt.QuietRanges = a.Blocked != nil && !*a.Blocked
		if a.Volume != "" {
			var err error
			if opt.Volume, err = config.ParseSize(a.Volume); err != nil {
				return nil, fmt.Errorf("network.alerts.volume: %w", err)
			}
			if opt.Volume == 0 {
				opt.Volume = -1
			}
		}
	}
	if a := x.script.Calls.Approver; a != nil {
		opt.Ask = func(ctx context.Context, t egress.Target) (string, error) { return x.askAbout(ctx, a, t) }
	}
	if j := x.script.Calls.Journal; j != nil {
		opt.Dials = func(ctx context.Context) error {
			err := j.Outside(ctx, "used the network")
			if err != nil {
				x.calls.Advise("no connection was made: %v", err)
			}
			return err
		}
	}
	var roots []byte
	if n.Certificates != nil {
		var err error
		if roots, err = n.Certificates(); err != nil {
			return nil, fmt.Errorf("read the certificates for the network: %w", err)
		}
	}
	var err error
	if out.Proxy, err = egress.New(opt); err != nil {
		return nil, err
	}
	out.bundle = out.Bundle(roots)
	return out, nil
}

// askAbout asks a person whether the run may connect to a host.
func (x *run) askAbout(ctx context.Context, a approve.Approver, t egress.Target) (by string, err error) {
	x.clock.Hold()
	defer x.clock.Release()
	answer, err := a.Approve(ctx, &approve.Question{
		Run: x.id, Script: x.script.Name, Code: x.script.Code, Customer: x.script.Calls.Subject.Customer, Tool: approve.Network, Connection: t.String(),
		Tokens: x.script.Calls.Tokens, Risk: x.script.Risk.Overall(), Rule: egress.AskRule, Reason: "no entry allows this host and port",
	})
	switch {
	case ctx.Err() != nil:
		return "", errors.New("nobody answered before the run ended")
	case err != nil:
		return "", errors.New("nobody could be asked")
	case answer.Scope == approve.Refused:
		return "", errors.New("it was not approved" + answer.WhyNot())
	}
	return answer.By, nil
}

// offer adds to a spec and a job what a guest needs in order to reach the proxy.
func (n *network) offer(spec *sandbox.Spec, env *map[string]string) {
	if n == nil {
		return
	}
	if spec.Runtime == sandbox.QuickJS { // fetch is the host's
		*env = n.Placeholders()
		return
	}
	bundle := ""
	if len(n.bundle) > 0 {
		guest := maps.Clone(spec.Guest)
		guest[bundleName] = n.bundle
		spec.Guest, bundle = guest, sandbox.GuestDir+"/"+bundleName
	}
	spec.Network = true
	*env = n.Environment(fmt.Sprint("127.0.0.1:", sandbox.ProxyPort), bundle)
}

// answers adds the method with which guests without sockets fetch.
func (n *network) answers(all map[string]func(context.Context, json.RawMessage) (json.RawMessage, error)) map[string]func(context.Context, json.RawMessage) (json.RawMessage, error) {
	if n == nil {
		return all
	}
	out := maps.Clone(all)
	if out == nil {
		out = map[string]func(context.Context, json.RawMessage) (json.RawMessage, error){}
	}
	out[methodFetch] = n.fetch
	return out
}

// maxFetched bounds the body of a response that fetch returns, in bytes: it must fit into a frame of the bridge.
const maxFetched = 10 << 20

// fetch makes one request for a script, without following redirects.
func (n *network) fetch(ctx context.Context, params json.RawMessage) (json.RawMessage, error) {
	var in struct {
		Method, URL string
		Headers     [][2]string
		Body        []byte
	}
	bad := func(format string, args ...any) error {
		return &call.Error{Kind: call.KindArgument, Message: "fetch: " + fmt.Sprintf(format, args...)}
	}
	if err := json.Unmarshal(params, &in); err != nil {
		return nil, bad("the request cannot be read")
	}
	r, err := http.NewRequestWithContext(ctx, in.Method, in.URL, bytes.NewReader(in.Body))
	if err != nil || r.URL.Host == "" {
		return nil, bad("the method or URL is not valid")
	}
	for _, h := range in.Headers {
		r.Header.Add(h[0], h[1])
	}
	res := n.Do(r)
	defer res.Body.Close()
	body, err := io.ReadAll(io.LimitReader(res.Body, maxFetched+1))
	if refused, ok := errors.AsType[*egress.Refusal](err); ok {
		return nil, bad("%v", refused)
	} else if err != nil {
		return nil, &call.Error{Kind: call.KindProtocol, Message: "fetch: the response broke off"}
	}
	if len(body) > maxFetched {
		return nil, bad("the response has more than %d bytes", maxFetched)
	}
	headers := [][2]string{}
	for name, values := range res.Header {
		for _, v := range values {
			headers = append(headers, [2]string{name, v})
		}
	}
	return json.Marshal(map[string]any{"status": res.StatusCode, "statusText": http.StatusText(res.StatusCode), "headers": headers, "body": body})
}

// close ends the network, and returns what happened in it.
func (n *network) close() (events []egress.Event, count int, reached []string) {
	if n == nil {
		return nil, 0, nil
	}
	n.Close()
	n.mu.Lock()
	defer n.mu.Unlock()
	events = append(n.allowed, n.refused...)
	slices.SortStableFunc(events, func(a, b egress.Event) int { return a.Time.Compare(b.Time) })
	return events, n.count, n.reached
}

// reach keeps the host of a connection or request that was allowed: it may have arrived even if it failed.
func (n *network) reach(e *egress.Event) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if e.Allowed && len(n.reached) < maxReached && !slices.Contains(n.reached, e.Host) {
		n.reached = append(n.reached, e.Host)
	}
}

// maxRefusals bounds the warnings about connections.
const maxRefusals = 5

// warnOfConnections warns of connections that were refused or failed, once for each host and reason.
func (x *run) warnOfConnections(events []egress.Event) {
	told := map[string]bool{}
	for i := range events {
		e := &events[i]
		text := "failed: " + e.Error
		if e.Check != "" {
			text = "was " + (&egress.Refusal{Check: e.Check, Reason: e.Reason, Remedy: e.Remedy}).Error()
		}
		key := e.Host + "\x00" + text
		if e.Check == "" && e.Error == "" || told[key] {
			continue
		}
		if told[key] = true; len(told) > maxRefusals {
			x.calls.Warn("more connections were refused or failed; --json lists them below network")
			return
		}
		x.calls.Warn("the connection to %s:%d %s", e.Host, e.Port, text)
	}
}

// granted is what one run may have of a network.
type granted struct {
	*Network
	rules *egress.Rules
}

// grant returns what the policy allows a run that asks for the network; nil for any other.
func grant(s *Script, opt *LaunchOptions) (*granted, error) {
	if !s.Network || s.Calls.DryRun {
		return nil, nil
	}
	customer := s.Calls.Subject.Customer
	if opt.Network == nil {
		return nil, &NetworkError{Script: s.Name}
	}
	rules, err := opt.Network.Rules(opt.Policy, customer)
	if err == nil && rules.IsEmpty() {
		err = &NetworkError{Script: s.Name}
	}
	return &granted{opt.Network, rules}, err
}
