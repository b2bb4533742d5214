package ident

import (
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"testing"
)

func TestCases(t *testing.T) {
	tests := []struct{ name, snake, camel, pascal string }{
		{"get_document", "get_document", "getDocument", "GetDocument"},
		{"getDocument", "get_document", "getDocument", "GetDocument"},
		{"google-drive", "google_drive", "googleDrive", "GoogleDrive"},
		{"HTTPServer", "http_server", "httpServer", "HttpServer"},
		{"API-post-page", "api_post_page", "apiPostPage", "ApiPostPage"},
		{"search.v2/items", "search_v2_items", "searchV2Items", "SearchV2Items"},
		{"12306-mcp", "n12306_mcp", "n12306Mcp", "N12306Mcp"},
		{"__proto__", "proto", "proto", "Proto"},
		{"../../etc/passwd", "etc_passwd", "etcPasswd", "EtcPasswd"},
		{"", "n_e3b0c4", "nE3b0c4", "NE3b0c4"},
		{"🚀", "n_ebbc0b", "nEbbc0b", "NEbbc0b"},
		{"búsqueda", "b_squeda_836ad9", "bSqueda836ad9", "BSqueda836ad9"},
	}
	for _, tt := range tests {
		if got := Snake(tt.name); got != tt.snake {
			t.Errorf("Snake(%q) = %q, want %q", tt.name, got, tt.snake)
		}
		if got := Camel(tt.name); got != tt.camel {
			t.Errorf("Camel(%q) = %q, want %q", tt.name, got, tt.camel)
		}
		if got := Pascal(tt.name); got != tt.pascal {
			t.Errorf("Pascal(%q) = %q, want %q", tt.name, got, tt.pascal)
		}
	}
}

func TestLongNamesAreCutAndStayApart(t *testing.T) {
	a, b := Snake(strings.Repeat("ab_", 100)+"x"), Snake(strings.Repeat("ab_", 100)+"y")
	if len(a) > maxLength || a == b || strings.Contains(a, "__") {
		t.Errorf("Snake of long names = %q and %q", a, b)
	}
}

func TestUnique(t *testing.T) {
	names := []string{"get_doc", "getDoc", "GETDOC", "list", "other", "get-doc"}
	reserved := func(s string) bool { return s == "list" }
	got := Unique(names, Camel, reserved)
	want := []string{"getDoc_" + Hash("get_doc"), "getDoc", "getdoc_" + Hash("GETDOC"), "list_", "other", "getDoc_" + Hash("get-doc")}
	if !slices.Equal(got, want) {
		t.Errorf("Unique = %q, want %q", got, want)
	}
}

func TestUniqueDoesNotDependOnOrder(t *testing.T) {
	names := []string{"a", "A", "a_", "a-" + Hash("A"), "b", "B_", "list", "list_", "🚀", "🎉", "", " ", "a_" + Hash("A")}
	want := map[string]string{}
	for i, id := range Unique(names, Snake, func(s string) bool { return s == "list" }) {
		want[names[i]] = id
	}
	for range 50 {
		rand.Shuffle(len(names), func(i, j int) { names[i], names[j] = names[j], names[i] })
		seen := map[string]string{}
		for i, id := range Unique(names, Snake, func(s string) bool { return s == "list" }) {
			if want[names[i]] != id {
				t.Fatalf("%q became %q, before %q", names[i], id, want[names[i]])
			}
			if other, dup := seen[strings.ToLower(id)]; dup {
				t.Fatalf("%q and %q both became %q", other, names[i], id)
			}
			seen[strings.ToLower(id)] = names[i]
		}
	}
}

func TestReserved(t *testing.T) {
	for _, name := range []string{"con", "COM1", "lpt9", "nul"} {
		if !ReservedFile(name) || !ReservedDir(name) {
			t.Errorf("%q is not reserved", name)
		}
	}
	for _, name := range []string{"com", "com10", "contact", "github"} {
		if ReservedFile(name) || ReservedDir(name) {
			t.Errorf("%q is reserved", name)
		}
	}
}

var (
	snakeForm  = regexp.MustCompile(`^[a-z][a-z0-9]*(_[a-z0-9]+)*$`)
	camelForm  = regexp.MustCompile(`^[a-z][A-Za-z0-9]*$`)
	pascalForm = regexp.MustCompile(`^[A-Z][A-Za-z0-9]*$`)
)

func FuzzNames(f *testing.F) {
	for _, s := range []string{"", "a", "getDocument", "*/", `"""`, "a\x00b", "\u202eevil", "日本語", "1", "_", strings.Repeat("x", 500), "\xff\xfe", "\u2028"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, name string) {
		for form, id := range map[*regexp.Regexp]string{snakeForm: Snake(name), camelForm: Camel(name), pascalForm: Pascal(name)} {
			if !form.MatchString(id) || len(id) > maxLength {
				t.Errorf("%q became %q, which does not match %s", name, id, form)
			}
		}
		if again := Snake(Snake(name)); again != Snake(name) {
			t.Errorf("Snake is not stable: %q, then %q", Snake(name), again)
		}
	})
}
