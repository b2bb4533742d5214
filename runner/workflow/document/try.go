package document

import (
	"slices"

	"github.com/google/cel-go/cel"
	"go.yaml.in/yaml/v3"

	"github.com/mcpgen/mcpgen/gen/config/node"
)

// try returns the code of try, catch and retry.
func (c *compiler) try(t *task, s *scope) []string {
	catch := at(t.node, "catch")
	retry := at(catch, "retry")
	body := *s
	attempt := ""
	if retry != nil {
		attempt = c.unique("attempt")
		body.step += ` + " (try " + ` + attempt + ` + ")"`
	}
	tried := c.list(t.lists["try"], &body, t.name)
	name := value(catch, "as").Value
	if name == "" {
		name = "error"
	}
	inner, caught := c.with(catch, *s, name, c.errorType())
	inner.output = cel.DynType
	c.helpers["problem"] = true
	var handler []string
	if retry != nil {
		c.helpers["mayHaveEffect"] = true
		handler = append(handler, "if (mayHaveEffect(caught)) throw caught; // it is not tried again")
	}
	handler = append(handler, "const "+caught+" = problem(caught);")
	rethrow := func(unless string) {
		handler = append(handler, "if ("+unless+") throw caught;")
	}
	if with := at(catch, "errors", "with"); with != nil {
		c.helpers["matches"] = true
		filter, _ := c.value(c.standardType(with), inner)
		rethrow("!matches(" + caught + ", " + filter + ")")
	}
	if when := at(catch, "when"); when != nil {
		condition, _ := c.condition(when, asBoolean, inner)
		rethrow("!(" + condition + ")")
	}
	if except := at(catch, "exceptWhen"); except != nil {
		condition, _ := c.condition(except, asBoolean, inner)
		rethrow(condition)
	}
	if retry != nil {
		handler = append(handler, c.retry(retry, attempt, inner)...)
	}
	switch do := t.lists["catch.do"]; {
	case do != nil:
		handler = append(handler, c.list(do, inner, t.name)...)
	case retry != nil:
		handler = append(handler, "throw caught;")
	}
	s.output = cel.DynType
	if retry == nil {
		return slices.Concat([]string{"try {"}, indented(tried), []string{"} catch (caught) {"}, indented(handler), []string{"}"})
	}
	if t.lists["catch.do"] != nil {
		handler = append(handler, "break;")
	}
	lines := slices.Concat([]string{"try {"}, indented(append(tried, "break;")), []string{"} catch (caught) {"}, indented(handler), []string{"}"})
	return slices.Concat([]string{"for (let " + attempt + " = 1; ; " + attempt + "++) {"}, indented(lines), []string{"}"})
}

// retry returns the code that waits and tries again.
func (c *compiler) retry(retry *yaml.Node, attempt string, s *scope) []string {
	condition := attempt + " < " + value(retry, "limit", "attempt", "count").Value
	if when := at(retry, "when"); when != nil {
		code, _ := c.condition(when, asBoolean, s)
		condition += " && " + code
	}
	if except := at(retry, "exceptWhen"); except != nil {
		code, _ := c.condition(except, asBoolean, s)
		condition += " && !(" + code + ")"
	}
	lines := []string{"if (" + condition + ") {"}
	if delay := at(retry, "delay"); delay != nil {
		c.library["workflow"] = true
		code := c.duration(delay, s)
		for key := range node.Pairs(at(retry, "backoff")) {
			switch key.Value {
			case "linear":
				code += " * " + attempt
			case "exponential":
				code += " * 2 ** (" + attempt + " - 1)"
			}
		}
		lines = append(lines, "  await workflow.sleep("+code+");")
	}
	return append(lines, "  continue;", "}")
}

// errorType is the type of the variable of an error: problem details (RFC 9457).
func (c *compiler) errorType() *cel.Type {
	return c.types.object(map[string]*cel.Type{
		"type": cel.StringType, "status": cel.IntType, "title": cel.StringType, "detail": cel.StringType, "instance": cel.StringType,
	})
}
