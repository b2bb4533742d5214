package poison

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/mcpgen/mcpgen/gen/catalog"
)

// maxNotes bounds the findings of [Checker.First] for one server.
const maxNotes = 5

// nothing is the former definition of what nobody has seen before.
var nothing = json.RawMessage("null")

// First checks the texts of tools, or of a whole server, that nobody has reviewed yet, as [Checker.New] does what is added to a
// definition. It returns only what [Servers] does not report: texts that order an act beyond the call. Ordinary servers have such texts
// too, about one server in six, so these are notes, not warnings. An order that several texts give is one finding, and there are at most
// six for a server.
func (c *Checker) First(s catalog.Server) []Finding {
	allowed := c.allowed[s.Key]
	if slices.Contains(allowed, instruction) {
		return nil
	}
	var found []Finding
	times := map[string]int{} // by message
	check := func(read func(*scan)) {
		sc := &scan{others: c.servers[s.Key], matcher: defaultMatcher(), allowed: allowed, old: nothing}
		read(sc)
		for _, f := range sc.found {
			reported := func(other Finding) bool { return other.Place == f.Place && other.Rule != instruction }
			if f.Rule != instruction || slices.ContainsFunc(sc.found, reported) {
				continue
			}
			f.Message = "may order more than the call" + strings.TrimPrefix(f.Message, description(instruction))
			if times[f.Message]++; times[f.Message] == 1 {
				found = append(found, f)
			}
		}
	}
	check(func(sc *scan) {
		sc.text(s.Key+"#/title", s.Title, false)
		sc.text(s.Key+"#/instructions", s.Instructions, false)
	})
	size := 0
	for _, p := range s.Prompts {
		if size += len(p.Raw); size <= maxServer {
			check(func(sc *scan) {
				sc.definition(s.Key+"#"+string(jsontext.Pointer("/prompts").AppendToken(clip(p.Name))), p.Raw)
			})
		}
	}
	for _, t := range s.Tools {
		if size += len(t.Raw); size <= maxServer {
			check(func(sc *scan) { sc.tool(s.Key, t) })
		}
	}
	for i := range found {
		if n := times[found[i].Message]; n > 1 {
			found[i].Message += fmt.Sprintf(", in %d texts", n)
		}
	}
	if more := len(found) - maxNotes; more > 0 {
		found = append(found[:maxNotes], Finding{s.Key, instruction, fmt.Sprintf("%d more of its texts may order more than the call", more)})
	}
	return found
}
