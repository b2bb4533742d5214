package judge

import (
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/mcpgen/mcpgen/runner/script/internal/syntax"
)

// made is what the program has written or made, by variable and by constant name: deleting it loses nothing that was there before.
type made struct {
	variables map[*binding][]moment
	names     map[string][]moment
	deletions []deletion
}

// moment is where a call is in its function.
type moment struct {
	function *scope
	node     int
}

// deletion is a call that deletes a file. It is judged at the end: a function that cleans up may be written first.
type deletion struct {
	moment
	call, target *syntax.Node
	scope        *scope
	fact         Fact // if the script did not make the file
}

var (
	// temporary matches what the functions return that make temporary files, or say where they belong.
	temporary = regexp.MustCompile(`^(?:tempfile\.|fs\.mkdtemp|os\.tmpdir\(|tmp\.)`)
	// written is which argument of a function is the file that it makes. Functions that move or change files are not listed.
	written = func() map[string]int {
		out := map[string]int{}
		for name := range set("writeFile writeFileSync createWriteStream write_file open mkdir mkdirSync makedirs touch write_text write_bytes to_csv to_excel to_parquet savefig") {
			out[name] = 0
		}
		for name := range set("copyFile copyFileSync cp cpSync copy copy2 copyfile copytree") {
			out[name] = 1
		}
		return out
	}()
	// others are what happens to the file that the second argument names, or to the first where written is the second.
	others = func() map[string]string {
		out := map[string]string{}
		for name := range set("rename renameSync replace renames move symlink symlinkSync link linkSync symlink_to hardlink_to") {
			out[name] = "file-write"
		}
		for name := range set("copyFile copyFileSync cp cpSync copy copy2 copyfile copytree") {
			out[name] = "file-read"
		}
		return out
	}()
	// within are functions whose result is the file that they are given, in it, or a list of what is.
	within = set("join resolve normalize abspath Path PurePath str fspath String open joinpath absolute glob rglob iterdir listdir scandir readdir readdirSync enumerate sorted list reversed")
	// outside are members that are other files.
	outside  = set("parent parents")
	collects = set("append add insert extend push unshift")
)

func (a *analysis) now(s *scope) moment {
	for !s.function {
		s = s.parent
	}
	return moment{s, a.facts.Nodes}
}

// target returns the file that a call is about: an argument, or the object of a method that has none.
func target(n *syntax.Node, i int) *syntax.Node {
	if i+1 < len(n.Kids) && n.Kids[i+1].Kind != syntax.Keyword {
		return n.Kids[i+1]
	}
	if n.Kids[0].Kind == syntax.Attr {
		return n.Kids[0].Kids[0]
	}
	return nil
}

// makes records a file that the program makes.
func (a *analysis) makes(n *syntax.Node, s *scope) {
	if a.made.names == nil {
		a.made.names, a.made.variables = map[string][]moment{}, map[*binding][]moment{}
	}
	if text, _, ok := a.constant(n, s); ok && !strings.HasPrefix(text, "$") {
		text = path.Clean(text)
		a.made.names[text] = append(a.made.names[text], a.now(s))
	}
	if n.Kind == syntax.Name {
		if b := s.lookup(n.Text); b != nil && b.sites == 1 {
			a.made.variables[b] = append(a.made.variables[b], a.now(s))
		}
	}
}

// deletions adds the facts of the calls that delete.
func (a *analysis) deletions() {
	for _, d := range a.made.deletions {
		own := ownership{analysis: a, when: d.moment, asked: map[*binding]bool{}}
		if own.of(d.target, d.scope) == yes {
			d.fact.Rule, d.fact.Text = "own-file-delete", "deletes what the script made"
		}
		a.addFact(d.call, d.fact)
	}
}

// ownership finds whether the program made a file before a moment.
type ownership struct {
	*analysis
	when  moment
	steps int
	asked map[*binding]bool // variables that are being looked at
}

// answer is whether the program made a file; neither is for values that are not files, such as None.
type answer int

const (
	neither answer = iota
	no
	yes
)

// of answers for the file that an expression stands for, or all files of a list.
func (o *ownership) of(n *syntax.Node, s *scope) answer {
	if o.steps++; n == nil || o.steps > maxSteps {
		return no
	}
	switch n.Kind {
	case syntax.Other:
		if len(n.Kids) == 0 {
			return neither
		}
	case syntax.Name:
		return o.variable(n, s)
	case syntax.String, syntax.Add, syntax.Join:
		return o.text(n, s)
	case syntax.Call:
		return o.result(n, s)
	case syntax.Each, syntax.Assign, syntax.Index:
		return o.of(n.Kids[0], s)
	case syntax.Attr:
		if base := n.Kids[0]; base.Kind == syntax.Name && s.root().names[base.Text+"."+n.Text] != nil {
			return o.variable(&syntax.Node{Text: base.Text + "." + n.Text}, s.root())
		}
		if !outside[n.Text] {
			return o.of(n.Kids[0], s)
		}
	case syntax.List:
		return o.all(n.Kids, s)
	case syntax.Any:
		return o.all(alternatives(n), s)
	}
	return no
}

// all answers yes if the program made some of the files, and there are no others.
func (o *ownership) all(nodes []*syntax.Node, s *scope) answer {
	var list []expression
	for _, n := range nodes {
		list = append(list, expression{n, s})
	}
	return o.allOf(list)
}

func (o *ownership) allOf(list []expression) answer {
	out := neither
	for _, e := range list {
		each := o.of(e.node, e.scope)
		if each == no {
			return no
		}
		out = max(out, each)
	}
	return out
}

func (o *ownership) before(moments []moment) bool {
	for _, m := range moments {
		if m.function != o.when.function || m.node < o.when.node {
			return true
		}
	}
	return false
}

func (o *ownership) variable(n *syntax.Node, s *scope) answer {
	b := s.lookup(n.Text)
	switch {
	case b == nil:
		return no
	case o.before(o.made.variables[b]):
		return yes
	case b.sites != len(b.values):
		return no // a parameter, or assigned too often
	case o.asked[b]:
		return neither // by itself
	}
	o.asked[b] = true
	defer delete(o.asked, b)
	return o.allOf(slices.Concat(b.values, b.held))
}

// text answers for a constant, and for what begins with a folder.
func (o *ownership) text(n *syntax.Node, s *scope) answer {
	text, _, _ := o.constant(n, s)
	if strings.Contains(text, "..") {
		return no
	}
	for p := path.Clean(text); p != "." && p != "/" && !strings.HasPrefix(p, "$"); p = path.Dir(p) {
		if o.before(o.made.names[p]) || path.Dir(p) == "/tmp" { // a run has a /tmp of its own
			return yes
		}
	}
	for _, kid := range n.Kids {
		if kid.Kind != syntax.String || kid.Text != "" {
			return max(no, o.of(kid, s))
		}
	}
	return no
}

// result answers for what a call returns.
func (o *ownership) result(n *syntax.Node, s *scope) answer {
	for _, v := range o.values(n, s) {
		switch {
		case v.kind == isPath && temporary.MatchString(v.text):
			return yes
		case v.kind == isText && o.text(&syntax.Node{Kind: syntax.String, Text: v.text}, s) == yes:
			return yes
		}
	}
	callee := n.Kids[0]
	if !within[memberOrName(callee)] {
		return no
	}
	for _, kid := range n.Kids[1:] {
		if text, _, _ := o.constant(kid, s); strings.Contains(text, "..") {
			return no
		}
	}
	if callee.Kind == syntax.Attr && o.of(callee.Kids[0], s) == yes {
		return yes
	}
	return max(no, o.of(target(n, 0), s))
}
