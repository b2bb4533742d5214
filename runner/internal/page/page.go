// Package page builds HTML pages as trees, so that no text can become markup. Start with [Write].
//
// It replaces html/template, which looks up methods by name when it fills a page. The linker then has to keep every exported method of every
// type, which makes mcprun 5 MB larger.
package page

import (
	"io"

	"golang.org/x/net/html"
)

// Node is an element, an attribute or a text, which it adds to a parent.
type Node func(parent *html.Node)

// El returns an element with its attributes and contents. The tag is a constant of the program.
func El(tag string, nodes ...Node) Node {
	return func(parent *html.Node) {
		child := &html.Node{Type: html.ElementNode, Data: tag}
		add(child, nodes)
		parent.AppendChild(child)
	}
}

// Attr returns an attribute for the enclosing element. Its name is a constant of the program; an address or a style must not
// come from elsewhere as a whole.
func Attr(name, value string) Node {
	return func(parent *html.Node) {
		parent.Attr = append(parent.Attr, html.Attribute{Key: name, Val: value})
	}
}

// Text returns a text, which may be hostile.
func Text(text string) Node {
	return func(parent *html.Node) { parent.AppendChild(&html.Node{Type: html.TextNode, Data: text}) }
}

// Group returns several nodes as one.
func Group(nodes ...Node) Node {
	return func(parent *html.Node) { add(parent, nodes) }
}

// If returns the nodes if a condition holds, and otherwise nothing.
func If(condition bool, nodes ...Node) Node {
	if !condition {
		return Group()
	}
	return Group(nodes...)
}

// Each returns a node for each item of a list.
func Each[T any](list []T, node func(item *T) Node) Node {
	return func(parent *html.Node) {
		for i := range list {
			node(&list[i])(parent)
		}
	}
}

// Page is an HTML page. Style is its style sheet, which is written unchanged.
type Page struct {
	Title, Style string
	Head, Body   []Node
}

// Write writes a page.
func Write(w io.Writer, p *Page) error {
	root := &html.Node{Type: html.DocumentNode}
	root.AppendChild(&html.Node{Type: html.DoctypeNode, Data: "html"})
	head := append([]Node{El("meta", Attr("charset", "utf-8"))}, p.Head...)
	head = append(head, El("meta", Attr("name", "viewport"), Attr("content", "width=device-width, initial-scale=1")),
		El("title", Text(p.Title)), El("style", Text(p.Style)))
	El("html", Attr("lang", "en"), El("head", head...), El("body", p.Body...))(root)
	return html.Render(w, root)
}

func add(parent *html.Node, nodes []Node) {
	for _, node := range nodes {
		node(parent)
	}
}
