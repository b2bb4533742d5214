package bridge_test

import (
	"context"
	"encoding/json"
	"strings"
	"sync"
	"testing"

	"github.com/mcpgen/mcpgen/runner/call"
	"github.com/mcpgen/mcpgen/runner/sandbox"
	"github.com/mcpgen/mcpgen/runner/script"
)

// TestGuestAsksHost: the library's functions that ask the host use the real bridge, with exact values, and raise the client's errors.
func TestGuestAsksHost(t *testing.T) {
	both(t, `
import { detokenizePii, listSkills, searchTools, tokenizePii, MCPArgumentError, MCPError } from "mcprun";
const hits = await searchTools("x", { limit: 2 });
console.log(hits.length, hits[0].tool);
const value = await tokenizePii({ n: 12345678901234567890n, none: null, list: [1.5, "a@b.c"] });
console.log(value.n === 12345678901234567890n, value.none, value.list[1]);
try { await detokenizePii("[EMAIL_9]"); } catch (e) { console.log(e instanceof MCPArgumentError, e.message); }
try { await listSkills(); } catch (e) { console.log(e instanceof MCPError, e.message.replace("listSkills", "f")); }
const all = await Promise.all(Array.from({ length: 50 }, (_, i) => tokenizePii(i)));
console.log(all.every((v, i) => v === i));`, `
from mcprun import MCPArgumentError
from concurrent.futures import ThreadPoolExecutor
hits = search_tools("x", limit=2)
print(len(hits), hits[0]["tool"])
value = tokenize_pii({"n": 12345678901234567890, "none": None, "list": [1.5, "a@b.c"]})
print(str(value["n"] == 12345678901234567890).lower(), "null" if value["none"] is None else "?", value["list"][1])
try: detokenize_pii("[EMAIL_9]")
except MCPArgumentError as e: print(str(isinstance(e, MCPError)).lower(), e)
try: list_skills()
except MCPError as e: print("true", str(e).replace("list_skills", "f"))
with ThreadPoolExecutor(8) as pool:
    print(str(list(pool.map(tokenize_pii, range(50))) == list(range(50))).lower())`, func(t *testing.T, r guestRun) {
		if r.lang == "typescript" {
			r.code = bundledScript(t, r.code)
		}
		var mu sync.Mutex
		asked := map[string]int{}
		r.answers = func(_ context.Context, ask *call.Ask) (json.RawMessage, error) {
			mu.Lock()
			defer mu.Unlock()
			asked[ask.Method]++
			switch ask.Method {
			case "tools/search":
				if !strings.Contains(string(ask.Params), `"limit":2`) {
					t.Errorf("asked with %s, want %q in it", ask.Params, `"limit":2`)
				}
				return json.RawMessage(`{"hits":[{"tool":"a__b"},{"tool":"a__c"}]}`), nil
			case "pii/tokenize":
				return json.RawMessage(strings.Replace(string(ask.Params), "a@b.c", "[EMAIL_1]", 1)), nil
			case "pii/detokenize":
				return nil, &call.Error{Kind: call.KindArgument, Message: "the text is too long"}
			}
			return nil, &call.Error{Kind: call.KindArgument, Message: `unknown method "` + ask.Method + `": no such thing`}
		}
		e := r.run(t)
		want := "2 a__b\ntrue null [EMAIL_1]\ntrue the text is too long\ntrue f(): this run has no skills\ntrue\n"
		if e.err != nil || e.stdout != want || e.stderr != "" || asked["pii/tokenize"] != 51 {
			t.Errorf("%+v, want stdout %v, stderr \"\", 51 and no error\nasked %v", e, want, asked)
		}
	})
}

// TestGuestFailsAskingHost: an uncaught error points to the script's line.
func TestGuestFailsAskingHost(t *testing.T) {
	both(t, "import { loadSkill } from \"mcprun\";\nasync function main() {\n  return loadSkill(\"top\");\n}\nawait main();\n",
		"def main():\n    return load_skill(\"top\")\nmain()\n", func(t *testing.T, r guestRun) {
			line := "return load_skill(\"top\")"
			if r.lang == "typescript" {
				r.code, line = bundledScript(t, r.code), "return loadSkill(\"top\");"
			}
			r.answers = func(context.Context, *call.Ask) (json.RawMessage, error) {
				return nil, &call.Error{Kind: call.KindDenied, Message: "not this one"}
			}
			e := r.run(t)
			if e.err != nil || e.exit != 1 || !strings.Contains(e.stderr, line) || !strings.Contains(e.stderr, "MCPDeniedError: not this one") ||
				strings.Contains(e.stderr, "_mcprun_host") {
				t.Errorf("exit %d, want 1, %q in it, \"MCPDeniedError: not this one\" in it, no \"_mcprun_host\" in it and no error\n%s", e.exit, line, e.stderr)
			}
		})
}

// bundledScript bundles a script with the library.
func bundledScript(t *testing.T, code string) string {
	t.Helper()
	job, err := script.Read(t.Context(), script.Source{Name: "script.ts", Code: code, Language: sandbox.LangTypeScript}, script.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return job.Code
}
