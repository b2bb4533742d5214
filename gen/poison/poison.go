// Package poison finds text in the definitions of MCP servers that tries to instruct a model: to disregard its instructions, to keep
// something from the user, to give data away or to change how another server's tools are used. It also finds text that a model can read and
// a person cannot see. Such text is valid MCP, and harmless until a model follows it, so the package reports it for a person to judge, and
// never changes it.
//
// The checks are rules over words, which [Rules] lists. An attack in other words is not found. Start with [Servers].
//
// Matching takes time linear in the length of the text. The amount of text checked per server is bounded, and text beyond the bound is
// itself a finding.
package poison

import (
	"encoding/json"
	"runtime"
	"slices"

	"github.com/go-json-experiment/json/jsontext"
	"golang.org/x/sync/errgroup"

	"github.com/mcpgen/mcpgen/gen/catalog"
)

// Servers checks all text of the servers of one configuration, and leaves out findings of the rules in allowed, which
// lists rule ids by server key. Findings are in the order of the servers, the tools, and the text in each.
func Servers(all []catalog.Server, allowed map[string][]string) []Finding {
	names := collectNames(all)
	found := make([][]Finding, len(all))
	var group errgroup.Group
	group.SetLimit(runtime.GOMAXPROCS(0))
	for i, s := range all {
		group.Go(func() error {
			found[i] = checkServer(s, names, allowed[s.Key])
			return nil
		})
	}
	_ = group.Wait() // no function returns an error
	return slices.Concat(found...)
}

// Checker checks changes in the definitions of servers. It is safe for concurrent use.
type Checker struct {
	servers map[string]*otherNames
	allowed map[string][]string
}

// NewChecker returns a Checker for the servers of one configuration. allowed is as for [Servers].
func NewChecker(all []catalog.Server, allowed map[string][]string) *Checker {
	c, names := &Checker{map[string]*otherNames{}, allowed}, collectNames(all)
	for _, s := range all {
		c.servers[s.Key] = names.except(s)
	}
	return c
}

// New checks the texts in a definition that the previous one, which may be nil, does not have. Places are JSON pointers preceded by "#".
func (c *Checker) New(server string, old, new json.RawMessage) []Finding {
	s := scan{others: c.servers[server], matcher: defaultMatcher(), allowed: c.allowed[server], known: stringsOf(old), old: old}
	s.definition("#", new)
	return s.found
}

// Text checks one text that does not come from a server, such as the description of a skill. isName reports whether it is
// a name, made of words joined by case or punctuation.
func Text(place, text string, isName bool) []Finding {
	s := scan{matcher: defaultMatcher()}
	s.text(place, text, isName)
	return s.found
}

// checkServer checks all text of one server. names are those of all servers of the configuration.
func checkServer(s catalog.Server, names *names, allowed []string) []Finding {
	others := names.except(s)
	server := &scan{others: others, matcher: defaultMatcher(), allowed: allowed}
	server.text(s.Key+"#/title", s.Title, false)
	server.text(s.Key+"#/instructions", s.Instructions, false)
	found := append(server.found, checkPrompts(s, others, server.matcher, allowed)...)

	size, checked := len(s.Title)+len(s.Instructions), len(s.Tools)
	for i, t := range s.Tools {
		if size += len(t.Raw); size > maxServer {
			checked = i
			break
		}
	}
	scans := make([]scan, checked)
	var group errgroup.Group
	group.SetLimit(runtime.GOMAXPROCS(0))
	for i := range scans {
		group.Go(func() error {
			scans[i] = scan{others: others, matcher: server.matcher, allowed: allowed}
			scans[i].tool(s.Key, s.Tools[i])
			return nil
		})
	}
	_ = group.Wait() // no function returns an error
	for _, sc := range scans {
		found = append(found, sc.found...)
	}
	if checked < len(s.Tools) && !slices.Contains(allowed, TooLong) {
		found = append(found, Finding{s.Key, TooLong, "its definitions are too long to check completely; " +
			s.Tools[checked].ID + " and the tools after it were not checked"})
	}
	return found
}

// checkPrompts checks the definitions of a server's prompts.
func checkPrompts(s catalog.Server, others *otherNames, m *matcher, allowed []string) []Finding {
	var found []Finding
	size := 0
	for _, p := range s.Prompts {
		if size += len(p.Raw); size > maxServer {
			if !slices.Contains(allowed, TooLong) {
				found = append(found, Finding{s.Key + "#/prompts", TooLong, "its prompts are too long to check completely"})
			}
			break
		}
		sc := scan{others: others, matcher: m, allowed: allowed}
		sc.definition(s.Key+"#"+string(jsontext.Pointer("/prompts").AppendToken(clip(p.Name))), p.Raw)
		found = append(found, sc.found...)
	}
	return found
}
