package integration

import (
	"encoding/json"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// readRoot returns a file of the repository.
func readRoot(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(name)))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// TestSiteOrder compares the navigation of the site with the links in docs/README.md.
func TestSiteOrder(t *testing.T) {
	python, err := exec.LookPath("python3")
	if err != nil {
		t.Fatal("no python3")
	}
	cmd := exec.CommandContext(t.Context(), python, "-c", `import json, pathlib, sys, types
exceptions = types.ModuleType("mkdocs.exceptions")
exceptions.PluginError = RuntimeError
sys.modules.update({"mkdocs": types.ModuleType("mkdocs"), "mkdocs.exceptions": exceptions})
sys.dont_write_bytecode = True
sys.path.insert(0, ".ci/site")
import hooks
print(json.dumps(hooks.nav(pathlib.Path("docs"))))`)
	cmd.Dir = root
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	var nav []any
	if err := json.Unmarshal(out, &nav); err != nil {
		t.Fatal(err)
	}
	var got, want, headings []string
	for _, entry := range nav {
		switch e := entry.(type) {
		case string:
			got = append(got, e)
		case map[string]any:
			for name, pages := range e {
				list, ok := pages.([]any)
				if !ok {
					continue // the home page
				}
				headings = append(headings, name)
				for _, page := range list {
					got = append(got, page.(string))
				}
			}
		}
	}
	for _, link := range regexp.MustCompile(`\]\(([a-z/-]+\.md)`).FindAllStringSubmatch(readRoot(t, "docs/README.md"), -1) {
		if !slices.Contains(want, link[1]) {
			want = append(want, link[1])
		}
	}
	if !slices.Equal(got, want) || len(got) < 30 {
		t.Errorf("nav = %q, want the order of docs/README.md: %q", got, want)
	}
	if !slices.Equal(headings, []string{"How to", "Reference", "Internals"}) {
		t.Errorf("headings = %q", headings)
	}
}

// TestSiteDarkLinks computes the contrast of links on the theme's dark background. WCAG wants 4.5 for text.
func TestSiteDarkLinks(t *testing.T) {
	const dark = "2e303e"
	colours := regexp.MustCompile(`--md-[a-z-]+: #([0-9a-f]{6})`).FindAllStringSubmatch(readRoot(t, ".ci/site/theme/main.html"), -1)
	if len(colours) != 2 {
		t.Fatalf("%d colours, want those of links and of links under the pointer", len(colours))
	}
	for _, c := range colours {
		if got := (luminance(t, c[1]) + 0.05) / (luminance(t, dark) + 0.05); got < 4.5 {
			t.Errorf("the contrast of #%s is %.1f, want 4.5", c[1], got)
		}
	}
}

// luminance returns the relative luminance of a colour by WCAG.
func luminance(t *testing.T, rgb string) float64 {
	t.Helper()
	sum := 0.0
	for i, weight := range []float64{0.2126, 0.7152, 0.0722} {
		n, err := strconv.ParseUint(rgb[2*i:2*i+2], 16, 8)
		if err != nil {
			t.Fatal(err)
		}
		v := float64(n) / 255
		if v <= 0.03928 {
			v /= 12.92
		} else {
			v = math.Pow((v+0.055)/1.055, 2.4)
		}
		sum += weight * v
	}
	return sum
}

// TestRecording checks what a viewer that plays no animation, or knows no variables in CSS, shows of docs/demo.svg.
func TestRecording(t *testing.T) {
	svg := readRoot(t, "docs/demo.svg")
	frames := regexp.MustCompile(`%\{transform:translateY\((-?\d+)px\)\}`).FindAllStringSubmatch(svg, -1)
	if len(frames) < 3 {
		t.Fatalf("%d frames, want at least 3", len(frames))
	}
	last := frames[len(frames)-1][1]
	if frames[0][1] != last || !strings.Contains(svg, `<g id="screen_view" transform="translate(0 `+last+`)">`) {
		t.Errorf("it begins at %s px, want the last frame, at %s", frames[0][1], last)
	}
	if strings.Contains(svg, "var(") || strings.Contains(readRoot(t, ".ci/recording.svg"), "var(") {
		t.Error("a colour is a variable, want colours that each viewer knows")
	}
	if !strings.Contains(svg, "mcprun -v --sandbox docker") || !strings.Contains(svg, " docker, ") {
		t.Error(`it does not show docker as its sandbox, want "mcprun -v --sandbox docker" in it and " docker, " in it`)
	}
}
