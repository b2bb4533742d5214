package soundness

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

const tsconfig = `{
  "compilerOptions": {
    "strict": true, "exactOptionalPropertyTypes": true, "noUncheckedIndexedAccess": true, "noFallthroughCasesInSwitch": true,
    "target": "es2023", "lib": ["es2023"], "module": "nodenext", "moduleDetection": "force", "types": [],
    "verbatimModuleSyntax": true, "isolatedModules": true, "noEmit": true, "skipLibCheck": true, "allowImportingTsExtensions": true
  },
  "include": ["*.ts"]
}
`

// CheckTypeScript runs tsc over all modules, in dir, which must be empty. A syntax error in one module would hide type
// errors in the others, so it then empties that module and runs tsc again.
func CheckTypeScript(ctx context.Context, tools Tools, dir string, modules []*Module) ([]*Verdict, error) {
	if err := errors.Join(writeFile(dir, "tsconfig.json", tsconfig), writeFile(dir, "package.json", `{"type": "module"}`)); err != nil {
		return nil, err
	}
	sheets := map[string]*sheet{}
	for i, m := range modules {
		if err := writeTS(dir, i, m, sheets); err != nil {
			return nil, fmt.Errorf("%s: %w", m.Case.ID(), err)
		}
	}
	var unparsed []diagnostic
	for range 4 {
		out, err := runChecker(ctx, dir, tools.TSC, "-p", ".", "--pretty", "false")
		if err != nil {
			return nil, err
		}
		found := tscDiagnostics(out)
		syntax := slices.DeleteFunc(slices.Clone(found), func(d diagnostic) bool {
			return !strings.HasPrefix(d.message, "TS1") || sheets[d.file] == nil || sheets[d.file].lines != nil
		})
		if len(syntax) == 0 {
			return judge(modules, sheets, append(unparsed, found...))
		}
		for _, d := range syntax {
			unparsed = append(unparsed, d)
			if err := emptyTS(dir, d.file); err != nil {
				return nil, err
			}
		}
	}
	return judge(modules, sheets, unparsed)
}

// writeTS writes two files: one with the declarations, and one with a value per line.
func writeTS(dir string, i int, m *Module, sheets map[string]*sheet) error {
	if m.Crash != "" {
		return nil
	}
	types, values := fmt.Sprintf("t%05d.ts", i), fmt.Sprintf("v%05d.ts", i)
	s := &sheet{module: m, lines: map[int]line{}}
	sheets[types], sheets[values] = &sheet{module: m}, s
	if err := writeFile(dir, types, string(m.Source)); err != nil {
		return err
	}
	var b strings.Builder
	fmt.Fprintf(&b, "import type { %s } from \"./%s\";\n", m.Type, types)
	n := 1
	add := func(values []json.RawMessage, valid bool) error {
		for _, value := range values {
			text, err := typeScript().literal(value)
			if err != nil {
				return err
			}
			n++
			s.lines[n] = line{value, valid}
			fmt.Fprintf(&b, "export const v%d: %s = %s;\n", n, m.Type, text)
		}
		return nil
	}
	c := m.Case
	if err := add(c.Accept, true); err != nil {
		return err
	}
	if err := add(append(slices.Clone(c.Refuse), c.RefuseTS...), false); err != nil {
		return err
	}
	return writeFile(dir, values, b.String())
}

// emptyTS replaces both files of a module by empty modules.
func emptyTS(dir, file string) error {
	for _, prefix := range []string{"t", "v"} {
		if err := writeFile(dir, prefix+file[1:], "export {};\n"); err != nil {
			return err
		}
	}
	return nil
}

var tscLine = regexp.MustCompile(`^([^()\s][^()]*)\((\d+),\d+\): error (TS\d+: .*)$`)

// tscDiagnostics parses the output of tsc. A line that begins with a space continues the previous message.
func tscDiagnostics(out []byte) []diagnostic {
	var found []diagnostic
	for text := range bytes.Lines(out) {
		text := strings.TrimRight(string(text), "\r\n")
		m := tscLine.FindStringSubmatch(text)
		if m == nil {
			if len(found) > 0 && strings.HasPrefix(text, " ") {
				found[len(found)-1].message += "; " + strings.TrimSpace(text)
			} else if strings.TrimSpace(text) != "" {
				found = append(found, diagnostic{file: "tsc", message: text})
			}
			continue
		}
		n, _ := strconv.Atoi(m[2])
		found = append(found, diagnostic{m[1], n, m[3]})
	}
	return found
}

// sortFindings sorts by length, then by value.
func sortFindings(f []Finding) {
	slices.SortFunc(f, func(a, b Finding) int {
		return cmp.Or(cmp.Compare(len(a.Value), len(b.Value)), bytes.Compare(a.Value, b.Value))
	})
}
