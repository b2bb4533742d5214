// Command weight measures what the direct dependencies weigh in mcprun for Linux on amd64, without symbols and debugging
// information, and fails if there are too many of them or mcprun is too large. Run it in the root of the repository; with -update it
// writes sizes and dates into the table of docs/design.md.
package main

import (
	"bytes"
	"debug/elf"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// Budgets. Whoever raises one says why in docs/internals/rationale.md.
const (
	maxDirect = 58
	maxBytes  = 63_000_000
	program   = "./cmd/mcprun"
	page      = "docs/design.md"
)

// tolerance is by how many megabytes a size in the table may differ from what is measured.
const tolerance = 0.3

func main() {
	update := flag.Bool("update", false, "write sizes and dates into the table of "+page)
	flag.Parse()
	if err := run(*update); err != nil {
		fmt.Fprintln(os.Stderr, "weight:", err)
		os.Exit(1)
	}
}

func run(update bool) error {
	dir, err := os.MkdirTemp("", "weight")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	modules, err := directModules()
	if err != nil {
		return err
	}
	packages, err := linkedPackages()
	if err != nil {
		return err
	}
	stripped, full := filepath.Join(dir, "stripped"), filepath.Join(dir, "full")
	if _, err := goCommand("build", "-trimpath", "-ldflags", "-s -w", "-o", stripped, program); err != nil {
		return err
	}
	// Only the system's linker keeps the symbols of constant tables.
	if _, err := goCommand("build", "-trimpath", "-ldflags", "-linkmode=external", "-o", full, program); err != nil {
		return err
	}
	info, err := os.Stat(stripped)
	if err != nil {
		return err
	}
	bytes, err := packageSizes(full)
	if err != nil {
		return err
	}
	var stale []string
	table, err := os.ReadFile(page)
	if err != nil {
		return err
	}
	text := string(table)
	for i := range modules {
		m := &modules[i]
		m.size = goesWith(packages, bytes, m.Path)
		fmt.Printf("%5.1f MB  %s  %s %s\n", m.megabytes(), m.released(), m.Path, m.Version)
		changed, old, err := setRow(text, m)
		if err != nil {
			return err
		}
		if text = changed; old != "" {
			stale = append(stale, fmt.Sprintf("%s has %s", m.Path, old))
		}
	}
	fmt.Printf("%d direct dependencies (at most %d), mcprun %.1f MB (at most %.1f MB)\n", len(modules), maxDirect, float64(info.Size())/1e6, maxBytes/1e6)
	switch {
	case update:
		return os.WriteFile(page, []byte(text), 0o644)
	case len(modules) > maxDirect:
		return fmt.Errorf("there are %d direct dependencies, and the budget is %d", len(modules), maxDirect)
	case info.Size() > maxBytes:
		return fmt.Errorf("mcprun has %d bytes, and the budget is %d", info.Size(), maxBytes)
	case len(stale) > 0:
		return fmt.Errorf("the table in %s is out of date (%s); run go run ./cmd/internal/eval/weight -update", page, strings.Join(stale, "; "))
	}
	return nil
}

// module is a direct dependency.
type module struct {
	Path, Version  string
	Main, Indirect bool
	Time           time.Time

	size float64 // bytes in mcprun
}

func (m *module) released() string   { return m.Time.UTC().Format("2006-01") }
func (m *module) megabytes() float64 { return m.size / 1e6 }

// setRow returns the page with the size and date of a module in its row, and what it had if that was wrong.
func setRow(text string, m *module) (changed, old string, err error) {
	start := strings.Index(text, "\n| "+strings.TrimPrefix(m.Path, "github.com/")+" |")
	if start < 0 {
		return "", "", fmt.Errorf("%s has no row for %s", page, m.Path)
	}
	end := start + 1 + strings.Index(text[start+1:], "\n")
	cells := strings.Split(text[start+1:end], "|")
	if len(cells) != 7 {
		return "", "", fmt.Errorf("%s: the row of %s needs 5 cells: library, home, job, MB, release", page, m.Path)
	}
	var had float64
	_, scanErr := fmt.Sscanf(cells[4], "%f", &had)
	if scanErr != nil || had < m.megabytes()-tolerance || had > m.megabytes()+tolerance || strings.TrimSpace(cells[5]) != m.released() {
		old = strings.TrimSpace(cells[4]) + " MB of " + strings.TrimSpace(cells[5])
	}
	cells[4], cells[5] = fmt.Sprintf(" %.1f ", m.megabytes()), " "+m.released()+" "
	return text[:start+1] + strings.Join(cells, "|") + text[end:], old, nil
}

func goCommand(args ...string) ([]byte, error) {
	cmd := exec.Command("go", args...)
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS=linux", "GOARCH=amd64")
	if slices.Contains(args, "-linkmode=external") {
		cmd.Env = append(cmd.Env, "CGO_ENABLED=1")
	}
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("go %s: %w", strings.Join(args, " "), err)
	}
	return out, nil
}

// objects reads the JSON values that the go command printed.
func objects[T any](out []byte) ([]T, error) {
	var list []T
	for dec := json.NewDecoder(bytes.NewReader(out)); dec.More(); {
		var item T
		if err := dec.Decode(&item); err != nil {
			return nil, err
		}
		list = append(list, item)
	}
	return list, nil
}

func directModules() ([]module, error) {
	out, err := goCommand("list", "-m", "-json", "all")
	if err != nil {
		return nil, err
	}
	list, err := objects[module](out)
	return slices.DeleteFunc(list, func(m module) bool { return m.Main || m.Indirect }), err
}

// linked is a package of the program.
type linked struct {
	ImportPath, Name string
	Imports          []string
	Module           struct{ Path string }
}

func linkedPackages() (map[string]linked, error) {
	out, err := goCommand("list", "-deps", "-json=ImportPath,Name,Imports,Module", program)
	if err != nil {
		return nil, err
	}
	list, err := objects[linked](out)
	byPath := map[string]linked{}
	for _, p := range list {
		byPath[p.ImportPath] = p
		if p.Name == "main" {
			byPath["main"] = p
		}
	}
	return byPath, err
}

// goesWith returns the bytes of the packages that the program would not have without a module.
func goesWith(packages map[string]linked, bytes map[string]float64, path string) float64 {
	stays := map[string]bool{}
	var reach func(name string)
	reach = func(name string) {
		p, ok := packages[name]
		if !ok || stays[name] || p.Module.Path == path {
			return
		}
		stays[name] = true
		for _, imported := range p.Imports {
			reach(imported)
		}
	}
	reach("main")
	sum := 0.0
	for name, p := range packages {
		if p.Module.Path != "" && !stays[name] && name != "main" {
			sum += bytes[name]
		}
	}
	return sum
}

// packageSizes returns the bytes of each package: its functions and data, and with them its share of the table of functions, which
// grows with them. What describes types and constant texts belongs to no package.
func packageSizes(name string) (map[string]float64, error) {
	file, err := elf.Open(name)
	if err != nil {
		return nil, err
	}
	defer func() { _ = file.Close() }()
	text, table := file.Section(".text"), file.Section(".gopclntab")
	symbols, err := file.Symbols()
	if err != nil || text == nil || table == nil {
		return nil, fmt.Errorf("%s has no symbols or no code: %w", name, err)
	}
	share := 1 + float64(table.Size)/float64(text.Size)
	out := map[string]float64{}
	for _, s := range symbols {
		if int(s.Section) >= len(file.Sections) || file.Sections[s.Section].Type == elf.SHT_NOBITS {
			continue
		}
		size := float64(s.Size)
		if file.Sections[s.Section] == text {
			size *= share
		}
		out[packageOf(s.Name)] += size
	}
	return out, nil
}

// packageOf returns the import path in the name of a symbol.
func packageOf(symbol string) string {
	for _, prefix := range []string{"type:.eq.", "type:.hash.", "go:itab.*", "go:itab."} {
		symbol = strings.TrimPrefix(symbol, prefix)
	}
	symbol, _, _ = strings.Cut(symbol, "[")
	last := strings.LastIndexByte(symbol, '/') + 1
	base, _, _ := strings.Cut(symbol[last:], ".")
	return symbol[:last] + strings.ReplaceAll(base, "%2e", ".")
}
