// Package elicit holds the questions that MCP servers ask a person (MCP 2025-11-25, client/elicitation), and checks
// what a person answers. Nothing here talks to a server or to a person.
//
// A question is hostile text. Its form is accepted only as a flat object of primitive properties: schemas that refer,
// combine or nest are refused before anybody evaluates them.
package elicit

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"unicode"

	"github.com/mcpgen/mcpgen/gen/ident"
)

const (
	maxMessage = 16 << 10 // bytes
	maxURL     = 4 << 10  // bytes
)

// Question is what a server asks a person. All of it is hostile text; the schema of a form was checked.
type Question struct {
	// Server is the configured server that asks.
	Server string
	// Own reports that the program itself asks, in the name of Server.
	Own     bool
	Message string
	// Schema is the schema of the form; nil in URL mode.
	Schema json.RawMessage
	// Fields are the fields of the form, in its order; see [Question.Check] for what may be filled in.
	Fields []Field
	// URL is the page that the person is asked to visit, http or https; empty for a form. Nothing may be fetched from it
	// without the person's consent.
	URL string
}

// Actions of a Reply.
const (
	ActionAccept  = "accept"
	ActionDecline = "decline"
	ActionCancel  = "cancel"
)

// Reply is a person's answer.
type Reply struct {
	Action string
	// Content is the filled-in form, an object that fits the schema; nil unless accepted. A missing field gets its
	// default. Content that does not fit is not sent: the question then counts as cancelled.
	Content json.RawMessage
}

// Result returns the ElicitResult of the reply.
func (r *Reply) Result() json.RawMessage {
	out := `{"action":"` + r.Action + `"`
	if r.Content != nil {
		out += `,"content":` + string(r.Content)
	}
	return json.RawMessage(out + "}")
}

// Params are the parameters of an elicitation/create request.
type Params struct {
	Mode    string          `json:"mode"`
	Message string          `json:"message"`
	Schema  json.RawMessage `json:"requestedSchema"`
	URL     string          `json:"url"`
	ID      string          `json:"elicitationId"`
}

// Parse reads the question of a server. The error gives the reason why the question must not be shown to anybody.
func Parse(server string, params json.RawMessage) (*Question, error) {
	var p Params
	if json.Unmarshal(params, &p) != nil {
		return nil, errors.New("its question cannot be read")
	}
	q := &Question{Server: server, Message: ident.Clip(p.Message, maxMessage)}
	switch p.Mode {
	case "", "form":
		fields, err := readForm(p.Schema)
		if err != nil {
			return nil, fmt.Errorf("its form: %w", err)
		}
		q.Schema, q.Fields = p.Schema, fields
	case "url":
		if err := checkURL(p.URL); err != nil {
			return nil, err
		}
		q.URL = p.URL
	default:
		return nil, fmt.Errorf("it asks in the mode %q, which this client does not know", ident.Printable(p.Mode, 100))
	}
	return q, nil
}

// checkURL rejects an address that must not be shown to a person.
func checkURL(address string) error {
	hidden := func(r rune) bool { return !unicode.IsPrint(r) || r == ' ' }
	u, err := url.Parse(address)
	switch {
	case len(address) > maxURL:
		return errors.New("the address to visit is too long")
	case err != nil || strings.ContainsFunc(address, hidden):
		return errors.New("the address to visit cannot be read")
	case u.Scheme != "https" && u.Scheme != "http", u.Hostname() == "":
		return errors.New("the address to visit is not a web page")
	case u.User != nil:
		return errors.New("the address to visit hides its host behind a user name")
	}
	return nil
}
