package term

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/url"
	"slices"
	"strings"

	"github.com/mcpgen/mcpgen/cmd/internal/cli"
	"github.com/mcpgen/mcpgen/gen/upstream"
)

// Limits for texts of a server, in characters.
const (
	MaxShown = 2000 // of its message
	maxLabel = 200  // of a title or description
	// maxChoices is the maximum number of a field's choices that are listed; the others can be typed.
	maxChoices = 100
)

// dialogue asks one question at a terminal.
type dialogue struct {
	w     io.Writer
	in    *cli.Input
	style cli.Style
	open  func(ctx context.Context, address string) bool // a browser
}

func (d *dialogue) say(format string, args ...any) { _, _ = fmt.Fprintf(d.w, format, args...) }

// asker names who asks: a server, the script, or mcprun itself.
func asker(q *upstream.Question) string {
	switch {
	case q.Own:
		return cli.EscapeLine(q.Server)
	case q.Server == "":
		return "script"
	}
	return "server " + cli.EscapeLine(q.Server)
}

// head prints the server and its message.
func (d *dialogue) head(q *upstream.Question) {
	d.say("%s\n", d.style.Bold("The "+asker(q)+" asks:"))
	for line := range strings.Lines(cli.Shorten(strings.TrimSpace(q.Message), MaxShown)) {
		d.say("  %s\n", cli.EscapeLine(strings.TrimRight(line, "\r\n")))
	}
}

// pick asks until it gets one of the words, or the first letter of one. If several words begin with that letter, it returns the
// first. An empty line means the first word.
func (d *dialogue) pick(ctx context.Context, words ...string) (string, error) {
	shown := make([]string, len(words))
	for i, w := range words {
		if shown[i] = "[" + w[:1] + "]" + w[1:]; slices.ContainsFunc(words[:i], func(before string) bool { return before[:1] == w[:1] }) {
			shown[i] = w
		}
	}
	shown[0] = strings.ToUpper(shown[0][:3]) + shown[0][3:]
	for {
		d.say("%s: ", strings.Join(shown, ", "))
		line, err := d.in.Line(ctx)
		if err != nil {
			return "", err
		}
		line = strings.ToLower(strings.TrimSpace(line))
		if line == "" {
			return words[0], nil
		}
		for _, w := range words {
			if line == w || line == w[:1] {
				return w, nil
			}
		}
	}
}

// visit asks whether to open a page that a server wants the person to visit. Without consent, nothing is fetched and no browser is opened.
func (d *dialogue) visit(ctx context.Context, q *upstream.Question) (*upstream.Reply, error) {
	d.head(q)
	u, err := url.Parse(q.URL)
	if err != nil || u.Scheme != "https" && u.Scheme != "http" || u.Host == "" {
		d.say("It wants you to visit a page, but its address is not http or https: declined.\n  %s\n", cli.EscapeLine(q.URL))
		return &upstream.Reply{Action: upstream.ActionDecline}, nil
	}
	d.say("It wants you to visit this page of %s:\n  %s\n", d.style.Bold(cli.EscapeLine(u.Host)), cli.EscapeLine(q.URL))
	if u.Scheme == "http" {
		d.say("%s the connection is not encrypted.\n", d.style.Yellow("Warning:"))
	}
	if strings.Contains("."+u.Hostname(), ".xn--") || strings.ContainsFunc(u.Host, func(r rune) bool { return r > 0x7e }) {
		d.say("%s its name is not plain ASCII, and may look like another's.\n", d.style.Yellow("Warning:"))
	}
	d.say("Open it in the browser, visit it yourself, or decline?\n")
	word, err := d.pick(ctx, "decline", "open", "visited")
	switch {
	case err != nil:
		return nil, err
	case word == "decline":
		return &upstream.Reply{Action: upstream.ActionDecline}, nil
	case word == "open" && !d.open(ctx, q.URL):
		d.say("There is no browser here. Visit the page on any machine, then press Enter; Ctrl-D cancels.\n")
		if _, err := d.in.Line(ctx); err != nil {
			return nil, err
		}
	}
	return &upstream.Reply{Action: upstream.ActionAccept}, nil
}

// form asks for each field of a form, and for consent before anything is sent.
func (d *dialogue) form(ctx context.Context, q *upstream.Question) (*upstream.Reply, error) {
	d.head(q)
	switch {
	case q.Own:
		d.say("%s\n", d.style.Dim("What you answer is filled in. Ctrl-D cancels."))
	case q.Server == "":
		d.say("%s\n", d.style.Dim("What you answer goes to the script. Give it no passwords or keys. Ctrl-D cancels."))
	default:
		d.say("%s\n", d.style.Dim("What you answer goes to that server. Give it no passwords or keys. Ctrl-D cancels."))
	}
	word, err := d.pick(ctx, "answer", "decline")
	if err != nil {
		return nil, err
	}
	if word == "decline" {
		return &upstream.Reply{Action: upstream.ActionDecline}, nil
	}
	for {
		filled, err := d.fill(ctx, q.Fields)
		if err != nil {
			return nil, err
		}
		took := "send"
		if q.Own {
			took = "fill in"
			d.say("To be filled in: %s\n", cli.EscapeLine(string(filled)))
		} else {
			d.say("To be sent to %s: %s\n", cli.EscapeLine(cmp.Or(q.Server, "the script")), cli.EscapeLine(string(filled)))
		}
		word, err := d.pick(ctx, took, "change", "decline")
		switch {
		case err != nil:
			return nil, err
		case word == took:
			return &upstream.Reply{Action: upstream.ActionAccept, Content: filled}, nil
		case word == "decline":
			return &upstream.Reply{Action: upstream.ActionDecline}, nil
		}
	}
}

// fill asks for the fields in order. Fields without an answer are not in the object.
func (d *dialogue) fill(ctx context.Context, fields []upstream.Field) (json.RawMessage, error) {
	var b strings.Builder
	for i := range fields {
		f := field{&fields[i]}
		value, err := d.fieldValue(ctx, f)
		if err != nil {
			return nil, err
		}
		if value == nil {
			continue
		}
		if b.Len() > 0 {
			b.WriteString(", ")
		}
		b.Write(AsText(f.Name))
		b.WriteString(": ")
		b.Write(value)
	}
	return json.RawMessage("{" + b.String() + "}"), nil
}

// fieldValue asks until the answer is valid. It returns nil for an optional field without an answer.
func (d *dialogue) fieldValue(ctx context.Context, f field) (json.RawMessage, error) {
	d.say("\n%s%s\n", d.style.Bold(cli.EscapeLine(cli.Shorten(f.label(), maxLabel))), d.style.Dim("  "+cli.EscapeLine(cli.Shorten(f.kindWords(), maxLabel))))
	if f.Description != "" {
		d.say("  %s\n", cli.EscapeLine(cli.Shorten(f.Description, maxLabel)))
	}
	for i, c := range f.Choices {
		if i == maxChoices {
			d.say("  … and %d more\n", len(f.Choices)-maxChoices)
			break
		}
		d.say("  %d  %s\n", i+1, cli.EscapeLine(cli.Shorten(titled(c.Title, c.Value), maxLabel)))
	}
	for {
		d.say("%s ", d.style.Cyan(">"))
		line, err := d.in.Line(ctx)
		if err != nil {
			return nil, err
		}
		if strings.TrimSpace(line) == "" {
			if value, ok := f.untyped(); ok {
				return value, nil
			}
			d.say("It is required.\n")
			continue
		}
		value, err := f.read(line)
		if err == nil {
			return value, nil
		}
		d.say("%s\n", cli.EscapeLine(cli.Shorten(err.Error(), maxLabel)))
	}
}
