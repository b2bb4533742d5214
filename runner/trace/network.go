package trace

import (
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/mcpgen/mcpgen/gen/ident"
	"github.com/mcpgen/mcpgen/runner"
	"github.com/mcpgen/mcpgen/runner/egress"
	"github.com/mcpgen/mcpgen/runner/internal/page"
)

// request describes a connection, as in "GET https://api.example.com/v1".
func request(e *egress.Event) string {
	target := string(e.Protocol) + "://" + e.Host
	if e.Port != e.Protocol.Port() {
		target += ":" + strconv.Itoa(e.Port)
	}
	return ident.CleanLine(strings.TrimSpace(e.Method + " " + target + e.Path))
}

// verdict describes how a connection ended.
func verdict(e *egress.Event) string {
	switch {
	case e.Check != "":
		return ident.CleanLine("refused by " + string(e.Check) + ": " + e.Reason)
	case e.Error != "":
		return ident.CleanLine("failed: " + e.Error)
	case e.Status > 0:
		return strconv.Itoa(e.Status)
	}
	return "ok"
}

// connections writes the connections of a run in lines.
func connections(b io.Writer, res *runner.Result, width int) {
	if res.ConnectionCount == 0 {
		return
	}
	fmt.Fprintf(b, "network: %d\n", res.ConnectionCount)
	shown := res.Connections[:min(len(res.Connections), maxRows)]
	for i := range shown {
		e := &shown[i]
		line := fmt.Sprintf("  %s  %s  %s sent, %s received", request(e), verdict(e), size(int(e.Sent)), size(int(e.Received)))
		if e.Check != "" {
			line = fmt.Sprintf("  %s  %s", request(e), verdict(e))
		}
		fmt.Fprintln(b, ident.Shorten(line, width))
	}
	if more := res.ConnectionCount - len(shown); more > 0 {
		fmt.Fprintf(b, "  and %d more\n", more)
	}
}

// networkTable is the table of connections on the page.
func networkTable(res *runner.Result) page.Node {
	if res.ConnectionCount == 0 {
		return page.Group()
	}
	cell := func(value string) page.Node { return el("td", text(value)) }
	return page.Group(
		el("h2", text("Network")),
		el("table",
			el("thead", el("tr", page.Each([]string{"Connection", "Verdict", "Rule"}, func(name *string) page.Node { return el("th", text(*name)) }),
				page.Each([]string{"Sent", "Received"}, func(name *string) page.Node { return el("th", class("n"), text(*name)) }))),
			el("tbody", page.Each(res.Connections, func(e *egress.Event) page.Node {
				return el("tr", when(e.Check != "", class("failed")), cell(request(e)), cell(verdict(e)), cell(ident.CleanLine(e.Rule)), number(size(int(e.Sent))), number(size(int(e.Received))))
			}))),
		when(res.ConnectionCount > len(res.Connections), el("p", text(fmt.Sprintf("And %d more.", res.ConnectionCount-len(res.Connections))))),
	)
}
