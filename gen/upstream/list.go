package upstream

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/mcpgen/mcpgen/gen/config"
	"github.com/mcpgen/mcpgen/gen/ident"
)

// ErrListTimeout is matched by the error of a list of tools that took longer than [Options.ListTimeout].
var ErrListTimeout = errors.New("the server did not list its tools in time")

// minListAge and maxListAge bound how long a list of tools is kept if the server may change it without a
// notification; between them the server's ttlMs counts.
const (
	minListAge = time.Minute
	maxListAge = time.Hour
)

// listing is one of the lists of a server.
type listing struct {
	what   string // for errors
	method string
	member string // of the result
	// send asks for a page through the SDK. The cursor is set in the message itself.
	send func(ctx context.Context) error
}

// page is one page of a list.
type page struct {
	items []json.RawMessage
	next  *string // the next cursor; nil on the last page; an empty cursor is valid
	ttl   time.Duration
}

// listAll lists anything but tools.
func (s *Session) listAll(ctx context.Context, l listing) ([]json.RawMessage, error) {
	all, _, err := s.pages(ctx, l, func(ctx context.Context, _, _ int, cursor *string) (page, error) {
		p, err := s.page(ctx, l, &capture{}, cursor)
		p.items = slices.DeleteFunc(p.items, func(item json.RawMessage) bool { return string(item) == "null" })
		return p, err
	})
	return all, err
}

// pages gets all pages of a list, within the bounds that hold for every list. get gets one page, given its number, the
// number of items before it, and its cursor.
func (s *Session) pages(ctx context.Context, l listing, get func(ctx context.Context, number, before int, cursor *string) (page, error)) ([]json.RawMessage, time.Duration, error) {
	limit := s.opts.ListTimeout
	late := ErrListTimeout
	if l.method != methodListTools {
		late = fmt.Errorf("the server did not list its %s in time", l.what)
	}
	ctx, cancel := context.WithTimeoutCause(ctx, limit, fmt.Errorf("%w (%s)", late, config.FormatDuration(limit)))
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
			return nil, 0, s.listError(l, "it gave the cursor %q a second time, which would never end", ident.Printable(*p.next, 100))
		}
		seen[*p.next] = true
		cursor = p.next
	}
	return nil, 0, s.listError(l, "it has more than %d pages", MaxPages)
}

func (s *Session) listError(l listing, format string, args ...any) error {
	return fmt.Errorf("list %s: %w", l.what, s.errs.badAnswer(format, args...))
}

// page asks for one page.
func (s *Session) page(ctx context.Context, l listing, c *capture, cursor *string) (page, error) {
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
	var fields map[string]json.RawMessage // a map, because struct fields match names without regard to case
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
	if text := fields["ttlMs"]; text != nil && json.Unmarshal(text, &ms) == nil { // anything but a number counts as none
		p.ttl = time.Duration(min(max(ms, 0), float64(maxListAge/time.Millisecond))) * time.Millisecond
	}
	for i := range p.items {
		p.items[i] = bytes.ToValidUTF8(bytes.TrimSpace(p.items[i]), []byte("\uFFFD")) // servers do not always send UTF-8
	}
	return p, nil
}
