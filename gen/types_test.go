package gen_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/mcpgen/mcpgen/gen"
)

func TestTypeNameFor(t *testing.T) {
	for _, tt := range []struct{ language, file, want string }{
		{"typescript", "user.json", "User"},
		{"typescript", "dir/get-user.schema.json", "GetUser"},
		{"typescript", `C:\dir\tree.json`, "Tree"},
		{"typescript", "object.json", "ObjectSchema"},
		{"typescript", "list.json", "List"},
		{"python", "list.json", "List"},
		{"python", "none.json", "NoneSchema"},
		{"python", "2020.json", "N2020"},
	} {
		if got := gen.TypeNameFor(tt.language, tt.file); got != tt.want {
			t.Errorf("TypeNameFor(%q, %q) = %q, want %q", tt.language, tt.file, got, tt.want)
		}
	}
}

// TestTypeNamesAreRefusedOrKept: a name is either an error or the exact name of the type, and no name carries code into the source.
func TestTypeNamesAreRefusedOrKept(t *testing.T) {
	schema := json.RawMessage(`{"type": "object", "properties": {"a": {"enum": ["x", 1]}, "b": {"type": "array", "items": {"type": "object", "properties": {"c": {"type": "string"}}}}}}`)
	for _, language := range []string{"typescript", "python"} {
		for _, name := range []string{"T", "Item", "item", "A1", "B", "Open", "Extra", "NoValue", "OneOf", "TItem", "a b", "a\nb", "a-b", "1a", "é", "a;b", "*/", `"""`, "\u202e", "_", "__", "type", "any", "str"} {
			result, err := gen.Types(schema, gen.TypesOptions{Language: language, Name: name})
			var refused *gen.TypeNameError
			switch {
			case errors.As(err, &refused):
				if refused.ExitCode() != 2 || refused.Hint() == "" {
					t.Errorf("%s: %q: exit code %d, hint %q", language, name, refused.ExitCode(), refused.Hint())
				}
				if hint := strings.TrimPrefix(refused.Hint(), "choose another, for example "); hint != refused.Hint() {
					if _, err := gen.Types(schema, gen.TypesOptions{Language: language, Name: hint}); err != nil {
						t.Errorf("%s: %q is refused, and so is %q: %v", language, name, hint, err)
					}
				}
			case err != nil:
				t.Errorf("%s: %q: %v", language, name, err)
			case !strings.Contains(string(result.Source), "export type "+name+" ") && !strings.Contains(string(result.Source), "export interface "+name+" ") &&
				!strings.Contains(string(result.Source), "\nclass "+name+"(") && !strings.Contains(string(result.Source), "\n"+name+": TypeAlias") && !strings.Contains(string(result.Source), "\n"+name+" = "):
				t.Errorf("%s: no type %q in\n%s", language, name, result.Source)
			}
		}
	}
}

func TestTypesSaysWhereJSONEnds(t *testing.T) {
	for _, tt := range []struct {
		raw          string
		line, column int
	}{
		{"", 1, 1},
		{"  \n ", 2, 2},
		{`{"a": }`, 1, 7},
		{"{\n  \"é\": x}", 2, 8},
		{`{"a": 1`, 1, 8},
		{"{}\n\n  x", 3, 3},
		{"// no\n{}", 1, 1},
	} {
		_, err := gen.Types(json.RawMessage(tt.raw), gen.TypesOptions{})
		var bad *gen.JSONError
		if !errors.As(err, &bad) || bad.Line != tt.line || bad.Column != tt.column {
			t.Errorf("%q: %v; want line %d, column %d", tt.raw, err, tt.line, tt.column)
		}
	}
	for _, raw := range []string{"true", " {} \n", "\xef\xbb\xbf{}"} {
		if _, err := gen.Types(json.RawMessage(raw), gen.TypesOptions{}); err != nil {
			t.Errorf("%q: %v", raw, err)
		}
	}
	if _, err := gen.Types(json.RawMessage("{}"), gen.TypesOptions{Language: "ruby"}); err == nil {
		t.Error("an unknown language is no error")
	}
}
