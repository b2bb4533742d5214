package page

import (
	"strings"
	"testing"
)

// TestHostileText: no text escapes from its place.
func TestHostileText(t *testing.T) {
	const hostile = `</p></title><script>alert("1")</script>' onclick="x`
	var b strings.Builder
	err := Write(&b, &Page{Title: hostile, Style: "p { color: red }", Body: []Node{
		El("p", Attr("title", hostile), Text(hostile)),
		If(false, El("p", Text("hidden"))),
		Each([]string{"one", "two"}, func(s *string) Node { return El("li", Text(*s)) }),
	}})
	if err != nil {
		t.Fatal(err)
	}
	const escaped = `&lt;/p&gt;&lt;/title&gt;&lt;script&gt;alert(&#34;1&#34;)&lt;/script&gt;&#39; onclick=&#34;x`
	want := `<!DOCTYPE html><html lang="en"><head><meta charset="utf-8"/>` +
		`<meta name="viewport" content="width=device-width, initial-scale=1"/><title>` + escaped + `</title><style>p { color: red }</style></head>` +
		`<body><p title="` + escaped + `">` + escaped + `</p><li>one</li><li>two</li></body></html>`
	if got := b.String(); got != want {
		t.Errorf("Write() wrote\n%s\nwant\n%s", got, want)
	}
}
