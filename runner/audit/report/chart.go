package report

import (
	"fmt"
	"strconv"

	"github.com/mcpgen/mcpgen/gen/ident"
	"github.com/mcpgen/mcpgen/runner/internal/page"
)

// Short names for the functions that build HTML.
var (
	el, attr, text = page.El, page.Attr, page.Text
	when           = page.If
)

func class(name string) page.Node { return attr("class", name) }

// bar is a bar of a chart, of parts whose colours are those of the classes p0, p1, and so on.
type bar struct {
	label string
	parts []int
}

func (b *bar) total() (n int) {
	for _, part := range b.parts {
		n += part
	}
	return n
}

func greatest(bars []bar) int {
	most := 1
	for i := range bars {
		most = max(most, bars[i].total())
	}
	return most
}

const (
	chartWidth   = 640
	columnHeight = 140
	rowHeight    = 22
	labelWidth   = 190 // of horizontal bars
	labelLength  = 28  // characters
)

// svg returns a chart with a name and a description for those who do not see it.
func svg(id, title, description string, height int, shapes ...page.Node) page.Node {
	head := []page.Node{
		attr("viewBox", fmt.Sprintf("0 0 %d %d", chartWidth, height)), attr("role", "img"), attr("aria-labelledby", id+"-title "+id+"-description"),
		el("title", attr("id", id+"-title"), text(title)), el("desc", attr("id", id+"-description"), text(description)),
	}
	return el("svg", append(head, shapes...)...)
}

func rect(x, y, width, height float64, part int) page.Node {
	number := func(f float64) string { return strconv.FormatFloat(f, 'f', 1, 64) }
	return el("rect", class("p"+strconv.Itoa(part)), attr("x", number(x)), attr("y", number(y)), attr("width", number(width)), attr("height", number(height)))
}

func label(x, y int, anchor, words string) page.Node {
	return el("text", attr("x", strconv.Itoa(x)), attr("y", strconv.Itoa(y)), attr("text-anchor", anchor), text(words))
}

// columns returns a chart with a bar for each step of time.
func columns(id, title, description string, bars []bar) page.Node {
	const top, left = 16, 34
	most := greatest(bars)
	shapes := []page.Node{
		label(left-6, top+4, "end", strconv.Itoa(most)), label(left-6, top+columnHeight, "end", "0"),
		el("path", class("axis"), attr("d", fmt.Sprintf("M%d %dH%dM%d %dH%d", left, top, chartWidth, left, top+columnHeight, chartWidth))),
		label(left, top+columnHeight+16, "start", bars[0].label),
	}
	step := min(float64(chartWidth-left)/float64(len(bars)), 90)
	if last := len(bars) - 1; last > 0 {
		shapes = append(shapes, label(left+int(step*float64(last+1)), top+columnHeight+16, "end", bars[last].label))
	}
	for i := range bars {
		y := float64(top + columnHeight)
		for part, n := range bars[i].parts {
			if n > 0 {
				height := float64(n) / float64(most) * columnHeight
				y -= height
				shapes = append(shapes, rect(left+step*(float64(i)+0.1), y, step*0.8, height, part))
			}
		}
	}
	return svg(id, title, description, top+columnHeight+22, shapes...)
}

// lines returns a chart with a horizontal bar for each name, and its number behind it.
func lines(id, title, description string, bars []bar) page.Node {
	const room = chartWidth - labelWidth - 50
	most := greatest(bars)
	var shapes []page.Node
	for i := range bars {
		y, x := i*rowHeight, float64(labelWidth)
		shapes = append(shapes, label(labelWidth-8, y+15, "end", ident.Shorten(ident.CleanLine(bars[i].label), labelLength)))
		for part, n := range bars[i].parts {
			if n > 0 {
				width := float64(n) / float64(most) * room
				shapes = append(shapes, rect(x, float64(y+3), width, rowHeight-6, part))
				x += width
			}
		}
		shapes = append(shapes, label(int(x)+6, y+15, "start", strconv.Itoa(bars[i].total())))
	}
	return svg(id, title, description, len(bars)*rowHeight+2, shapes...)
}
