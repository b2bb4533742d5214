package upstream

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"unicode"
)

const (
	maxQuestionText = 16 << 10 // of its message, in bytes
	maxQuestionURL  = 4 << 10
)

// ask puts one question of a request and returns the ElicitResult. Whatever cannot be asked is declined.
func (d *desk) ask(ctx context.Context, fl *flight, params json.RawMessage) json.RawMessage {
	fl.turn.Lock()
	defer fl.turn.Unlock()
	reply, err := d.put(ctx, fl, params)
	if err != nil {
		d.log.Info("the server asked for input from a person; declined", "reason", err)
		fl.unasked(fmt.Sprintf("a question of the server was declined: %v", err))
		reply = &Reply{Action: ActionDecline}
	}
	return answerOf(reply)
}

// unasked tells whose question it was why nobody answered it. Who gives no Elicit knows.
func (fl *flight) unasked(reason string) {
	if fl.opt.Unasked != nil && fl.opt.Elicit != nil && fl.ctx.Err() == nil {
		fl.opt.Unasked(reason)
	}
}

func (d *desk) put(ctx context.Context, fl *flight, params json.RawMessage) (*Reply, error) {
	if fl.opt.Elicit == nil {
		return nil, errNobody
	}
	if fl.asked++; fl.asked > maxAsked {
		return nil, fmt.Errorf("it asked more than %d questions for one call", maxAsked)
	}
	q, err := d.question(params)
	if err != nil {
		return nil, err
	}
	reply, err := fl.opt.Elicit(ctx, q)
	if err != nil || reply == nil {
		return &Reply{Action: ActionCancel}, nil
	}
	switch reply.Action {
	case ActionDecline:
		return &Reply{Action: ActionDecline}, nil
	case ActionAccept:
		if q.URL != "" {
			return &Reply{Action: ActionAccept}, nil
		}
		content, err := q.Check(reply.Content)
		if err != nil {
			d.log.Warn("the answer to a question of the server does not fit its form; it was not sent", "err", err)
			fl.unasked(fmt.Sprintf("the answer to a question of the server was not sent: it does not fit the form: %v", err))
			return &Reply{Action: ActionCancel}, nil
		}
		return &Reply{Action: ActionAccept, Content: content}, nil
	}
	return &Reply{Action: ActionCancel}, nil
}

// answerOf is the ElicitResult of a reply.
func answerOf(r *Reply) json.RawMessage {
	out := `{"action":"` + r.Action + `"`
	if r.Content != nil {
		out += `,"content":` + string(r.Content)
	}
	return json.RawMessage(out + "}")
}

// asked are the parameters of elicitation/create.
type asked struct {
	Mode    string          `json:"mode"`
	Message string          `json:"message"`
	Schema  json.RawMessage `json:"requestedSchema"`
	URL     string          `json:"url"`
	ID      string          `json:"elicitationId"`
}

// question reads what a server asks. The error says why nobody is to be asked that.
func (d *desk) question(params json.RawMessage) (*Question, error) {
	var a asked
	if json.Unmarshal(params, &a) != nil {
		return nil, errors.New("its question cannot be read")
	}
	q := &Question{Server: d.server, Message: cut(a.Message, maxQuestionText)}
	switch a.Mode {
	case "", "form":
		fields, err := readForm(a.Schema)
		if err != nil {
			return nil, fmt.Errorf("its form: %w", err)
		}
		q.Schema, q.Fields = a.Schema, fields
	case "url":
		if err := checkPage(a.URL); err != nil {
			return nil, err
		}
		q.URL = a.URL
	default:
		return nil, fmt.Errorf("it asks in the mode %q, which this client does not know", printable(a.Mode, 100))
	}
	return q, nil
}

// checkPage refuses an address that no person should be shown.
func checkPage(address string) error {
	hidden := func(r rune) bool { return !unicode.IsPrint(r) || r == ' ' }
	u, err := url.Parse(address)
	switch {
	case len(address) > maxQuestionURL:
		return errors.New("the address that a person is to visit is too long")
	case err != nil || strings.ContainsFunc(address, hidden):
		return errors.New("the address that a person is to visit cannot be read")
	case u.Scheme != "https" && u.Scheme != "http", u.Hostname() == "":
		return errors.New("a person is to visit an address that is no web page")
	case u.User != nil:
		return errors.New("the address that a person is to visit hides its host behind a user name")
	}
	return nil
}
