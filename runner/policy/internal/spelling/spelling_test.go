package spelling

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// answer returns true, false, or "error".
func answer[T any](value T, err error) string {
	if err != nil {
		return "error"
	}
	return fmt.Sprint(value)
}

// TestUnder tests spellings of paths. An error denies the call, so it is as good as false in a rule that allows what is below a folder, and
// as good as true in one that denies it.
func TestUnder(t *testing.T) {
	for _, c := range []struct{ dir, path, want string }{
		// Below a relative folder.
		{"reports", "reports", "true"},
		{"reports", "reports/", "true"},
		{"reports", "reports/a.txt", "true"},
		{"reports/", "./reports/a.txt", "true"},
		{"./reports", "reports//a.txt", "true"},
		{"reports", "reports/./a.txt", "true"},
		{"reports", "reports/x/../a.txt", "true"},
		{"reports", "private/../reports/a.txt", "true"},
		{"reports", "reports/Größe 1 (neu).txt", "true"},
		{"reports", "reports/[slug]/page.tsx", "true"},
		{"reports", "reports/v1.2.../x", "true"},
		{"reports", "reports/[...slug]/page.tsx", "true"},
		{"reports", "reports/[[...slug]]/page.tsx", "true"},
		{"reports", "reports/[id].[hash].js", "true"},
		{"reports", "reports/[2026-05]/[a", "true"},
		{"reports", "reports/a;b/x;y.txt", "true"},
		{"reports", "reports/100%u/a", "true"},
		{".", "a/b", "true"},
		{".", "./..a/b", "true"},
		{"reports/2026", "reports/2026/a", "true"},
		{"../shared", "../shared/a", "true"},
		{"../..", "../a", "true"},
		// Elsewhere.
		{"reports", ".", "false"},
		{"reports", "reports/..", "false"},
		{"reports", "reports/../private", "false"},
		{"reports", "reports/../private/reports", "false"},
		{"reports", "./reports/x/../../private", "false"},
		{"reports", "reports/.././private", "false"},
		{"reports", "reports//../private", "false"},
		{"reports", "reports2/a", "false"},
		{"reports", "report", "false"},
		{"reports", "private/reports/a", "false"},
		{"reports", "rеports/a", "false"}, // a Cyrillic letter
		{"reports/2026", "reports/a", "false"},
		{"reports/2026", "reports", "false"},
		// Below an absolute folder.
		{"/srv/reports", "/srv/reports/a", "true"},
		{"/srv/reports", "//srv//reports/a", "true"},
		{"/srv/reports", "/../srv/reports/a", "true"},
		{"/srv/reports", "file:///srv/reports/a", "true"},
		{"/srv/reports", "FILE:/srv/reports/a%20b", "true"},
		{"/srv/reports", "file://localhost/srv/reports/a", "true"},
		{"/srv/reports", "file:///srv/private/%2e%2e/reports", "true"},
		{"/", "/etc/passwd", "true"},
		{"~/reports", "~/reports/a", "true"},
		{"/srv/reports", "/srv/reports/../private", "false"},
		{"/srv/reports", "file:///srv/reports/../private", "false"},
		{"/srv/reports", "file:///srv/reports/%2e%2E/private", "false"},
		{"/srv/reports", "/srv/reports2", "false"},
		{"/srv/reports", "/../../etc/passwd", "false"},
		{"/srv/reports", "/", "false"},
		// It depends on the server.
		{"/srv/reports", "reports/a", "error"},
		{"/srv/reports", "../srv/reports", "error"},
		{"reports", "/srv/reports/a", "error"},
		{"reports", "file:///reports/a", "error"},
		{"reports", "../reports/a", "error"},
		{"reports", "reports/../../private", "error"},
		{"private", "../project/private/a", "error"},
		{".", "../a", "error"},
		{"../shared", "a", "error"},
		{"../shared", "../../a", "error"},
		{"/home/ann/reports", "~/reports/a", "error"},
		{"reports", "~", "error"},
		{"reports", "~root/a", "error"},
		{"~/reports", "~/../a", "error"},
		// Some systems or servers read it differently.
		{"reports", "", "error"},
		{"reports", "Reports/a", "error"},
		{"private", "PRIVATE/a", "error"},
		{"private", "private./a", "error"},
		{"private", "private /a", "error"},
		{"private", "private::$INDEX_ALLOCATION/a", "error"},
		{"private", "privat~1/a", "error"},
		{"private", "privat[e]/a", "error"},
		{"private", "ｐrivate/a", "error"},
		{"caf\u00e9", "cafe\u0301/a", "error"},
		{"reports", "reports/.../private", "error"},
		{"reports", "reports/.. /private", "error"},
		{"reports", "reports/.. ./private", "error"},
		{"reports", "reports/․․/private", "error"}, // U+2024
		{"reports", "reports/‥/private", "error"},  // U+2025
		{"reports", "reports/．．/private", "error"},
		{"reports", "reports／../private", "error"},
		{"reports", "reports∕..∕private", "error"},
		{"reports", `reports\..\private`, "error"},
		{"reports", `reports/..\private`, "error"},
		{"private", `.\private\a`, "error"},
		{"reports", "reports/%2e%2e/private", "error"},
		{"reports", "reports/..%2fprivate", "error"},
		{"reports", "reports/%252e%252e/private", "error"},
		{"reports", "reports/%c0%ae%c0%ae/private", "error"},
		{"private", "%70rivate/a", "error"},
		{"reports", "reports/%u002e%u002e/private", "error"},
		{"reports", "reports/%U002E%U002E/private", "error"},
		{"private", "%u0070rivate/a", "error"},
		{"/srv/reports", "file:///srv/reports/%u002e%u002e/private", "error"},
		{"reports", "reports/..;/private", "error"},
		{"reports", "reports/..;x=1/private", "error"},
		{"reports", "reports/.;/../private", "error"},
		{"reports", "reports/..；/private", "error"}, // U+FF1B
		{"reports", "reports/;/../private", "error"},
		{"private", "private;x=1/a", "error"},
		{"reports", "reports/[.][.]/private", "error"},
		{"reports", "reports/.[.]/private", "error"},
		{"reports", "reports/[.]./private", "error"},
		{"reports", "reports/[!a][!a]/private", "error"},
		{"reports", "reports/[^a]./private", "error"},
		{"reports", "reports/[+-9][+-9]/private", "error"},
		{"reports", "reports/[[:punct:]][[:punct:]]/private", "error"},
		{"reports", "reports/[].][].]/private", "error"},
		{"reports", "reports/[...x]/../private", "error"}, // a pattern may match ., and then this is private
		{`C:\reports`, `C:\reports\[.][.]\private`, "error"},
		{`C:\reports`, `C:\reports\..;\private`, "error"},
		{`C:\reports`, `C:\reports\..::$INDEX_ALLOCATION\private`, "error"},
		{"reports", "reports/a\x00/../../private", "error"},
		{"reports", "reports/a\n", "error"},
		{"private", "pri\u200bvate/a", "error"},
		{"private", "pri\u200cvate/a", "error"},
		{"private", "priv\u00adate/a", "error"},
		{"private", "\u202eprivate/a", "error"},
		{"private", "pri\xffvate", "error"},
		{"/srv/reports", " /srv/reports", "error"},
		{"reports", " reports", "error"},
		{"reports", "reports ", "error"},
		{"private", "p*/a", "error"},
		{"private", "{private,x}/a", "error"},
		{"reports", "reports/{a,../../private}", "error"},
		{"reports", "reports/$SECRET", "error"},
		{"reports", "${X}/a", "error"},
		{"reports", "reports/`x`", "error"},
		{"/srv/reports", "file:///srv/reports/..%2fprivate", "error"},
		{"/srv/reports", "file:///srv/reports/%252e%252e/private", "error"},
		{"/srv/reports", "file:///srv/reports/%00", "error"},
		{"/srv/reports", "file:///srv/reports/a?/../../private", "error"},
		{"/srv/reports", "file:///srv/reports/a#/../../private", "error"},
		{"/srv/reports", "file://evil/srv/reports/a", "error"},
		{"/srv/reports", "file:srv/reports/a", "error"},
		{"/srv/reports", "file:", "error"},
		{"reports", "http://example.com/reports", "error"},
		{"reports", "reports://a", "error"},
		{"/srv/reports", "C:/srv/reports", "error"},
		// Folders of Windows.
		{`C:\reports`, `c:\Reports\a.txt`, "true"},
		{`C:\reports`, `C:/reports/a.txt`, "true"},
		{`C:\reports`, `file:///C:/reports/a.txt`, "true"},
		{`C:/reports`, `C:\reports\x\..\a`, "true"},
		{`data\reports`, `data/reports/a`, "true"},
		{`C:\reports`, `C:\reports\..\private`, "false"},
		{`C:\reports`, `D:\reports\a`, "false"},
		{`C:\reports`, `C:reports\a`, "error"},
		{`C:\reports`, `\reports\a`, "error"},
		{`C:\reports`, `reports\a`, "error"},
		{`C:\reports`, `\\server\reports`, "error"},
		{`C:\reports`, `\\?\C:\reports\a`, "error"},
		{`C:\reports`, `\??\C:\reports\a`, "error"},
		{`C:\private`, `C:\private.\a`, "error"},
		{`C:\private`, `C:\private:x`, "error"},
		{`C:\private`, `C:\PRIVAT~1\a`, "error"},
		{`C:\reports`, `%USERPROFILE%\a`, "error"},
		// Folders that a rule cannot use.
		{"", "a", "error"},
		{"reports/*", "reports/a", "error"},
		{`\\server\share`, `\\server\share\a`, "error"},
	} {
		if got := answer(Under(c.path, c.dir)); got != c.want {
			t.Errorf("Under(%q, %q) = %s, want %s", c.path, c.dir, got, c.want)
		}
	}
}

func TestHost(t *testing.T) {
	for text, want := range map[string]string{
		"https://example.com":                           "example.com",
		"HTTPS://EXAMPLE.com:8443/a?b=c@d#e":            "example.com",
		"https://example.com./":                         "example.com",
		"https://user:secret@example.com/":              "example.com",
		"https://example.com@evil.com/":                 "evil.com",
		"https://example.com:443@evil.com/":             "evil.com",
		"https://example.com.evil.com/":                 "example.com.evil.com",
		"https://evil.com/example.com":                  "evil.com",
		"https://evil.com/?example.com":                 "evil.com",
		"https://evil.com/a b?q=x y":                    "evil.com",
		`https://evil.com/a\b`:                          "evil.com",
		"https://bücher.example/":                       "xn--bcher-kva.example",
		"https://XN--BCHER-KVA.example/":                "xn--bcher-kva.example",
		"https://ⓔxample.com/":                          "example.com",
		"https://example。com/":                          "example.com",
		"https://exаmple.com/":                          "xn--exmple-4nf.com", // a Cyrillic letter
		"http://127.0.0.1:8080/":                        "127.0.0.1",
		"http://2130706433/":                            "127.0.0.1",
		"http://0x7f000001/":                            "127.0.0.1",
		"http://0x7f.1/":                                "127.0.0.1",
		"http://127.1/":                                 "127.0.0.1",
		"http://127.0.0.1./":                            "127.0.0.1",
		"http://[::1]/":                                 "::1",
		"http://[0:0:0:0:0:0:0:1]:80/":                  "::1",
		"http://[::ffff:127.0.0.1]/":                    "127.0.0.1",
		"http://[::ffff:7f00:1]/":                       "127.0.0.1",
		"wss://example.com/":                            "example.com",
		"http://０x7f.1/":                                "127.0.0.1",
		"":                                              "error",
		"example.com":                                   "error",
		"//example.com/":                                "error",
		"/a":                                            "error",
		"https:example.com":                             "error",
		"https:/example.com":                            "error",
		"https:///example.com":                          "error",
		"https://":                                      "error",
		"https://.":                                     "error",
		"https://example.com../":                        "error",
		`https://evil.com\@example.com/`:                "error",
		`https:\\evil.com/`:                             "error",
		`https://example.com\.evil.com/`:                "error",
		"https://evil.com@x@example.com/":               "error",
		"https://evil.com#@example.com/":                "error",
		"https://evil.com?@example.com/":                "error",
		" https://example.com/":                         "error",
		"https://example.com/\n":                        "error",
		"https://ev\til.com/":                           "error",
		"https://evil.com\x00.example.com/":             "error",
		"https://evil.com\u200b.example.com/":           "error",
		"https://evil.com\u3000.example.com/":           "error",
		"https://evil.com／.example.com/":                "error",
		"https://evil.com%2f.example.com/":              "error",
		"https://%65xample.com/":                        "error",
		"https://evil.com%00.example.com/":              "error",
		"https://faß.example/":                          "error",
		"https://evil.com;x.example.com/":               "error",
		"https://evil.com,x.example.com/":               "error",
		"http://0177.0.0.1/":                            "error",
		"http://127.0.0.01/":                            "error",
		"http://256.0.0.1/":                             "error",
		"http://[::1/":                                  "error",
		"http://[fe80::1%25eth0]/":                      "error",
		"http://example.com:99999/":                     "error",
		"javascript:alert(1)":                           "error",
		"file:///etc/passwd":                            "error",
		"data://example.com/":                           "error",
		"view-source:https://example.com/":              "error",
		"https://" + strings.Repeat("a", 9000) + ".de/": "error",
	} {
		if got := answer(Host(text)); got != want {
			t.Errorf("Host(%q) = %s, want %s", text, got, want)
		}
	}
}

func TestEmails(t *testing.T) {
	for _, c := range []struct {
		value any
		want  string
	}{
		{"ann@example.com", "[ann@example.com]"},
		{"Ann@EXAMPLE.com", "[ann@example.com]"},
		{"ann@example.com.", "[ann@example.com]"},
		{"ann@bücher.example", "[ann@xn--bcher-kva.example]"},
		{"Ann <ann@example.com>", "[ann@example.com]"},
		{`"Lee, Ann" <ann@example.com>`, "[ann@example.com]"},
		{"Ann (Sales) <ann@example.com>", "[ann@example.com]"},
		{"ann+tag@example.com", "[ann+tag@example.com]"},
		{"ann@example.com, bob@example.com;", "[ann@example.com bob@example.com]"},
		{"", "[]"},
		{nil, "[]"},
		{[]any{}, "[]"},
		{[]any{"", nil, []any{}, map[string]any{}}, "[]"},
		{[]any{"ann@example.com", "Bob <bob@example.com>"}, "[ann@example.com bob@example.com]"},
		// A second recipient.
		{"ann@example.com,eve@evil.com", "[ann@example.com eve@evil.com]"},
		{"ann@example.com;eve@evil.com", "[ann@example.com eve@evil.com]"},
		{"ann@example.com eve@evil.com", "[ann@example.com eve@evil.com]"},
		{"Ann <ann@example.com>, Eve <eve@evil.com>", "[ann@example.com eve@evil.com]"},
		{`"ann@example.com" <eve@evil.com>`, "[ann@example.com eve@evil.com]"},
		{`"eve@evil.com," <ann@example.com>`, "[ann@example.com eve@evil.com]"},
		{`ann@example.com <eve@evil.com>`, "[ann@example.com eve@evil.com]"},
		{"ann@example.com.evil.com", "[ann@example.com.evil.com]"},
		{"ann@exаmple.com", "[ann@xn--exmple-4nf.com]"},
		{[]any{"ann@example.com", []any{"eve@evil.com"}}, "[ann@example.com eve@evil.com]"},
		{[]any{"ann@example.com", map[string]any{"address": "eve@evil.com"}}, "[ann@example.com eve@evil.com]"},
		{map[string]any{"to": "ann@example.com", "options": map[string]any{"hidden": "eve@evil.com"}}, "[ann@example.com eve@evil.com]"},
		{map[string]any{"to": "ann@example.com", "share": map[string]any{"eve@evil.com": "reader"}}, "[ann@example.com eve@evil.com]"},
		{map[string]any{"to": "ann@example.com", "body": "Hi, ask Bob (bob@b.example), or mailto:eve@evil.com?cc=x@y.z, thanks @ann"}, "[ann@example.com bob@b.example eve@evil.com x@y.z]"},
		{map[string]any{"x": `"eve y"@evil.com`}, "[@evil.com]"},
		{map[string]any{"x": "eve＠evil.com"}, "[eve@evil.com]"},
		{map[string]any{"x": "eve@evil。com"}, "[eve@evil.com]"},
		{map[string]any{"to": "ann@example.com", "address": "12 Main Street", "count": int64(3), "none": nil}, "[ann@example.com]"},
		// No address, or one that is read in different ways.
		{"everyone", "error"},
		{"everyone, ann@example.com", "error"},
		{[]any{"everyone", "ann@example.com"}, "error"},
		{map[string]any{"to": "everyone"}, "error"},
		{[]any{map[string]any{"group": "everyone"}}, "error"},
		{[]any{"ann@example.com", []any{map[string]any{"id": "u123"}}}, "error"},
		{[]any{int64(123)}, "error"},
		{map[string]any{"to": []any{map[string]any{"emailAddress": map[string]any{"address": "everyone, ann@example.com"}}}}, "error"},
		{map[string]any{"attendees": []any{map[string]any{"email": "everyone"}}}, "error"},
		{"ann@example.com@evil.com", "error"},
		{"eve%evil.com@example.com", "error"},
		{"evil.com!eve@example.com", "error"},
		{"@evil.com:ann@example.com", "error"},
		{"<@evil.com:ann@example.com>", "error"},
		{"Ann <ann@example.com> eve@evil.com", "error"},
		{"Ann <ann@example.com", "error"},
		{"team: eve@evil.com;", "error"},
		{"mailto:eve@evil.com", "error"},
		{"ann@example.com\nBcc: eve@evil.com", "error"},
		{"ann@example.com\r\n", "error"},
		{"ann@example.com\x00", "error"},
		{"ann@exam\u200bple.com", "error"},
		{"ann＠example.com", "error"},
		{"ann@example.com，eve", "error"},
		{"eve @ evil.com", "error"},
		{`"eve@evil.com"@example.com`, "error"},
		{`eve\@evil.com@example.com`, "error"},
		{"eve(x)@example.com", "error"},
		{"ann@[127.0.0.1]", "error"},
		{"ann@exam_ple..com", "error"},
		{"ann@", "error"},
		{"@example.com", "error"},
		{"=?utf-8?q?eve=40evil.com=2C?= <ann@example.com>", "error"},
		{"eve&#64;evil.com", "error"},
		{"eve=40evil.com", "error"},
		{`"ann@example.com`, "error"},
		{map[string]any{"x": "ann@example.com\u200b.evil.com"}, "error"},
	} {
		if got := answer(Emails(c.value)); got != c.want {
			t.Errorf("Emails(%q) = %s, want %s", c.value, got, c.want)
		}
	}
}

func TestDomain(t *testing.T) {
	for text, want := range map[string]string{
		"ann@Example.COM.":        "example.com",
		"Ann <ann@example.com>":   "example.com",
		"@evil.com":               "evil.com",
		"ann@example.com, b@c.de": "error",
		"ann@x@example.com":       "error",
		"@evil.com:a@example.com": "error",
		"eve%evil.com@a.com":      "error",
		"example.com":             "error",
		"":                        "error",
	} {
		if got := answer(Domain(text)); got != want {
			t.Errorf("Domain(%q) = %s, want %s", text, got, want)
		}
	}
}

func TestPaths(t *testing.T) {
	args := map[string]any{
		"path": "a.txt", "content": "see x/y", "filePaths": []any{"b", "c"}, "edits": []any{map[string]any{"file": "d", "old_string": "1/2"}},
		"files": []any{map[string]any{"name": "e.txt", "encoding": "utf8"}}, "tree": map[string]any{"f/g.txt": "text"}, "from": "h", "to": "i",
		"item": "../j", "home": "~", "uri": "FILE:///k", "url": "https://example.com/l", "note": "~", "file_type": "pdf", "limit": int64(3), "win": `C:x`, "label": "plain",
	}
	want := []string{"d", "b", "c", "e.txt", "h", "~", "../j", "a.txt", "i", "f/g.txt", "FILE:///k", "C:x"}
	if diff := cmp.Diff(want, Paths(args)); diff != "" {
		t.Errorf("Paths() (-want +got):\n%s", diff)
	}
}

func TestNamesPath(t *testing.T) {
	for name, want := range map[string]bool{
		"path": true, "pathString": true, "path_string": true, "PathStr": true, "pathstring": true, "filePathString": true, "fileString": true,
		"dirString": true, "folder_str": true, "path_text": true, "pathnames": true, "filePathList": true, "targetDirectory": true, "outputpath": true,
		"pathValue": true, "path2": true,
		"string": false, "new_string": false, "oldStr": false, "file_text": false, "fileContent": false, "file_type": false,
		"folder_id": false, "file_description": false, "text": false, "query": false, "profile": false,
	} {
		if got := NamesPath(Words(name)); got != want {
			t.Errorf("NamesPath(%s) = %v, want %v", name, got, want)
		}
		var found []string
		if want {
			found = []string{"plain"}
		}
		if diff := cmp.Diff(found, Paths(map[string]any{name: "plain"})); diff != "" {
			t.Errorf("Paths({%s}) (-want +got):\n%s", name, diff)
		}
	}
}
