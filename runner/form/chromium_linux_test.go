package form

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/mcpgen/mcpgen/runner/internal/page/pagetest"
)

// TestInChromium fills a form in as a person does, a nested field included, and checks that nothing on the page breaks its policy.
func TestInChromium(t *testing.T) {
	f := readForm(t, strings.Replace(lead, "title: Full name", "title: 'Name <img src=x onerror=document.title=1>'", 1))
	x, err := f.Fill(json.RawMessage(`{"Mail":"nobody","address":{"zip":"0150"},"paid":true}`), nil)
	if err != nil {
		t.Fatal(err)
	}
	b := pagetest.New(t, true)
	p := servePage(t, x)
	b.Do("Page.enable", map[string]any{}, nil)
	b.Do("Page.addScriptToEvaluateOnNewDocument", map[string]any{"source": `addEventListener("securitypolicyviolation", (e) => { (window.broken ??= []).push(e.violatedDirective + " " + e.sourceFile); });`}, nil)
	b.Do("Page.navigate", map[string]any{"url": p.URL()}, nil)
	b.Await(`document.getElementById("main")?.dataset.ready === "yes"`)
	if got := b.Eval(`document.querySelector("[name='root[email]']").value + " " + document.querySelectorAll("img").length + " " + document.getElementById("problems").textContent`); got != `nobody 0 email: expected a text of the format email, got string "nobody"name is missingdue is missingaddress.city is missing` {
		t.Errorf("the page shows %q", got)
	}
	set := func(name, value string) {
		b.Eval(`{ const e = document.querySelector("[name='root` + name + `']"); e.value = "` + value + `"; e.dispatchEvent(new Event("change", { bubbles: true })); 1 }`)
	}
	set("[name]", "Ann Lee")
	set("[email]", "ann@example.com")
	set("[due]", "2026-12-31")
	b.Eval(`document.getElementById("send").click()`)
	b.Await(`document.getElementById("problems").textContent === "address.city is missing"`)
	set("[address][city]", "Oslo")
	b.Eval(`document.getElementById("send").click()`)
	b.Await(`document.getElementById("main").textContent.startsWith("The form is complete")`)
	<-p.Done()
	if got, want := string(x.Values()), `{"name":"Ann Lee","email":"ann@example.com","due":"2026-12-31","paid":true,"address":{"city":"Oslo","zip":"0150"},"source":"web"}`; got != want {
		t.Errorf("values %s, want %s", got, want)
	}
	if broken := b.Eval(`JSON.stringify(window.broken ?? [])`); broken != "[]" {
		t.Errorf("the page broke its policy: %v", broken)
	}
}
