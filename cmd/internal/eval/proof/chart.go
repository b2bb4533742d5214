package main

import (
	"fmt"
	"slices"
	"strings"
)

// chartSizes are the catalogs in the chart.
var chartSizes = []int{50, 500}

// chartWays are the bars of each size, as people know them.
var chartWays = []struct {
	way         way
	name, color string
}{
	{byCalls, "all definitions", "#8c959f"},
	{bySearch, "tool search", "#bf8700"},
	{byServe, "mcprun serve", "#0969da"},
	{byScript, "code in a shell", "#1a7f37"},
}

// The chart has a panel for each of these kinds.
var chartKinds = []struct {
	kind kind
	name string
}{{oneCall, "tasks of one call"}, {multiStep, "tasks of several steps"}, {dataHeavy, "tasks with much data"}}

// Sizes of the chart in pixels.
const (
	panelWidth  = 310
	chartMargin = 15
	chartWidth  = 3*panelWidth + 2*chartMargin
	chartHeight = 345
	axisY       = 245 // where the bars stand
	longestBar  = 180
	barWidth    = 26
	barStep     = 29
	groupWidth  = 135 // the bars of one size
)

const chartStyle = `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" font-family="system-ui,sans-serif" fill="var(--ink)">
<title>Tokens that a conversation of all tasks of a kind reads and writes</title>
<style>
svg { --page: #ffffff; --ink: #1f2328 }
@media (prefers-color-scheme: dark) { svg { --page: #0d1117; --ink: #f0f6fc } }
</style>
<rect width="100%%" height="100%%" rx="10" style="fill:var(--page)"/>
`

// chart draws what a conversation with all tasks of a kind reads and writes, as an SVG that follows the reader's color scheme.
func (r *report) chart() []byte {
	var b strings.Builder
	fmt.Fprintf(&b, chartStyle, chartWidth, chartHeight)
	for i, k := range chartKinds {
		r.panel(&b, chartMargin+i*panelWidth+20, k.kind, k.name)
	}
	for i, w := range chartWays {
		x := 2*chartMargin + i*(chartWidth/len(chartWays))
		fmt.Fprintf(&b, `<rect x="%d" y="302" width="14" height="14" fill="%s"/>`+"\n", x, w.color)
		fmt.Fprintf(&b, `<text x="%d" y="315" font-size="15">%s</text>`+"\n", x+22, w.name)
	}
	b.WriteString("</svg>\n")
	return []byte(b.String())
}

// panel draws the bars of one kind of tasks from x on. The longest bar of each panel has the same length.
func (r *report) panel(b *strings.Builder, x int, k kind, name string) {
	most := 0
	for _, tools := range chartSizes {
		for _, w := range chartWays {
			read, _ := r.once(tools, k, w.way)
			most = max(most, read)
		}
	}
	fmt.Fprintf(b, `<text x="%d" y="36" font-size="16">%d %s</text>`+"\n", x, len(r.pick(chartSizes[0], k, byCalls)), name)
	fmt.Fprintf(b, `<path d="M%d %dh%d" stroke="var(--ink)"/>`+"\n", x, axisY, len(chartSizes)*groupWidth)
	for i, tools := range chartSizes {
		left := x + i*groupWidth
		fmt.Fprintf(b, `<text x="%d" y="267" font-size="15" text-anchor="middle">%d tools</text>`+"\n", left+groupWidth/2, tools)
		for j, w := range chartWays {
			read, _ := r.once(tools, k, w.way)
			at, height := left+10+j*barStep, max(1, read*longestBar/max(1, most))
			fmt.Fprintf(b, `<rect x="%d" y="%d" width="%d" height="%d" fill="%s"/>`+"\n", at, axisY-height, barWidth, height, w.color)
			fmt.Fprintf(b, `<text x="%d" y="%d" font-size="11" text-anchor="middle">%s</text>`+"\n", at+barWidth/2, axisY-height-5, inThousands(float64(read)))
		}
	}
}

// inThousands formats a number of tokens.
func inThousands(tokens float64) string {
	if tokens >= 10_000 {
		return fmt.Sprintf("%.0fk", tokens/1000)
	}
	return fmt.Sprintf("%.1fk", tokens/1000)
}

// hasChart reports whether the sizes of the chart were measured.
func (r *report) hasChart() bool {
	return !slices.ContainsFunc(chartSizes, func(tools int) bool { return !slices.Contains(r.Sizes, tools) })
}
