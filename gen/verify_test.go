package gen

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/mcpgen/mcpgen/gen/catalog"
	"github.com/mcpgen/mcpgen/gen/config"
	"github.com/mcpgen/mcpgen/gen/verify"
)

// verifiedWith renders two servers with a checker that rejects what bad rejects.
func verifiedWith(t *testing.T, bad func(language *Language, want verify.Wrapper, functions []string) error) (*job, *catalog.Catalog, []string, error) {
	t.Helper()
	var servers []catalog.Server
	s := &job{config: &config.Config{}, report: &Report{}}
	s.config.Settings.Languages = []config.Language{config.TypeScript, config.Python}
	for key, names := range map[string][]string{"a": {"one", "two", "three"}, "b": {"four", "five"}} {
		var definitions []json.RawMessage
		for _, name := range names {
			definitions = append(definitions, json.RawMessage(tool(name, "Words.")))
		}
		server, _ := catalog.NewServer(key, "", "", definitions)
		servers = append(servers, server)
		s.report.Servers = append(s.report.Servers, ServerReport{Key: key, Tools: len(names)})
	}
	slices.SortFunc(s.report.Servers, func(a, b ServerReport) int { return strings.Compare(a.Key, b.Key) })
	c, rendered, err := s.verified(servers, func(language *Language, src []byte, want verify.Wrapper, functions []string) error {
		if err := readBack(language, src, want, functions); err != nil {
			t.Errorf("%s %+v: %v", language.Name, want, err)
		}
		return bad(language, want, functions)
	})
	var files []string
	if err == nil {
		for name := range rendered.Tree {
			files = append(files, name)
		}
		slices.Sort(files)
	}
	return s, c, files, err
}

func TestToolThatDoesNotPass(t *testing.T) {
	s, c, files, err := verifiedWith(t, func(language *Language, want verify.Wrapper, _ []string) error {
		if language.Name == "python" && want.ID == "a__two" {
			return errors.New("line 3: found \"evil\"")
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range files {
		if strings.HasPrefix(name, "a/two") {
			t.Errorf("%s is there", name)
		}
	}
	if !slices.Contains(files, "b/five.ts") || !slices.Contains(files, "a/one.py") || c.Tools() != 4 || s.report.Servers[0].Tools != 2 || s.report.Servers[1].Tools != 2 {
		t.Errorf("%d tools, %+v, files %q", c.Tools(), s.report.Servers, files)
	}
	if _, _, ok := c.Lookup("a__two"); ok {
		t.Error("the catalog has the tool")
	}
	w := s.report.Warnings
	if len(w) != 1 || !w[0].Dropped || w[0].Place != "a/two" || !strings.Contains(w[0].Message, "a/two.py") || !strings.Contains(w[0].Message, "evil") {
		t.Errorf("%+v", w)
	}
}

// A bad index is blamed on the tool with the bad line, or on the server itself.
func TestIndexThatDoesNotPass(t *testing.T) {
	for _, tt := range []struct {
		line  int
		place string
		tools int
	}{{3, "a/three", 4}, {1, "a", 2}, {99, "a", 2}} {
		s, c, _, err := verifiedWith(t, func(language *Language, want verify.Wrapper, functions []string) error {
			if language.Name == "typescript" && slices.Contains(functions, "three") {
				return &verify.Error{Line: tt.line, Found: "x", Want: "y"}
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		if len(s.report.Warnings) == 0 || s.report.Warnings[0].Place != tt.place || c.Tools() != tt.tools {
			t.Errorf("line %d: %+v, %d tools", tt.line, s.report.Warnings, c.Tools())
		}
	}
}

func TestNothingPasses(t *testing.T) {
	_, c, files, err := verifiedWith(t, func(*Language, verify.Wrapper, []string) error { return errors.New("no") })
	if err == nil {
		t.Errorf("%d tools, %q: got no error, want an error", c.Tools(), files)
	}
}
