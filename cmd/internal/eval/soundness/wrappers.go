package soundness

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"golang.org/x/sync/errgroup"

	"github.com/mcpgen/mcpgen/gen/render"
	pyrender "github.com/mcpgen/mcpgen/gen/render/python"
	"github.com/mcpgen/mcpgen/gen/render/typescript"
)

// CheckWrappers renders whole servers into dir, an empty folder. Every checker in tools checks every file of the tree, and calls
// of each wrapper with the values of its case, which inputs has by tool id. The verdicts are by checker: "typescript", "pyright",
// "mypy". Values that are not objects are left out, because arguments are an object.
func CheckWrappers(ctx context.Context, tools Tools, dir string, servers []render.Server, inputs map[string]*Case) (map[string][]*Verdict, error) {
	result, err := render.Render(servers, []*render.Language{typescript.Language(), pyrender.Language()})
	if err != nil {
		return nil, err
	}
	tree := filepath.Join(dir, "servers")
	for path, content := range result.Tree {
		full := filepath.Join(tree, filepath.FromSlash(path))
		if err := os.MkdirAll(filepath.Dir(full), 0o755); err != nil {
			return nil, err
		}
		if err := os.WriteFile(full, content, 0o644); err != nil {
			return nil, err
		}
	}
	ts, err := writeCalls(tree, "typescript", result, inputs)
	if err != nil {
		return nil, err
	}
	py, err := writeCalls(tree, "python", result, inputs)
	if err != nil {
		return nil, err
	}
	var byTSC, byPyright, byMypy []*Verdict
	var group errgroup.Group
	group.Go(func() (err error) { byTSC, err = ts.tsc(ctx, tools.TSC, tree); return err })
	group.Go(func() (err error) {
		byPyright, err = runPyright(ctx, tools.Pyright, tree, py.modules, py.sheets)
		return err
	})
	group.Go(func() (err error) {
		byMypy, err = runMypy(ctx, tools.Mypy, dir, []string{"servers"}, py.modules, py.sheets)
		return err
	})
	err = group.Wait()
	return map[string][]*Verdict{"typescript": byTSC, "pyright": byPyright, "mypy": byMypy}, err
}

// calls holds the modules of one language whose wrappers are called, and maps the lines of the files that call them.
type calls struct {
	modules []*Module
	sheets  map[string]*sheet
}

func (c *calls) tsc(ctx context.Context, program, tree string) ([]*Verdict, error) {
	out, err := runChecker(ctx, tree, program, "-p", ".", "--exactOptionalPropertyTypes", "--pretty", "false")
	if err != nil {
		return nil, err
	}
	return judge(c.modules, c.sheets, tscDiagnostics(out))
}

func writeCalls(tree, language string, result *render.Result, inputs map[string]*Case) (*calls, error) {
	out := &calls{sheets: map[string]*sheet{}}
	for i, id := range slices.Sorted(maps.Keys(inputs)) {
		names := result.Names[language][id]
		m := &Module{Case: objectsOnly(inputs[id]), Source: result.Tree[names.File], Type: names.Function}
		out.modules = append(out.modules, m)
		file := fmt.Sprintf("calls_%05d%s", i, filepath.Ext(names.File))
		s := &sheet{module: m, lines: map[int]line{}}
		out.sheets[file], out.sheets[names.File] = s, &sheet{module: m}
		text := callTS
		if language == "python" {
			text = callPy
		}
		if err := text(filepath.Join(tree, file), names, m, s); err != nil {
			return nil, fmt.Errorf("%s: %w", m.Case.ID(), err)
		}
	}
	return out, nil
}

// objectsOnly returns a case with only the values that can be arguments.
func objectsOnly(c *Case) *Case {
	keep := func(values []json.RawMessage) []json.RawMessage {
		return slices.DeleteFunc(slices.Clone(values), func(v json.RawMessage) bool { return !strings.HasPrefix(strings.TrimSpace(string(v)), "{") })
	}
	out := *c
	out.Accept, out.Refuse, out.RefuseTS = keep(c.Accept), keep(c.Refuse), keep(c.RefuseTS)
	return &out
}

func callTS(path string, names render.Names, m *Module, s *sheet) error {
	var b strings.Builder
	fmt.Fprintf(&b, "import { %s } from \"./%s\";\n", names.Function, names.File)
	n := 1
	for i, values := range [][]json.RawMessage{m.Case.Accept, m.Case.Refuse, m.Case.RefuseTS} {
		for _, value := range values {
			text, err := typeScript().literal(value)
			if err != nil {
				return err
			}
			n++
			s.lines[n] = line{value, i == 0}
			fmt.Fprintf(&b, "void %s(%s);\n", names.Function, text)
		}
	}
	return os.WriteFile(path, []byte(b.String()), 0o644)
}

var (
	pyRenamed    = regexp.MustCompile(`(\w+)="((?:[^"\\]|\\.)*)"`)
	pyIdentifier = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)
)

// callPy calls a wrapper with keyword arguments if it has them, else with one argument. A property that is not declared and whose
// name is not an identifier cannot be a keyword, so values that have one are left out.
func callPy(path string, names render.Names, m *Module, s *sheet) error {
	source := string(m.Source)
	_, signature, _ := strings.Cut(source, "\ndef "+names.Function+"(")
	keywords := !strings.HasPrefix(signature, "input:")
	_, decorator, _ := strings.Cut(strings.Replace(source, "\n@any_tool(", "\n@tool(", 1), "\n@tool(")
	decorator, _, _ = strings.Cut(decorator, "\n")
	parameters := map[string]string{} // by property
	for _, match := range pyRenamed.FindAllStringSubmatch(decorator, -1) {
		var property string
		if err := json.Unmarshal([]byte(`"`+match[2]+`"`), &property); err == nil {
			parameters[property] = match[1]
		}
	}
	var b strings.Builder
	module := strings.ReplaceAll(strings.TrimSuffix(names.File, ".py"), "/", ".")
	fmt.Fprintf(&b, "from .%s import %s\n__all__ = [%q]\n", module, names.Function, names.Function) // used, even if never called
	n := 2
	for i, values := range [][]json.RawMessage{m.Case.Accept, m.Case.Refuse} {
		for _, value := range values {
			text, ok, err := pyArguments(value, keywords, parameters)
			if err != nil {
				return err
			}
			if ok {
				n++
				s.lines[n] = line{value, i == 0}
				fmt.Fprintf(&b, "%s(%s)\n", names.Function, text)
			}
		}
	}
	return os.WriteFile(path, []byte(b.String()), 0o644)
}

func pyArguments(value json.RawMessage, keywords bool, parameters map[string]string) (text string, ok bool, err error) {
	decoded, err := decode(value)
	if err != nil {
		return "", false, err
	}
	properties, isObject := decoded.(object)
	if !keywords || !isObject {
		return python().show(decoded), true, nil
	}
	var parts []string
	for name, v := range sorted(properties) {
		parameter, renamed := parameters[name]
		if !renamed {
			if !pyIdentifier.MatchString(name) {
				return "", false, nil
			}
			parameter = name
		}
		parts = append(parts, parameter+"="+python().show(v))
	}
	return strings.Join(parts, ", "), true, nil
}
