package document

import (
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/google/cel-go/cel"
	"go.yaml.in/yaml/v3"

	"github.com/mcpgen/mcpgen/gen/config/node"
	"github.com/mcpgen/mcpgen/gen/ident"
)

// sequence is a list of tasks while it is compiled.
type sequence struct {
	tasks   []*task
	at      int            // the task that is compiled
	targets map[int]string // labels of the tasks that others jump to
	end     string         // the label of the list, or "": to leave it is to return
	left    bool           // a task leaves the list
}

// list returns the code of tasks that run one after the other. The scope then has their results. parent is the name of the task that they are
// in, or "" if the function ends with the list.
func (c *compiler) list(tasks []*task, s *scope, parent string) []string {
	q := &sequence{tasks: tasks, targets: map[int]string{}}
	if parent != "" {
		q.end = c.unique("after" + ident.Pascal(parent))
	}
	var codes [][]string
	reached := true
	for i, t := range tasks {
		q.at = i
		if q.targets[i] != "" {
			reached, s.output = true, cel.DynType // of several tasks
		}
		if !reached {
			c.wrong(t.key, fmt.Sprintf("the task %q is never reached", t.name), "the task before it goes elsewhere; correct its then:, or remove this one")
			reached = true
		}
		code, falls := c.task(t, s, q)
		codes = append(codes, code)
		reached = falls
	}
	var lines []string
	targets := slices.Sorted(maps.Keys(q.targets))
	for _, i := range slices.Backward(targets) {
		lines = append(lines, q.targets[i]+": {")
	}
	open := len(targets)
	for i, code := range codes {
		if q.targets[i] != "" {
			open--
			lines = append(lines, strings.Repeat("  ", open)+"}")
		}
		for range open {
			code = indented(code)
		}
		lines = append(lines, code...)
	}
	for i := range targets { // the labels themselves
		lines[i] = strings.Repeat("  ", i) + lines[i]
	}
	if q.left && q.end != "" {
		lines = slices.Concat([]string{q.end + ": {"}, indented(lines), []string{"}"})
	}
	return lines
}

// flow returns the code of a flow directive: "" to go on after the task.
func (c *compiler) flow(n *yaml.Node, s *scope, q *sequence) string {
	if n == nil || n.Value == "continue" {
		return ""
	}
	switch n.Value {
	case "end":
		if s.inside != "" {
			c.wrong(n, "the workflow cannot end in "+s.inside, "write exit, or end it after the task")
		}
		return "return output;"
	case "exit":
		if q.end == "" {
			return "return output;"
		}
		q.left = true
		return "break " + q.end + ";"
	}
	for i, t := range q.tasks {
		if t.name != n.Value {
			continue
		}
		if i <= q.at {
			c.wrong(n, fmt.Sprintf("then leads back to %q", n.Value), "a workflow goes forward only; repeat tasks with for, or with try and retry")
			return ""
		}
		return c.jump(q, i)
	}
	var names []string
	for _, t := range q.tasks[q.at+1:] {
		names = append(names, t.name)
	}
	message := fmt.Sprintf("there is no later task %q in this list", n.Value)
	if at := c.defined[n.Value]; at != nil {
		c.wrong(n, fmt.Sprintf("%s; it is in another one, on line %d", message, at.Line), "a task can only lead to a later one of its own list")
		return ""
	}
	names = append(names, "continue", "exit", "end")
	hint := "write " + strings.Join(names, ", ")
	if near := ident.Nearest(n.Value, names, 1); len(near) > 0 {
		hint = fmt.Sprintf("did you mean %s?", near[0])
	}
	c.wrong(n, message, hint)
	return ""
}

// jump returns the code that goes on with a later task of the list.
func (c *compiler) jump(q *sequence, i int) string {
	if q.targets[i] == "" {
		q.targets[i] = c.unique("to" + ident.Pascal(q.tasks[i].name))
	}
	return "break " + q.targets[i] + ";"
}

// task returns the code of a task, and whether the next one of the list may follow it.
func (c *compiler) task(t *task, s *scope, q *sequence) (lines []string, falls bool) {
	before := s.output
	if s.race != "" && (t.kind == "wait" || t.kind == "listen" || value(t.node, "call").Value == "ask") {
		c.wrong(t.key, "nothing can wait in branches that compete: the workflow would end only after the wait", "give ask or listen a timeout, and catch it")
	}
	var condition string
	if n := at(t.node, "if"); n != nil {
		condition, _ = c.condition(n, asBoolean, s)
	}
	var code []string
	if t.kind == "switch" {
		code, falls = c.cases(t, s, q)
	} else {
		code, falls = c.body(t, s), t.kind != "raise"
	}
	code = append(code, c.outcome(t, s)...)
	if directive := c.flow(at(t.node, "then"), s, q); directive != "" && falls {
		code = append(code, directive)
		falls = false
	}
	if s.race != "" {
		lines = append(lines, "if ("+s.race+"("+quote(t.name)+s.step+")) return output;")
	}
	lines = append(lines, "at = "+quote(fmt.Sprintf("task %s, %s:%d", t.name, filepath.Base(c.doc.File), t.key.Line))+";")
	if condition == "" {
		return append(lines, code...), falls
	}
	if s.output != before {
		s.output = cel.DynType
	}
	lines = slices.Concat(lines, []string{"if (" + condition + ") {"}, indented(code))
	return append(lines, "}"), true
}

// outcome returns the code after a task: what it does with output, the variable that holds the result.
func (c *compiler) outcome(t *task, s *scope) (lines []string) {
	if t.kind == "raise" || t.kind == "wait" || t.kind == "switch" { // they have no result of their own
		return nil
	}
	if as := at(t.node, "output", "as"); as != nil {
		code, of := c.value(as, s)
		lines = append(lines, "output = "+code+";")
		s.output = of
	}
	if ident.IsIdentifier(t.name) && !strings.Contains(t.name, "$") {
		s.tasks[t.name] = s.output
		if s.output.Kind() != cel.StructKind { // CEL compares nothing else with null, the result of a task that is skipped
			s.tasks[t.name] = cel.DynType
		}
		lines = append(lines, marker+t.name+marker+s.results+"."+t.name+" = output;")
	}
	if n := at(t.node, "export"); n != nil {
		if s.inside != "" {
			c.wrong(n, "nothing can be exported in "+s.inside, "export after it, from its result")
		}
		code, _ := c.value(value(n, "as"), s)
		lines = append(lines, "context = "+code+";")
	}
	if undo := t.lists["compensate"]; undo != nil {
		lines = append(lines, c.compensation(t, undo, s)...)
	}
	return lines
}

// compensation returns the code that keeps tasks for the case that the workflow fails. They see the results as they are now.
func (c *compiler) compensation(t *task, tasks []*task, s *scope) []string {
	if s.inside == "a compensation" {
		c.wrong(at(t.node, "compensate"), "a compensation cannot be compensated", "remove it")
		return nil
	}
	c.helpers["undo"] = true
	own := *s
	own.tasks, own.inside, own.race = maps.Clone(s.tasks), "a compensation", ""
	own.results = c.unique("past")
	given := c.unique("was")
	body := c.list(tasks, &own, "")
	return slices.Concat(
		[]string{
			"const " + own.results + " = { ...tasks }, " + given + " = output;",
			"undo.push(async () => {", "  let output: any = " + given + ";",
		}, indented(body), []string{"});"})
}

// cases returns the code of a switch. What continues in a case goes on with the next task, even if the switch leads elsewhere when no case holds.
func (c *compiler) cases(t *task, s *scope, q *sequence) (lines []string, falls bool) {
	flow := func(then *yaml.Node) string {
		switch {
		case then.Value != "continue" || !leadsAway(t):
			return c.flow(then, s, q)
		case q.at+1 < len(q.tasks):
			return c.jump(q, q.at+1)
		}
		return c.flow(&yaml.Node{Value: "exit"}, s, q)
	}
	var otherwise string
	var hasDefault bool
	word := "if ("
	for _, item := range items(at(t.node, "switch")) {
		for name, body := range node.Pairs(item) {
			code := flow(value(body, "then"))
			when := at(body, "when")
			if when == nil {
				if hasDefault {
					c.wrong(name, "the switch has two cases without when", "one can be the default")
				}
				otherwise, hasDefault = code, true
				continue
			}
			condition, _ := c.condition(when, asBoolean, s)
			if lines = append(lines, word+condition+") {"); code != "" {
				lines = append(lines, "  "+code)
			}
			falls = falls || code == ""
			word = "} else if ("
		}
	}
	falls = falls || otherwise == ""
	switch {
	case len(lines) == 0 && otherwise != "":
		return []string{otherwise}, false
	case len(lines) == 0:
		return nil, true
	case otherwise != "":
		lines = append(lines, "} else {", "  "+otherwise)
	}
	return append(lines, "}"), falls
}

// leadsAway reports whether a task is not followed by the next one of its list.
func leadsAway(t *task) bool {
	then := at(t.node, "then")
	return then != nil && then.Value != "continue"
}

// body returns the code that sets output to the result of a task.
func (c *compiler) body(t *task, s *scope) []string {
	switch t.kind {
	case "call":
		return c.call(t, s)
	case "set":
		code, of := c.value(at(t.node, "set"), s)
		s.output = of
		return []string{"output = " + code + ";"}
	case "do":
		return c.list(t.lists["do"], s, t.name)
	case "for":
		return c.loop(t, s)
	case "fork":
		return c.fork(t, s)
	case "try":
		return c.try(t, s)
	case "wait":
		c.library["workflow"] = true
		return []string{"await workflow.sleep(" + c.duration(at(t.node, "wait"), s) + ");"}
	case "listen":
		return c.listen(t, s)
	}
	code, _ := c.value(c.standardType(value(t.node, "raise", "error")), s)
	c.helpers["Raised"] = true
	return []string{"throw new Raised(" + code + ");"}
}

// standardErrors is the beginning of the types of errors that Serverless Workflow defines.
const standardErrors = "https://serverlessworkflow.io/spec/1.0.0/errors/"

// standardType returns an error, or a filter of errors, whose type is a URI.
func (c *compiler) standardType(n *yaml.Node) *yaml.Node {
	out := *n
	out.Content = slices.Clone(n.Content)
	for i := 0; i+1 < len(out.Content); i += 2 {
		if v := follow(out.Content[i+1]); out.Content[i].Value == "type" && !strings.ContainsAny(v.Value, ":/$") {
			changed := *v
			changed.Value = standardErrors + v.Value
			out.Content[i+1] = &changed
		}
	}
	return &out
}

// duration returns the code of a number of seconds.
func (c *compiler) duration(n *yaml.Node, s *scope) string {
	n = follow(n)
	if n.Kind == yaml.ScalarNode && strings.Contains(n.Value, "${") {
		parts, ok := c.template(n)
		if text, offset, one := sole(parts); ok && one {
			code, t := c.evaluation(n, text, offset, asSeconds, s)
			if !slices.Contains([]cel.Kind{cel.IntKind, cel.UintKind, cel.DoubleKind, cel.StringKind, cel.DurationKind, cel.DynKind}, t.Kind()) {
				c.wrong(n, fmt.Sprintf("the expression gives %s, not a number of seconds", nameOf(t)), "")
			}
			return code
		}
	}
	d, err := readDuration(n)
	if err != nil {
		c.wrong(n, err.Error(), "write 90s, PT1M30S, {minutes: 1, seconds: 30}, or an expression that gives seconds")
	}
	return seconds(d)
}

// step returns the code that sets output to the result of a durable step: a function, and what it is given, or "" for nothing.
func (c *compiler) step(t *task, s *scope, function, input string) []string {
	c.library["workflow"] = true
	if input != "" {
		function += ", " + input
	}
	return []string{"output = await workflow.step(" + quote(t.name) + s.step + ", " + function + ");"}
}

// loop returns the code of for.
func (c *compiler) loop(t *task, s *scope) []string {
	of := at(t.node, "for")
	in := at(of, "in")
	var list string
	item := cel.DynType
	if in.Kind == yaml.ScalarNode {
		var of *cel.Type
		if list, of = c.condition(in, asList, s); of.Kind() == cel.ListKind {
			item = of.Parameters()[0]
		}
	} else {
		list, _ = c.value(in, s)
	}
	each, index := value(of, "each").Value, value(of, "at").Value
	if each == "" {
		each = "item"
	}
	if index == "" {
		index = "index"
	}
	inner, eachName := c.with(of, *s, each, item)
	inner, indexName := c.with(of, *inner, index, cel.IntType)
	inner.step += ` + "[" + ` + indexName + ` + "]"`
	inner.output = cel.DynType
	lines := []string{"for (const [" + indexName + ", " + eachName + "] of (" + list + ").entries()) {"}
	if while := at(t.node, "while"); while != nil {
		condition, _ := c.condition(while, asBoolean, inner)
		lines = append(lines, "  if (!("+condition+")) break;")
	}
	for _, name := range identifiers(t.lists["do"]) { // a task that is skipped has no result of the item before
		lines = append(lines, marker+name+marker+"  "+s.results+"."+name+" = null;")
	}
	lines = slices.Concat(lines, indented(c.list(t.lists["do"], inner, t.name)), []string{"}"})
	s.output = cel.DynType
	return lines
}

// identifiers returns the names of the tasks of lists and below that expressions can refer to.
func identifiers(tasks []*task) (names []string) {
	for _, t := range tasks {
		if ident.IsIdentifier(t.name) {
			names = append(names, t.name)
		}
		for _, list := range slices.Sorted(maps.Keys(t.lists)) {
			if list != "compensate" {
				names = append(names, identifiers(t.lists[list])...)
			}
		}
	}
	return names
}

// fork returns the code of branches that run at the same time. Of branches that compete, nothing but the result of the fork can be read later:
// how far the others came is chance.
func (c *compiler) fork(t *task, s *scope) []string {
	of := at(t.node, "fork")
	compete := value(of, "compete").Value == "true"
	opening, tail := "(async (output: any) => {", "})(output)"
	var stops, given string
	if compete {
		stops, given = c.unique("stops"), c.unique("was")
		opening, tail = "async ("+stops+") => {", "}"
	}
	var branches []string
	results := map[string]*cel.Type{}
	for _, branch := range t.lists["fork.branches"] {
		own := *s
		own.tasks, own.inside = maps.Clone(s.tasks), "a fork"
		if compete {
			own.race = stops
		}
		if then := at(branch.node, "then"); then != nil {
			c.wrong(then, "a branch cannot lead to another one", "remove then")
		}
		body := c.list([]*task{branch}, &own, "")
		head := []string{opening}
		if compete {
			head = append(head, "  let output: any = "+given+";")
		} else {
			maps.Copy(results, own.tasks)
		}
		branches = append(branches, strings.Join(slices.Concat(head, indented(guarded(body, "throw placed(caught, at);")), []string{tail}), "\n"))
	}
	list := bracketed("[", branches, "]")
	if compete {
		s.output = cel.DynType
		c.library["compete"] = true
		return []string{"const " + given + " = output;", "output = await compete(" + quote(t.name+" winner") + s.step + ", " + list + ");"}
	}
	maps.Copy(s.tasks, results)
	s.output = cel.ListType(cel.DynType)
	c.helpers["mayHaveEffect"], c.helpers["together"] = true, true
	return []string{"output = await together(" + list + ");"}
}

// listen returns the code that waits for a message.
func (c *compiler) listen(t *task, s *scope) []string {
	to := at(t.node, "listen", "to")
	filters := items(at(to, "any"))
	if one := at(to, "one"); one != nil {
		filters = []*yaml.Node{one}
	}
	options := ""
	if after := at(t.node, "timeout", "after"); after != nil {
		options = ", { timeout: " + c.duration(after, s) + " }"
	}
	c.library["workflow"] = true
	if len(filters) > 1 {
		c.wrong(to, "a task listens to one topic", "send all of these messages to one topic")
	}
	topic, _ := c.value(value(filters[0], "with", "type"), s)
	s.output = cel.ListType(cel.DynType)
	return []string{"output = [await workflow.waitFor(" + topic + options + ")];"}
}
