package ident

import (
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
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
		{"constructor", "constructor", "constructor", "Constructor"},
		{"__init__", "init", "init", "Init"},
		{"CON", "con", "con", "Con"},
		{"nul.txt", "nul_txt", "nulTxt", "NulTxt"},
		{"C:\\Windows\\x", "c_windows_x", "cWindowsX", "CWindowsX"},
		{"a/b", "a_b", "aB", "AB"},
		{".env", "env", "env", "Env"},
		{"x. ", "x", "x", "X"},
		{"a\x00b", "a_b_59b271", "aB59b271", "AB59b271"},
		{"\u202eevil", "evil_c34b5d", "evilC34b5d", "EvilC34b5d"},
		{"🚀🚀", "n_6708b2", "n6708b2", "N6708b2"},
		{"\u00e9", "n_4a9955", "n4a9955", "N4a9955"},
		{"e\u0301", "e_bf1276", "eBf1276", "EBf1276"}, // the same to the eye
		{"İ", "n_a65018", "nA65018", "NA65018"},
		{"-", "n_3973e0", "n3973e0", "N3973e0"},
		{"שלום", "n_b7ac03", "nB7ac03", "NB7ac03"},
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
		t.Errorf("Snake of long names = %q and %q, want two short identifiers", a, b)
	}
}

// TestFilesOfHostileNames checks that every name gets a file of its own on every file system, with any extension.
func TestFilesOfHostileNames(t *testing.T) {
	names := []string{
		"", " ", "-", "_", ".", "..", "/", "con", "CON", "con_", "Con-", "nul", "aux.", "a", "A", "a_", "a-", "class", "Class", "class_", "\u00e9", "e\u0301", "🚀", "🚀🚀",
		strings.Repeat("x", 5<<20), strings.Repeat("X", 5<<20), strings.Repeat("x_", 1<<20), strings.Repeat("é", 1<<20), strings.Repeat("../", 1000), strings.Repeat("a", 80), strings.Repeat("a", 81), strings.Repeat("A", 81),
	}
	reserved := func(s string) bool { return ReservedFile(s) || PythonKeyword(s) || TypeScriptReserved(s) }
	start := time.Now()
	for style, f := range map[string]func(string) string{"snake": Snake, "camel": Camel, "pascal": Pascal} {
		seen := map[string]string{}
		for i, id := range Unique(names, f, reserved) {
			shown := names[i][:min(len(names[i]), 20)]
			if !fileForm.MatchString(id) || len(id) > 160 || reserved(id) {
				t.Errorf("%s: Unique(%q) = %q, want a short identifier that is not reserved", style, shown, id)
			}
			if other, taken := seen[strings.ToLower(id)]; taken {
				t.Errorf("%s: Unique(%q) = Unique(%q) = %q, want two identifiers", style, other, shown, id)
			}
			seen[strings.ToLower(id)] = shown
		}
	}
	if took := time.Since(start); took > time.Minute { // a second on an idle machine
		t.Errorf("Unique took %s, want less than a minute", took)
	}
}

var fileForm = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9_]*$`)

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
				t.Fatalf("Unique(%q) = %q, want %q in any order", names[i], id, want[names[i]])
			}
			if other, dup := seen[strings.ToLower(id)]; dup {
				t.Fatalf("Unique(%q) = Unique(%q) = %q, want two identifiers", other, names[i], id)
			}
			seen[strings.ToLower(id)] = names[i]
		}
	}
}

func TestReserved(t *testing.T) {
	for _, name := range []string{"con", "COM1", "lpt9", "nul"} {
		if !ReservedFile(name) || !ReservedDir(name) {
			t.Errorf("ReservedFile(%q), ReservedDir(%q) = false, want true", name, name)
		}
	}
	for _, name := range []string{"com", "com10", "contact", "github"} {
		if ReservedFile(name) || ReservedDir(name) {
			t.Errorf("ReservedFile(%q), ReservedDir(%q) = true, want false", name, name)
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
				t.Errorf("identifier of %q = %q, want a match of %s", name, id, form)
			}
		}
		if again := Snake(Snake(name)); again != Snake(name) {
			t.Errorf("Snake(Snake(%q)) = %q, want %q", name, again, Snake(name))
		}
	})
}

func TestIsIdentifier(t *testing.T) {
	for name, want := range map[string]bool{
		"limit": true, "_": true, "$x": true, "a1": true, "größe": true, "名前": true, "e\u0301": true,
		"": false, "1a": false, "a-b": false, "a b": false, "a.b": false, "\u0301e": false, "a\u202eb": false, "\u3164": false, "\xff": false,
	} {
		if got := IsIdentifier(name); got != want {
			t.Errorf("IsIdentifier(%q) = %v, want %v", name, got, want)
		}
	}
}
