package model

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/mcpgen/mcpgen/gen/endpoint"
)

// reading is an answer that is being read.
type reading struct {
	Response
	text  strings.Builder
	ended bool
	said  func(text string)
	quote func(text string) string
}

// say adds a part of a stream.
func (a *reading) say(text string) {
	if text != "" {
		a.text.WriteString(text)
		a.said(text)
	}
}

// failed is what the service says of a failure instead of an answer. Those that may pass are [overloaded].
func (a *reading) failed(kind, message string) error {
	err := fmt.Errorf("it answered with an error: %s", a.quote(strings.TrimSpace(kind+" "+message)))
	for _, word := range []string{"overloaded", "rate_limit", "server_error", "api_error", "timeout"} {
		if strings.Contains(kind, word) {
			return &overloaded{err}
		}
	}
	return err
}

// whole reads an answer that was not streamed.
func (a *reading) whole(body io.Reader, p protocol) error {
	data, err := io.ReadAll(body)
	if err != nil {
		return err
	}
	if err := p.answer(data, a); err != nil {
		return err
	}
	if a.Stop == "" {
		return a.malformed(data, errors.New("it does not say why it ends"))
	}
	return nil
}

// malformed adds the beginning of an answer to an error of reading it.
func (a *reading) malformed(data []byte, err error) error {
	return fmt.Errorf("the answer is not what this provider sends (%w): %s", err, a.quote(string(data)))
}

// stream reads server-sent events (HTML, section 9.2.6). Each has one line of data.
func (a *reading) stream(body io.Reader, p protocol) error {
	lines := bufio.NewScanner(body)
	lines.Buffer(nil, endpoint.MaxAnswer)
	for !a.ended && lines.Scan() && lines.Err() == nil { // the last line may be cut off by an error
		data, ok := bytes.CutPrefix(lines.Bytes(), []byte("data:"))
		if data = bytes.TrimSpace(data); !ok || len(data) == 0 {
			continue
		}
		if string(data) == "[DONE]" {
			break
		}
		if err := p.event(data, a); err != nil {
			return err
		}
	}
	if err := lines.Err(); err != nil {
		return err
	}
	if a.Stop == "" {
		return &overloaded{errors.New("the stream of the answer broke off")}
	}
	return nil
}
