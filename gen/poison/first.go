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

// nothing stands for the previous definition of a tool that had none.
var nothing = json.RawMessage("null")

// First checks the texts of tools, or of a whole server, that nobody has reviewed yet, just as [Checker.New] checks what was added to a
// definition. It returns only what [Servers] does not report: texts that order an action beyond the call. About one ordinary server in
// six has such texts too, so these are notes, not warnings. If several texts give the same order, it is one finding, and there are at most
// six findings for a server.
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
