package upstream

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpgen/mcpgen/gen/ident"
)

// maxOmitted is the maximum number of texts about omitted entries of a list.
const maxOmitted = 20

// ErrUnknownTool is returned for a tool that the server does not list.
var ErrUnknownTool = errors.New("the server does not list such a tool")

// toolList holds the tools of a server as it last listed them.
type toolList struct {
	all       []json.RawMessage
	byName    map[string]json.RawMessage // the first tool of each name
	concealed sync.Map                   // requested definitions by name, as Definition returns them

	changes int64     // how many changes the server had announced
	until   time.Time // zero: valid as long as the session lasts
}

// ListTools returns the definitions of all tools, byte for byte as the server sent them and in its order; only invalid
// UTF-8 is replaced by U+FFFD. Entries that are null are left out. Over HTTP, so are tools with invalid x-mcp-header
// annotations; see [Session.Omitted]. Nothing else is checked: names may repeat and schemas may be missing.
//
// Errors: a *ProtocolError for an answer that is not a list, a repeated cursor, or more than [MaxPages], [MaxTools] or
// [MaxListBytes]; a *ConnectionError; the context's error.
func (s *Session) ListTools(ctx context.Context) ([]json.RawMessage, error) {
	list, err := s.toolList(ctx, true)
	if err != nil {
		return nil, err
	}
	return list.all, nil
}

// Definition returns a tool's definition as the server lists it, byte for byte except for secrets, which
// [Session.ConcealIn] removes as it does for the generated tree. If a name repeats, the first one counts. The tools
// are listed once per session, and again when the server announces a change. If it cannot announce changes, they are
// listed again when the list is too old.
//
// Errors: [ErrUnknownTool], and those of [Session.ListTools].
func (s *Session) Definition(ctx context.Context, tool string) (json.RawMessage, error) {
	s.subscribe()
	list, err := s.toolList(ctx, false)
	if err != nil {
		return nil, err
	}
	if known, ok := list.concealed.Load(tool); ok {
		return known.(json.RawMessage), nil
	}
	raw, ok := list.byName[tool]
	if !ok {
		return nil, fmt.Errorf("look up %q at server %q: %w", ident.Printable(tool, 200), s.errs.server, ErrUnknownTool)
	}
	raw = s.ConcealIn(raw)
	list.concealed.Store(tool, raw)
	return raw, nil
}

// toolList returns the tools: the known ones, unless they are too old or refresh is set.
func (s *Session) toolList(ctx context.Context, refresh bool) (*toolList, error) {
	Waits(ctx, WaitList)
	defer Waits(ctx, WaitAnswer)
	select {
	case s.listing <- struct{}{}:
		defer func() { <-s.listing }()
	case <-ctx.Done():
		return nil, interrupted(ctx, fmt.Sprintf("list the tools of %q", s.errs.server))
	}
	changes := s.conn.changes.Load()
	if l := s.tools; l != nil && !refresh && l.changes == changes && (l.until.IsZero() || time.Now().Before(l.until)) {
		return l, nil
	}
	tools, ttl, err := s.listTools(ctx)
	if err != nil {
		return nil, err
	}
	s.listed.Store(true)
	l := &toolList{all: tools, byName: make(map[string]json.RawMessage, len(tools)), changes: changes}
	for _, tool := range tools {
		if name := toolName(tool); l.byName[name] == nil {
			l.byName[name] = tool
		}
	}
	if s.modern() || s.http != nil { // over pipes and in the older era the server announces changes itself
		l.until = time.Now().Add(max(ttl, minListAge))
	}
	s.tools = l
	return l, nil
}

// listTools lists the tools, and returns how long the list may be kept.
func (s *Session) listTools(ctx context.Context) ([]json.RawMessage, time.Duration, error) {
	s.omitted.Store(nil)
	headers := s.http != nil && s.modern()
	l := listing{what: "tools", method: methodListTools, member: "tools"}
	return s.pages(ctx, l, func(ctx context.Context, number, before int, cursor *string) (page, error) {
		var kept []*mcp.Tool
		// The SDK stores the tools with headers by cursor; the rawConn sends the real cursor.
		l.send = func(ctx context.Context) error {
			res, err := s.sdk.ListTools(ctx, &mcp.ListToolsParams{Cursor: "page " + strconv.Itoa(number)})
			if err == nil {
				kept = res.Tools
			}
			return err
		}
		p, err := s.page(ctx, l, &capture{headers: headers}, cursor)
		if err != nil {
			return page{}, err
		}
		tools := p.items[:0]
		for i, tool := range p.items {
			switch {
			case string(tool) == "null":
				s.omit("entry %d of its list of tools is null; it was left out", before+i+1)
			case headers && hasHeaders(tool) && !keeps(kept, tool):
				s.omit("tool %q has x-mcp-header annotations that are not allowed; it was left out", ident.Printable(toolName(tool), 200))
			default:
				tools = append(tools, tool)
			}
		}
		p.items = tools
		return p, nil
	})
}

// Omitted returns one text, without secrets, for each entry that the last list of tools left out.
func (s *Session) Omitted() []string {
	if list := s.omitted.Load(); list != nil {
		return *list
	}
	return nil
}

func (s *Session) omit(format string, args ...any) {
	text := s.errs.secret.Clean(fmt.Sprintf(format, args...))
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

// keeps reports whether the SDK kept the tool.
func keeps(kept []*mcp.Tool, tool json.RawMessage) bool {
	name := toolName(tool)
	return slices.ContainsFunc(kept, func(t *mcp.Tool) bool { return t.Name == name })
}

// toolName returns the name in a definition, or "" if there is none.
func toolName(tool json.RawMessage) string {
	var t struct {
		Name string `json:"name"`
	}
	_ = json.Unmarshal(tool, &t)
	return t.Name
}
