package main

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/go-analyze/charts"
)

// chartSizes are the catalogs in the chart.
var chartSizes = []int{50, 500}

// chartWays are the bars of each size, with names for readers.
var chartWays = []struct {
	way   way
	name  string
	color charts.Color
}{
	{byCalls, "all definitions", charts.ColorRGB(140, 149, 159)},
	{bySearch, "tool search", charts.ColorRGB(191, 135, 0)},
	{byServe, "mcprun serve", charts.ColorRGB(9, 105, 218)},
	{byScript, "code in a shell", charts.ColorRGB(26, 127, 55)},
}

// chartKinds are the kinds of tasks that have a panel in the chart.
var chartKinds = []struct {
	kind kind
	name string
}{{oneCall, "tasks of one call"}, {multiStep, "tasks of several steps"}, {dataHeavy, "tasks with much data"}}

// Sizes of the chart in pixels.
const (
	panelWidth  = 310
	panelHeight = 290
	chartMargin = 15
	chartHeight = panelHeight + 55
	chartWidth  = 3*panelWidth + 2*chartMargin
)

// chart draws what a conversation with all tasks of a kind reads and writes, as an SVG that follows the reader's color scheme.
func (r *report) chart() ([]byte, error) {
	p := charts.NewPainter(charts.PainterOptions{OutputFormat: charts.ChartOutputSVG, Width: chartWidth, Height: chartHeight})
	theme := charts.GetTheme(charts.ThemeLight).WithBackgroundColor(charts.ColorTransparent).WithTextColor(ink).WithXAxisColor(ink)
	for i, k := range chartKinds {
		opt := r.panel(k.kind, k.name, theme)
		x := chartMargin + i*panelWidth
		box := charts.NewBox(x, 0, x+panelWidth, panelHeight)
		if err := p.Child(charts.PainterBoxOption(box)).BarChart(opt); err != nil {
			return nil, err
		}
	}
	for i, w := range chartWays {
		x, y := 2*chartMargin+i*(chartWidth/len(chartWays)), panelHeight+12
		p.FilledRect(x, y, x+14, y+14, w.color, w.color, 0)
		p.Text(w.name, x+22, y+13, 0, charts.NewFontStyleWithSize(11).WithColor(ink))
	}
	drawn, err := p.Bytes()
	if err != nil {
		return nil, err
	}
	return inColorScheme(string(drawn))
}

// panel returns the chart of one kind of tasks.
func (r *report) panel(k kind, name string, theme charts.ColorPalette) charts.BarChartOption {
	data := make([][]float64, len(chartWays))
	var labels []string
	for _, tools := range chartSizes {
		labels = append(labels, fmt.Sprintf("%d tools", tools))
		for i, w := range chartWays {
			read, _ := r.once(tools, k, w.way)
			data[i] = append(data[i], float64(read))
		}
	}
	opt := charts.NewBarChartOptionWithData(data)
	opt.Theme = theme
	opt.Title.Text = fmt.Sprintf("%d %s", len(r.pick(chartSizes[0], k, byCalls)), name)
	opt.Title.FontStyle = charts.NewFontStyleWithSize(12)
	opt.CategoryAxis.Labels = labels
	opt.CategoryAxis.LabelFontStyle = charts.NewFontStyleWithSize(11)
	opt.ValueAxis[0].Show = charts.Ptr(false)
	opt.Legend.Show = charts.Ptr(false)
	opt.BarMargin = charts.Ptr(0.02)
	colors := make([]charts.Color, len(chartWays))
	for i, w := range chartWays {
		colors[i] = w.color
		opt.SeriesList[i].Label = charts.SeriesLabel{Show: charts.Ptr(true), ValueFormatter: inThousands, FontStyle: charts.NewFontStyleWithSize(8)}
	}
	opt.Theme = theme.WithSeriesColors(colors)
	return opt
}

// inThousands formats a number of tokens.
func inThousands(tokens float64) string {
	if tokens >= 10_000 {
		return fmt.Sprintf("%.0fk", tokens/1000)
	}
	return fmt.Sprintf("%.1fk", tokens/1000)
}

// ink is the color of texts and axes, which inColorScheme replaces.
var ink = charts.ColorRGB(1, 2, 3)

const chartStyle = `<title>Tokens that a conversation of all tasks of a kind reads and writes</title>
<style>
svg { --page: #ffffff; --ink: #1f2328 }
@media (prefers-color-scheme: dark) { svg { --page: #0d1117; --ink: #f0f6fc } }
</style>
<rect width="100%" height="100%" rx="10" style="fill:var(--page)"/>
`

// inColorScheme makes a drawing follow the reader's color scheme.
func inColorScheme(svg string) ([]byte, error) {
	at := strings.Index(svg, ">") + 1
	if at == 0 || !strings.Contains(svg, "rgb(1,2,3)") {
		return nil, errors.New("the chart has another form than expected")
	}
	rest := strings.NewReplacer("rgb(1,2,3)", "var(--ink)", "'Roboto Medium',sans-serif", "system-ui,sans-serif").Replace(svg[at:])
	return []byte(svg[:at] + "\n" + chartStyle + rest + "\n"), nil
}

// hasChart reports whether the sizes of the chart were measured.
func (r *report) hasChart() bool {
	return !slices.ContainsFunc(chartSizes, func(tools int) bool { return !slices.Contains(r.Sizes, tools) })
}
