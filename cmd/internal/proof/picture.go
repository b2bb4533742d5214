package main

import (
	"fmt"
	"math"
	"strings"
)

// The picture's measures, in its own units.
const (
	pictureWidth, pictureHeight = 880, 420
	panelTop, panelBottom       = 104, 330
	panelWidth, panelGap        = 360, 70
	panelLeft                   = 62
	barWidth                    = 26
)

// shown are the ways that the picture has, with their colours: such as can be told apart without seeing colours well.
var shown = []struct {
	way         way
	label, fill string
}{
	{direct, "all definitions in front", "#9aa3ad"},
	{found, "search, then call", "#e3a008"},
	{code, "code with the tree", "#1a7f6b"},
}

// picture draws what a task costs on average, for two kinds of tasks, in catalogs of all sizes, on a logarithmic scale.
// It depends on counts alone, so that it is the same at every run.
func picture(r *report) string {
	var b strings.Builder
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" role="img" aria-labelledby="title desc" font-family="system-ui, -apple-system, 'Segoe UI', 'DejaVu Sans', sans-serif">`+"\n", pictureWidth, pictureHeight)
	b.WriteString("<title id=\"title\">Tokens a model reads and writes for a task, by catalog and way</title>\n")
	fmt.Fprintf(&b, "<desc id=\"desc\">%s</desc>\n", describe(r))
	fmt.Fprintf(&b, `<rect width="%d" height="%d" fill="#ffffff"/>`+"\n", pictureWidth, pictureHeight)
	text(&b, 24, 34, 18, "start", "#1f2328", "600", "Tokens a model reads and writes for one task")
	x := 24
	for _, s := range shown {
		fmt.Fprintf(&b, `<rect x="%d" y="50" width="12" height="12" rx="2" fill="%s"/>`+"\n", x, s.fill)
		text(&b, x+18, 61, 13, "start", "#1f2328", "400", s.label)
		x += 190
	}
	low, high := bounds(r)
	for i, k := range []kind{dataHeavy, oneCall} {
		panel(&b, r, k, panelLeft+i*(panelWidth+panelGap), low, high)
	}
	text(&b, 24, pictureHeight-18, 12, "start", "#59636e", "400", "Mean of the tasks, each text counted once, o200k_base; logarithmic scale. Below: tools in the catalog.")
	b.WriteString("</svg>\n")
	return b.String()
}

// describe says in words what the picture shows.
func describe(r *report) string {
	var out []string
	for _, k := range []kind{dataHeavy, oneCall} {
		for _, tools := range r.Sizes {
			line := fmt.Sprintf("%s tasks, %s tools:", strings.ToUpper(string(k[:1]))+string(k[1:]), thousands(tools))
			for _, s := range shown {
				line += fmt.Sprintf(" %s %s;", s.label, thousands(r.mean(tools, k, s.way)))
			}
			out = append(out, strings.TrimSuffix(line, ";")+".")
		}
	}
	return strings.Join(out, " ")
}

// mean is what a task of a kind costs.
func (r *report) mean(tools int, k kind, w way) int {
	list := r.pick(tools, k, w)
	sum := 0
	for _, m := range list {
		sum += m.Read()
	}
	return sum / max(1, len(list))
}

// bounds are powers of ten around all means.
func bounds(r *report) (low, high float64) {
	least, most := math.MaxInt, 1
	for _, tools := range r.Sizes {
		for _, k := range []kind{dataHeavy, oneCall} {
			for _, s := range shown {
				if n := r.mean(tools, k, s.way); n > 0 {
					least, most = min(least, n), max(most, n)
				}
			}
		}
	}
	least = min(least, most)
	return math.Floor(math.Log10(float64(least))), math.Ceil(math.Log10(float64(most)) + 1e-9)
}

// panel draws the tasks of one kind, its left edge at x.
func panel(b *strings.Builder, r *report, k kind, x int, low, high float64) {
	text(b, x, panelTop-12, 14, "start", "#1f2328", "600", strings.ToUpper(string(k[:1]))+string(k[1:])+" tasks")
	height := func(n float64) float64 { return (math.Log10(n) - low) / (high - low) * (panelBottom - panelTop) }
	for e := low; e <= high; e++ {
		y := panelBottom - height(math.Pow(10, e))
		fmt.Fprintf(b, `<line x1="%d" y1="%.1f" x2="%d" y2="%.1f" stroke="#d8dee4"/>`+"\n", x, y, x+panelWidth, y)
		text(b, x-8, int(y)+4, 11, "end", "#59636e", "400", short(int(math.Pow(10, e))))
	}
	group := panelWidth / max(1, len(r.Sizes))
	for i, tools := range r.Sizes {
		left := x + i*group + (group-len(shown)*(barWidth+2))/2
		for j, s := range shown {
			n := r.mean(tools, k, s.way)
			if n == 0 {
				continue
			}
			h := height(float64(n))
			bx := left + j*(barWidth+2)
			fmt.Fprintf(b, `<rect x="%d" y="%.1f" width="%d" height="%.1f" rx="2" fill="%s"/>`+"\n", bx, panelBottom-h, barWidth, h, s.fill)
			text(b, bx+barWidth/2, int(panelBottom-h)-4, 9, "middle", "#1f2328", "400", short(n))
		}
		text(b, x+i*group+group/2, panelBottom+20, 13, "middle", "#1f2328", "400", thousands(tools))
		saved := fewer(float64(r.mean(tools, k, code)), float64(r.mean(tools, k, direct)))
		text(b, x+i*group+group/2, panelBottom+38, 12, "middle", "#1a7f6b", "600", fmt.Sprintf("−%.1f %%", saved))
	}
}

func text(b *strings.Builder, x, y, size int, anchor, fill, weight, s string) {
	s = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;").Replace(s)
	fmt.Fprintf(b, `<text x="%d" y="%d" font-size="%d" text-anchor="%s" fill="%s" font-weight="%s">%s</text>`+"\n", x, y, size, anchor, fill, weight, s)
}

// short writes a number in few characters.
func short(n int) string {
	switch {
	case n >= 1_000_000:
		return fmt.Sprintf("%.3gM", float64(n)/1e6)
	case n >= 1000:
		return fmt.Sprintf("%.3gk", float64(n)/1e3)
	}
	return fmt.Sprint(n)
}
