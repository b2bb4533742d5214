package config

import (
	"cmp"
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	"github.com/santhosh-tekuri/jsonschema/v5"
	"go.yaml.in/yaml/v3"

	"github.com/mcpgen/mcpgen/gen/config/shape"
)

// TestSchemaHasTheKeysThatAreRead compares the schema with the fields that take the values, object by object.
func TestSchemaHasTheKeysThatAreRead(t *testing.T) {
	top := settingsSchema().Properties
	server := settingsSchema().Defs["server"].Properties
	for name, c := range map[string]struct {
		fields     any
		properties map[string]*shape.Schema
	}{
		"top":        {Settings{}, top},
		"defaults":   {ServerDefaults{}, top["defaults"].Properties},
		"server":     {ServerSettings{}, server},
		"oauth":      {OAuth{}, server["oauth"].Properties},
		"embeddings": {EmbeddingSettings{}, top["search"].Properties["embeddings"].Properties},
	} {
		var fields []string
		for _, f := range reflect.VisibleFields(reflect.TypeOf(c.fields)) {
			key, _, _ := strings.Cut(f.Tag.Get("yaml"), ",")
			if key != "-" && f.IsExported() {
				fields = append(fields, cmp.Or(key, strings.ToLower(f.Name)))
			}
		}
		want := slices.DeleteFunc(sortedKeys(c.properties), func(key string) bool {
			return name == "top" && (key == "version" || key == "config") // Locate reads config
		})
		slices.Sort(fields)
		if diff := gocmp.Diff(want, fields); diff != "" {
			t.Errorf("%s (-schema +fields):\n%s", name, diff)
		}
	}
}

// TestSchemaAgreesWithTheReader checks that schema and reader accept or refuse the same files.
func TestSchemaAgreesWithTheReader(t *testing.T) {
	compiled, err := jsonschema.CompileString("mcpgen.schema.json", SettingsSchema())
	if err != nil {
		t.Fatal(err)
	}
	for text, valid := range map[string]bool{
		StarterSettings: true,
		"version: 1\npolicy:\n  level: read_only\n  ceilings: {timeout: 1m, cpu: 1m, memory: 1GB, disk: 500, processes: 9, risk: high}\n  rules:\n  - {name: n, deny: '*', hint: writes, risk: high, when: args.a > 1, over: {run: 5, minute: 9}}\n  - allow: [a, b]\n  customers: {ann: {level: execute_full, ceilings: {}, rules: [{ask: c}]}}\n": true,
		"version: 1\npolicy:\n":                                         true,
		"version: 1\npolicy: {rules: [{deny: a, ask: b}]}\n":            false,
		"version: 1\npolicy: {rules: [{name: a}]}\n":                    false,
		"version: 1\npolicy: {rules: [{deny: []}]}\n":                   false,
		"version: 1\npolicy: {rules: [{deny: ''}]}\n":                   false,
		"version: 1\npolicy: {rules: [{deny: a, over: {minute: 0}}]}\n": false,
		"version: 1\npolicy: {rules: [{deny: a, hint: reading}]}\n":     false,
		"version: 1\npolicy: {level: []}\n":                             false,
		"version: 1\npolicy: {level: a, levels: {a: {extends: read_only, read: [], write: [output], hosts: [a.example], commands: {allow: [git], deny: [rm]}}}}\n": true,
		"version: 1\npolicy: {levels: {a: {write: [output]}}}\n":                     false,
		"version: 1\npolicy: {levels: {a: {extends: a}}}\n":                          false,
		"version: 1\npolicy: {levels: {a: {extends: read_only, write: output}}}\n":   false,
		"version: 1\npolicy: {levels: {a: {extends: read_only, commands: [git]}}}\n": false,
		"version: 1\npolicy: {levels: {a: {extends: read_only, call: []}}}\n":        false,
		"version: 1\npolicy: {customers: {ann: {customers: {}}}}\n":                  false,
		"version: 1\npolicy: {ceilings: {timeout: 9}}\n":                             false,
		"version: 1\nservers:\n  crm: {alias: c, include: ['*'], exclude: [a, 1], timeout: 1m30s, startup_timeout: 500ms, closed_inputs: true, trusted: true, disabled: false, protocol: modern, pass_env: [A_1], env_file: x, oauth: {client_id: a, client_secret: '${S}', scopes: a b, client_metadata_url: u, resource: r, callback_port: 80, grant: client_credentials, token_endpoint: t}}\n": true,
		"version: 1\nservers:\n  crm:\n":                                                       true,
		"version: 1\nservers:\nrun:\ndefaults:\n":                                              true,
		"version: 1\nrun: {sandbox: docker, image: i, timeout: 2m, memory: 512, workspace: w}": true,
		"version: 1\nconfig: conf/servers.json":                                                true,
		"version: 1\nschedules:\n":                                                             true,
		"version: 1\nplugins:\nguardrails:\n":                                                  true,
		"version: 1\nplugins: [a.py, {run: [sh, a.sh], name: n, on: [run, run_end, call, result], check: privacy, mode: stream, timeout: 1s, on_error: allow, tools: [a, 'b*']}]\n": true,
		"version: 1\nplugins: [{on: [call]}]\n":             false,
		"version: 1\nplugins: a.py\n":                       false,
		"version: 1\nplugins: [{run: a.py, on: []}]\n":      false,
		"version: 1\nplugins: [{run: []}]\n":                false,
		"version: 1\nplugins: [{run: {a: b}}]\n":            false,
		"version: 1\nplugins: [{run: a.py, mode: twice}]\n": false,
		"version: 1\nguardrails: {enabled: true, strict: true, checks: {security: false, privacy: true, business: true}, max_time: 300s, max_memory: 512MB}\n": true,
		"version: 1\nguardrails: {checks: {law: true}}\n": false,
		"version: 1\nguardrails: {max_time: 300}\n":       false,
		"version: 1\nschedules: {a.b_C-1: {cron: '@daily', script: a.ts, args: [--week], vars: {region: eu, n: [1]}, customer: acme, timeout: 5m, network: true}, b: {cron: CRON_TZ=UTC 0 2 * * *, skill: report}}\n": true,
		"version: 1\nschedules: {a: {script: a.ts}}\n":                              false,
		"version: 1\nschedules: {a: {cron: '@daily'}}\n":                            false,
		"version: 1\nschedules: {a: {cron: '@daily', script: a.ts, skill: a}}\n":    false,
		"version: 1\nschedules: {a b: {cron: '@daily', script: a.ts}}\n":            false,
		"version: 1\nschedules: {a: {cron: '@daily', script: a.ts, shell: true}}\n": false,
		"version: 1\nschedules: {a: {cron: '@daily', script: a.ts, args: x}}\n":     false,
		"version: 1\nschedules: {a: {cron: '@daily', script: a.ts, vars: [x]}}\n":   false,
		"version: 1\nschedules: {a: {cron: '@daily', script: a.ts, timeout: 5}}\n":  false,
		"version: 1\nconfig: ''":          false,
		"version: 1\nrun: {memory: 1GiB}": true,
		"version: 1\nrun: {risk: high, trust: exposed, restricted: true, cpu: 5s, processes: 20, open_files: 99, file_size: 1, output_limit: 5MB, disk: 2GiB, disk_files: 7, tmp: 16MiB}":                                              true,
		"version: 1\nrun: {call_timeout: 5s, parallel: 8, max_output: 30000, max_result: 2MiB, allow_drift: false, strict_output: true, no_cache: true, elicit: prompt, daemon: auto, tsc: tsc, pyright: bin/pyright, skills: skills}": true,
		"version: 1\nservers: {crm: {max_time: 5m, parallel: 4, idempotent: [put_*], read_only: [get_*]}}":                                                                                                                             true,
		"version: 1\nservers: {crm: {category: sales}}":                                      true,
		"version: 1\nservers: {crm: {category: ' '}}":                                        false,
		"version: 1\nservers: {crm: {category: [a]}}":                                        false,
		"version: 1\ncache:":                                                                 true,
		"version: 1\ncache: {ttl: 10m, size: 16MiB, tools: {'drive__*': 1h, web__now: off}}": true,
		"version: 1\ncache: {ttl: 'off'}":                                                    true,
		"version: 1\ncache: {ttl: 5}":                                                        false,
		"version: 1\ncache: {ttl: never}":                                                    false,
		"version: 1\ncache: {tools: [a]}":                                                    false,
		"version: 1\ncache: {tools: {a: true}}":                                              false,
		"version: 1\ncache: {customers: {}}":                                                 false,
		"version: 1\nsearch:":                                                                true,
		"version: 1\nsearch: {embeddings: }":                                                 true,
		"version: 1\nsearch: {embeddings: {url: 'https://api.openai.com/v1', model: m, api: azure, api_version: '1', key_env: A_KEY, dimensions: 512, timeout: 5s}}": true,
		"version: 1\nsearch: {embeddings: {url: 'http://localhost:11434/v1', model: m, api: openai}}":                                                                true,
		"version: 1\nsearch: {embeddings: {url: 'https://x'}}":                                                                                                       false,
		"version: 1\nsearch: {embeddings: {model: m}}":                                                                                                               false,
		"version: 1\nsearch: {embeddings: {url: 'ftp://x', model: m}}":                                                                                               false,
		"version: 1\nsearch: {embeddings: {url: 'https://x', model: ''}}":                                                                                            false,
		"version: 1\nsearch: {embeddings: {url: 'https://x', model: m, api: other}}":                                                                                 false,
		"version: 1\nsearch: {embeddings: {url: 'https://x', model: m, key_env: sk-1}}":                                                                              false,
		"version: 1\nsearch: {embeddings: {url: 'https://x', model: m, key: sk-1}}":                                                                                  false,
		"version: 1\nsearch: {embeddings: {url: 'https://x', model: m, dimensions: 0}}":                                                                              false,
		"version: 1\nsearch: {embeddings: {url: 'https://x', model: m, timeout: 5}}":                                                                                 false,
		"version: 1\nsearch: {embeddings: [a]}":                                                                                                                      false,
		"version: 1\nsearch: {index: a}":                                                                                                                             false,
		"version: 1\nservers: {crm: {parallel: 0}}":                                                                                                                  false,
		"version: 1\nservers: {crm: {idempotent: put}}":                                                                                                              false,
		"version: 1\nrun: {daemon: sometimes}":                                                                                                                       false,
		"version: 1\nrun: {allow_drift: perhaps}":                                                                                                                    false,
		"version: 1\nrun: {risk: none}":                                                                                                                              false,
		"version: 1\nrun: {processes: 0}":                                                                                                                            false,
		"version: 1\nrun: {processes: many}":                                                                                                                         false,
		"version: 1\nrun: {open_files: 1.5}":                                                                                                                         false,
		"version: 1\nrun: {cpu: 5}":                                                                                                                                  false,
		"version: 1\nrun: {disk: [1]}":                                                                                                                               false,
		"version: 1\nrun: {disk: true}":                                                                                                                              false,
		"version: 1\nrun: {disk: ''}":                                                                                                                                false,
		"version: 1\nrun: {disk_files: 3e10}":                                                                                                                        false,
		"version: 1\nservers: {crm: {allow_text: [conceal, bidi]}}":                                                                                                  true,
		"version: 1\nservers: {crm: {allow_text: order}}":                                                                                                            false,
		"version: 1\nservers: {crm: {allow_text: ['']}}":                                                                                                             false,
		"version: 1\nservers: {crm: {oauth: {scopes: [a]}}}":                                                                                                         true,
		"version: 1\nservers: {crm: {oauth: {grant: password}}}":                                                                                                     false,
		"version: 1\nservers: {crm: {oauth: {client_secret: literal}}}":                                                                                              false,
		"version: 1\nservers: {crm: {oauth: {callback_port: 0}}}":                                                                                                    false,
		"version: 1\nservers: {crm: {protocol: old}}":                                                                                                                false,
		"version: 1\nservers: {crm: {pass_env: [a b]}}":                                                                                                              false,
		"version: 1\nservers: {crm: {timeout: 30}}":                                                                                                                  false,
		"version: 1\nservers: {crm: {timeout: soon}}":                                                                                                                false,
		"version: 1\nservers: {crm: {trusted: maybe}}":                                                                                                               false,
		"version: 1\nservers: {crm: {include: a}}":                                                                                                                   false,
		"version: 1\nservers: {crm: {include: ['']}}":                                                                                                                false,
		"version: 1\nservers: {crm: {alias: ' '}}":                                                                                                                   false,
		"version: 1\nrun: {memory: [1]}":                                                                                                                             false,
		"version: 1\nrun: {cpu: 1}":                                                                                                                                  false,
		"version: 1\ndefaults: {include: [a]}":                                                                                                                       false,
		"version: 2":                                                                                                                                                 false,
		"out: x":                                                                                                                                                     false,
		"version: 1\nlanguages: []":                                                                                                                                  false,
		"version: 1\nlanguages: [typescript, typescript]":                                                                                                            false,
		"version: 1\nout: ''":                                                                                                                                        false,
		"version: 1\nno: 1":                                                                                                                                          false,
	} {
		_, readErr := parseSettings("mcpgen.yaml", []byte(text), []Server{{Key: "crm"}})
		var value any
		if err := yaml.Unmarshal([]byte(text), &value); err != nil {
			t.Fatal(err)
		}
		schemaErr := compiled.Validate(asJSON(t, value))
		if (readErr == nil) != valid || (schemaErr == nil) != valid {
			t.Errorf("%q: reader %v, schema %v; valid %t", text, readErr, schemaErr, valid)
		}
	}
}

func asJSON(t *testing.T, v any) any {
	t.Helper()
	text, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	var out any
	if err := json.Unmarshal(text, &out); err != nil {
		t.Fatal(err)
	}
	return out
}

// TestDocumentedSettings reads every mcpgen.yaml that the documentation shows.
func TestDocumentedSettings(t *testing.T) {
	root := filepath.Join("..", "..")
	pages := []string{filepath.Join(root, "README.md")}
	for _, pattern := range []string{"*.md", "*/*.md"} {
		found, err := filepath.Glob(filepath.Join(root, "docs", pattern))
		if err != nil {
			t.Fatal(err)
		}
		pages = append(pages, found...)
	}
	compiled, err := jsonschema.CompileString("mcpgen.schema.json", SettingsSchema())
	if err != nil {
		t.Fatal(err)
	}
	found := 0
	for _, page := range pages {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range regexp.MustCompile("(?s)```yaml\n(.*?)```").FindAllStringSubmatch(string(text), -1) {
			if !strings.Contains(m[1], "version: 1\n") {
				continue // another kind of file, such as a workflow
			}
			found++
			var value map[string]any
			if err := yaml.Unmarshal([]byte(m[1]), &value); err != nil {
				t.Fatalf("%s: %v", page, err)
			}
			var known []Server
			servers, _ := value["servers"].(map[string]any)
			for name := range servers {
				known = append(known, Server{Key: name})
			}
			if _, err := parseSettings("mcpgen.yaml", []byte(m[1]), known); err != nil {
				t.Errorf("%s: %v", page, err)
			}
			if err := compiled.Validate(asJSON(t, value)); err != nil {
				t.Errorf("%s: %v", page, err)
			}
		}
	}
	if found == 0 {
		t.Error("the documentation shows no mcpgen.yaml")
	}
}
