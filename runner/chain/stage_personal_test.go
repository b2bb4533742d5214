package chain

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/mcpgen/mcpgen/gen/config"
	"github.com/mcpgen/mcpgen/runner/pii"
	"github.com/mcpgen/mcpgen/runner/pii/piitest"
)

// TestMaskResult: images stay as they are, and nothing hides a text as one.
func TestMaskResult(t *testing.T) {
	image := strings.Repeat("+4930901820//", 16) // which has the form of a phone number
	deep := strings.Repeat("[", 5000) + `{"mimeType":"x"}` + strings.Repeat("]", 5000)
	for _, c := range []struct{ in, want string }{
		{`{"content":[{"type":"image","mimeType":"image/png","data":"` + image + `"},{"type":"text","text":"to ann@example.com <b>"}]}`,
			`{"content":[{"data":"` + image + `","mimeType":"image/png","type":"image"},{"type":"text","text":"to [EMAIL_1] <b>"}]}`},
		{`{"contents":[{"uri":"a://b","mimeType":"image/png","blob":"` + image + `"}]}`, `{"contents":[{"blob":"` + image + `","mimeType":"image/png","uri":"a://b"}]}`},
		{`{"content":[{"mimeType":"text/plain","data":"ann@example.com"}]}`, `{"content":[{"data":"[EMAIL_1]","mimeType":"text/plain"}]}`},
		{`{"structuredContent":{"mimeType":"a/b","data":"` + image + `","to":"ann@example.com"}}`, ""},
		{deep, deep},
	} {
		p := &Personal{Outlet: pii.NewOutlet(piitest.Vault(t), pii.OutletSettings{}), Mode: config.PIIBridge}
		got := string(maskResult(p.Outlet, json.RawMessage(c.in), true))
		if c.want != "" && got != c.want || strings.Contains(got, "ann@") || !json.Valid([]byte(got)) {
			t.Errorf("maskResult(%.200s)\n got %.400s\nwant %.400s", c.in, got, c.want)
		}
	}
}

func TestPersonalModes(t *testing.T) {
	var none *Personal
	some := &Personal{Mode: config.PIIOutput, Servers: map[string]config.PIIMode{"crm": config.PIIBridge, "web": config.PIIOff}}
	got := fmt.Sprint(none.Of("crm"), none.Bridges(), none.Mask("ann@example.com"), string(none.MaskJSON([]byte("1"))), some.Of("crm"), some.Of("web"), some.Of("other"), some.Bridges())
	if want := fmt.Sprint("off", false, "ann@example.com", "1", "bridge", "off", "output", true); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}
