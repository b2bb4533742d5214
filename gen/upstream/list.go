package upstream

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// ErrListTimeout is in the error of a list of tools that took longer than [Options.ListTimeout].
var ErrListTimeout = errors.New("the server did not list its tools in time")

// listing is one of the lists that a server has, page by page.
type listing struct {
	what   string // in words
	method string
	member string // of the result
	// send asks for a page through the SDK. The cursor is set in the message itself.
	send func(ctx context.Context) error
}

// page is one page of a list.
type page struct {
	items []json.RawMessage
	next  *string // the cursor that follows; nil on the last page; an empty one is as good as any other
	ttl   time.Duration
}

// ListTools returns the definitions of all tools, byte for byte as the server sent them and in its order; bytes that are
// no UTF-8 have become U+FFFD. Entries that
// are null are left out, and so, over HTTP, are tools whose x-mcp-header annotations are not allowed; see [Session.Omitted].
// Nothing else is judged: names may repeat and schemas may be missing.
//
// Errors: a *ProtocolError for an answer that is not a list, a repeated cursor, or more than [MaxPages], [MaxTools] or
// [MaxListBytes]; a *ConnectionError; the context's error.
func (s *Session) ListTools(ctx context.Context) ([]json.RawMessage, error) {
	list, err := s.definitions(ctx, true)
	if err != nil {
		return nil, err
	}
	return list.all, nil
}

// listTools lists the tools, and says how long the list may be kept.
func (s *Session) listTools(ctx context.Context) ([]json.RawMessage, time.Duration, error) {
	s.omitted.Store(nil)
	headers := s.guard != nil && s.modern()
	l := listing{what: "tools", method: methodListTools, member: "tools"}
	return s.pages(ctx, l, func(ctx context.Context, number, before int, cursor *string) (page, error) {
		c := &capture{headers: headers}
		var kept []*mcp.Tool
		// The SDK keeps the tools with headers by cursor; the tap puts the real cursor in its place.
		l.send = func(ctx context.Context) error {
			res, err := s.sdk.ListTools(ctx, &mcp.ListToolsParams{Cursor: "page " + strconv.Itoa(number)})
			if err == nil {
				kept = res.Tools
			}
			return err
		}
		p, err := s.listPage(ctx, l, c, cursor)
		if err != nil {
			return page{}, err
		}
		tools := p.items[:0]
		for i, tool := range p.items {
			switch {
			case string(tool) == "null":
				s.omit("entry %d of its list of tools is null; it was left out", before+i+1)
			case headers && hasHeaders(tool) && !knows(kept, tool):
				s.omit("tool %q has x-mcp-header annotations that are not allowed; it was left out", printable(toolName(tool), 200))
			default:
				tools = append(tools, tool)
			}
		}
		p.items = tools
		return p, nil
	})
}

// listAll lists what is no tool.
func (s *Session) listAll(ctx context.Context, l listing) ([]json.RawMessage, error) {
	all, _, err := s.pages(ctx, l, func(ctx context.Context, _, _ int, cursor *string) (page, error) {
		p, err := s.listPage(ctx, l, &capture{}, cursor)
		p.items = slices.DeleteFunc(p.items, func(item json.RawMessage) bool { return string(item) == "null" })
		return p, err
	})
	return all, err
}

// pages goes through all pages of a list, within the bounds that hold for any. get gets one: its number, how many items
// came before, and its cursor.
func (s *Session) pages(ctx context.Context, l listing, get func(ctx context.Context, number, before int, cursor *string) (page, error)) ([]json.RawMessage, time.Duration, error) {
	limit := s.opts.ListTimeout
	late := ErrListTimeout
	if l.method != methodListTools {
		late = fmt.Errorf("the server did not list its %s in time", l.what)
	}
	ctx, cancel := context.WithTimeoutCause(ctx, limit, fmt.Errorf("%w (%s)", late, limit))
	defer cancel()
	var (
		all    = []json.RawMessage{}
		cursor *string
		size   int
		ttl    time.Duration
	)
	seen := make(map[string]bool)
	for number := range MaxPages {
		p, err := get(ctx, number, len(all), cursor)
		if err != nil {
			return nil, 0, err
		}
		for _, item := range p.items {
			size += len(item)
		}
		all = append(all, p.items...)
		if number == 0 || p.ttl < ttl {
			ttl = p.ttl
		}
		switch {
		case len(all) > MaxTools:
			return nil, 0, s.listError(l, "it has more than %d %s", MaxTools, l.what)
		case size > MaxListBytes:
			return nil, 0, s.listError(l, "its %s take more than %d MiB", l.what, MaxListBytes>>20)
		case p.next == nil:
			return all, ttl, nil
		case seen[*p.next]:
			return nil, 0, s.listError(l, "it gave the cursor %q a second time, which would never end", printable(*p.next, 100))
		}
		seen[*p.next] = true
		cursor = p.next
	}
	return nil, 0, s.listError(l, "it has more than %d pages", MaxPages)
}

func (s *Session) listError(l listing, format string, args ...any) error {
	return fmt.Errorf("list %s: %w", l.what, s.why.badAnswer(format, args...))
}

// maxOmitted bounds what is said of entries that were left out.
const maxOmitted = 20

// Omitted says what the last list of tools left out, and why: one text each, without secrets.
func (s *Session) Omitted() []string {
	if list := s.omitted.Load(); list != nil {
		return *list
	}
	return nil
}

func (s *Session) omit(format string, args ...any) {
	text := s.why.secret.clean(fmt.Sprintf(format, args...))
	s.log.Warn(text)
	list := slices.Clone(s.Omitted())
	switch {
	case len(list) < maxOmitted:
		list = append(list, text)
	case len(list) == maxOmitted:
		list = append(list, "further entries of its list were left out")
	}
	s.omitted.Store(&list)
}

// listPage asks for one page.
func (s *Session) listPage(ctx context.Context, l listing, c *capture, cursor *string) (page, error) {
	defer c.release()
	up, cancel := s.whileUp(ctx)
	defer cancel()
	c.set = map[string]json.RawMessage{"cursor": nil}
	if cursor != nil {
		text, err := json.Marshal(*cursor)
		if err != nil {
			return page{}, fmt.Errorf("list %s: %w", l.what, err)
		}
		c.set["cursor"] = text
	}
	if err := l.send(withCapture(up, c)); err != nil {
		return page{}, s.fail(ctx, c, "list "+l.what, err)
	}
	p, err := parsePage(c.raw, l)
	if err != nil {
		return page{}, s.listError(l, "%v", err)
	}
	return p, nil
}

// parsePage reads the result of a listing.
func parsePage(raw json.RawMessage, l listing) (p page, err error) {
	var fields map[string]json.RawMessage // a map: the names of its keys count exactly
	if err := json.Unmarshal(raw, &fields); err != nil || fields == nil {
		return page{}, fmt.Errorf("its answer to %s is not an object", l.method)
	}
	if list := fields[l.member]; list != nil {
		if err := json.Unmarshal(list, &p.items); err != nil {
			return page{}, fmt.Errorf("%q in its answer is not a list", l.member)
		}
	}
	if cursor := fields["nextCursor"]; cursor != nil {
		if err := json.Unmarshal(cursor, &p.next); err != nil {
			return page{}, errors.New(`"nextCursor" in its answer is not a string`)
		}
	}
	var ms float64
	if text := fields["ttlMs"]; text != nil && json.Unmarshal(text, &ms) == nil { // what is no number is no promise
		p.ttl = time.Duration(min(max(ms, 0), float64(maxDefinitionAge/time.Millisecond))) * time.Millisecond
	}
	for i := range p.items {
		p.items[i] = bytes.ToValidUTF8(bytes.TrimSpace(p.items[i]), []byte("\uFFFD")) // JSON is UTF-8, servers are not always
	}
	return p, nil
}

// knows reports whether the SDK kept the tool.
func knows(kept []*mcp.Tool, tool json.RawMessage) bool {
	name := toolName(tool)
	for _, t := range kept {
		if t.Name == name {
			return true
		}
	}
	return false
}

func toolName(tool json.RawMessage) string {
	var t struct {
		Name string `json:"name"`
	}
	_ = json.Unmarshal(tool, &t) // no name is a name too
	return t.Name
}
