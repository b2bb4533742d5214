package upstream

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

var errListTimeout = errors.New("the server did not list its tools in time")

// ListTools returns the definitions of all tools, byte for byte as the server sent them and in its order; bytes that are
// no UTF-8 have become U+FFFD. Entries that
// are null are left out, and so, over HTTP, are tools whose x-mcp-header annotations are not allowed; see [Session.Omitted].
// Nothing else is judged: names may repeat and schemas may be missing.
//
// Errors: a *ProtocolError for an answer that is not a list, a repeated cursor, or more than [MaxPages], [MaxTools] or
// [MaxListBytes]; a *ConnectionError; the context's error.
func (s *Session) ListTools(ctx context.Context) ([]json.RawMessage, error) {
	tools, err := s.listTools(ctx)
	if err == nil {
		s.listMu.Lock()
		s.listed = true
		s.listMu.Unlock()
	}
	return tools, err
}

func (s *Session) listTools(ctx context.Context) ([]json.RawMessage, error) {
	limit := s.opts.ListTimeout
	ctx, cancel := context.WithTimeoutCause(ctx, limit, fmt.Errorf("%w (%s)", errListTimeout, limit))
	defer cancel()
	var (
		tools  []json.RawMessage
		cursor *string
		size   int
	)
	seen := make(map[string]bool)
	s.omitted.Store(nil)
	for page := range MaxPages {
		batch, next, err := s.listPage(ctx, page, len(tools), cursor)
		if err != nil {
			return nil, err
		}
		for _, tool := range batch {
			size += len(tool)
		}
		tools = append(tools, batch...)
		switch {
		case len(tools) > MaxTools:
			return nil, s.listError("it has more than %d tools", MaxTools)
		case size > MaxListBytes:
			return nil, s.listError("its tools take more than %d MiB", MaxListBytes>>20)
		case next == nil:
			return tools, nil
		case seen[*next]:
			return nil, s.listError("it gave the cursor %q a second time, which would never end", printable(*next, 100))
		}
		seen[*next] = true
		cursor = next
	}
	return nil, s.listError("it has more than %d pages", MaxPages)
}

func (s *Session) listError(format string, args ...any) error {
	return fmt.Errorf("list tools: %w", s.why.badAnswer(format, args...))
}

// maxOmitted bounds what is said of entries that were left out.
const maxOmitted = 20

// Omitted says what the last ListTools left out, and why: one text each, without secrets.
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

// listPage asks for one page. The cursor that follows is nil on the last page; an empty one is as good as any other.
func (s *Session) listPage(ctx context.Context, page, before int, cursor *string) ([]json.RawMessage, *string, error) {
	c := &capture{cursor: cursor, headers: s.guard != nil && s.modern()}
	defer c.release()
	up, cancel := s.whileUp(ctx)
	defer cancel()
	// The SDK keeps the tools with headers by cursor; the tap puts the real cursor in its place.
	res, err := s.sdk.ListTools(withCapture(up, c), &mcp.ListToolsParams{Cursor: "page " + strconv.Itoa(page)})
	if err != nil {
		return nil, nil, s.fail(ctx, c, "list tools", err)
	}
	tools, next, err := parsePage(c.raw)
	if err != nil {
		return nil, nil, s.listError("%v", err)
	}
	kept := tools[:0]
	for i, tool := range tools {
		switch {
		case string(tool) == "null":
			s.omit("entry %d of its list of tools is null; it was left out", before+i+1)
		case c.headers && hasHeaders(tool) && !knows(res.Tools, tool):
			s.omit("tool %q has x-mcp-header annotations that are not allowed; it was left out", printable(toolName(tool), 200))
		default:
			kept = append(kept, tool)
		}
	}
	return kept, next, nil
}

// parsePage reads a tools/list result.
func parsePage(raw json.RawMessage) (tools []json.RawMessage, next *string, err error) {
	var page map[string]json.RawMessage // a map: the names of its keys count exactly
	if err := json.Unmarshal(raw, &page); err != nil || page == nil {
		return nil, nil, errors.New("its answer to tools/list is not an object")
	}
	if list := page["tools"]; list != nil {
		if err := json.Unmarshal(list, &tools); err != nil {
			return nil, nil, errors.New(`"tools" in its answer is not a list`)
		}
	}
	if cursor := page["nextCursor"]; cursor != nil {
		if err := json.Unmarshal(cursor, &next); err != nil {
			return nil, nil, errors.New(`"nextCursor" in its answer is not a string`)
		}
	}
	for i := range tools {
		tools[i] = bytes.ToValidUTF8(bytes.TrimSpace(tools[i]), []byte("\uFFFD")) // JSON is UTF-8, servers are not always
	}
	return tools, next, nil
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
