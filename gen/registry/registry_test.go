package registry_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/mcpgen/mcpgen/gen/registry"
)

// TestHostileRegistry checks that a registry can neither fill the memory, lead elsewhere, nor keep a search going.
func TestHostileRegistry(t *testing.T) {
	asked := 0
	answers := map[string]http.HandlerFunc{
		"gives an answer that cannot be read: it has more than 4 MiB": func(w http.ResponseWriter, _ *http.Request) {
			_, _ = fmt.Fprint(w, `{"servers": [`, strings.Repeat(" ", 5<<20), `]}`)
		},
		"it redirects, which is not followed": func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "http://127.0.0.1:1/", http.StatusFound)
		},
		"gives an answer that cannot be read: invalid character": func(w http.ResponseWriter, _ *http.Request) { _, _ = fmt.Fprint(w, "<html>") },
		"answers with status 429":                                func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusTooManyRequests) },
		"": func(w http.ResponseWriter, r *http.Request) { // pages without end
			asked++
			_, _ = fmt.Fprintf(w, `{"servers": [{"server": {"name": "x/%d", "description": "not it"}}, null, 7], "metadata": {"nextCursor": "%d"}}`, asked, asked)
		},
	}
	for want, answer := range answers {
		s := httptest.NewServer(answer)
		r, err := registry.New(s.URL)
		if err != nil {
			t.Fatal(err)
		}
		found, err := r.Search(t.Context(), []string{"weather"}, 10)
		if want == "" && (err != nil || len(found) != 0) || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("Search() = %v, %v, want %q", found, err, want)
		}
		if _, err := r.Get(t.Context(), "a/weather"); err == nil {
			t.Errorf("Get() of a registry that %q succeeded", want)
		}
		s.Close()
	}
	if asked > 10 {
		t.Errorf("a search asked %d times", asked)
	}
	stuck := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }))
	defer stuck.Close()
	r, err := registry.New(stuck.URL)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := r.Search(ctx, []string{"x"}, 1); !errors.Is(err, context.Canceled) {
		t.Errorf("Search() with an ended context = %v", err)
	}
	for _, address := range []string{"", "example.org", "http://example.org", "https://ann:secret@example.org", "file:///etc"} {
		if _, err := registry.New(address); err == nil || strings.Contains(err.Error(), "Hint") {
			t.Errorf("New(%q) = %v, want an error", address, err)
		}
	}
}

// TestHostileEntries checks that a server.json cannot read variables that are not its own, add arguments of its own to the launcher, or
// hide what it does.
func TestHostileEntries(t *testing.T) {
	stdio := registry.Remote{Type: "stdio"}
	npm := func(change func(p *registry.Package)) registry.Server {
		p := registry.Package{RegistryType: "npm", Identifier: "good", Version: "1.0.0", Transport: stdio}
		change(&p)
		return registry.Server{Name: "a/b", Packages: []registry.Package{p}}
	}
	remote := func(r registry.Remote) registry.Server {
		return registry.Server{Name: "a/b", Remotes: []registry.Remote{r}}
	}
	for want, s := range map[string]registry.Server{
		"it wants the variable npm_config_registry": npm(func(p *registry.Package) {
			p.EnvironmentVariables = []registry.Input{{Name: "npm_config_registry", Value: "https://evil"}}
		}),
		"it wants the variable NODE_OPTIONS": npm(func(p *registry.Package) {
			p.EnvironmentVariables = []registry.Input{{Name: "NODE_OPTIONS", Value: "-r /x"}}
		}),
		"not the name of a package":           npm(func(p *registry.Package) { p.Identifier = "--registry=https://evil" }),
		"not the name of a package of":        npm(func(p *registry.Package) { p.Identifier = "good; rm" }),
		"is not a version of it":              npm(func(p *registry.Package) { p.Version = "" }),
		"does not speak over standard input":  npm(func(p *registry.Package) { p.Transport = registry.Remote{Type: "sse"} }),
		"refers to a variable, has invisible": npm(func(p *registry.Package) { p.PackageArguments = []registry.Input{{Value: "${AWS_SECRET_ACCESS_KEY}"}} }),
		"has invisible characters, or is":     npm(func(p *registry.Package) { p.PackageArguments = []registry.Input{{Value: "a\u202eb"}} }),
		"\"units\" is not a name of an argument": npm(func(p *registry.Package) {
			p.PackageArguments = []registry.Input{{Type: "named", Name: "units", Value: "x"}}
		}),
		"\"LD PRELOAD\" is not a name of a variable": npm(func(p *registry.Package) { p.EnvironmentVariables = []registry.Input{{Name: "LD PRELOAD"}} }),
		"it is not an https address":                 remote(registry.Remote{Type: "sse", URL: "http://example.org"}),
		"the address https://{host}/: it is no":      remote(registry.Remote{Type: "sse", URL: "https://{host}/", Variables: map[string]registry.Input{"host": {}}}),
		"is not a name of a header":                  remote(registry.Remote{Type: "sse", URL: "https://example.org", Headers: []registry.Input{{Name: "A: b\nC", Value: "x"}}}),
		`transports of the type "ws"`:                remote(registry.Remote{Type: "ws", URL: "wss://example.org"}),
		"lists no package and no address":            {Name: "a/b"},
	} {
		if entry, _, err := s.Entry("b"); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("Entry() = %v, %v, want %q", entry, err, want)
		}
	}
	s := remote(registry.Remote{Type: "streamable-http", URL: "https://example.org/{AWS_SECRET_ACCESS_KEY}", Variables: map[string]registry.Input{"AWS_SECRET_ACCESS_KEY": {Default: "x", IsSecret: true}}})
	if entry, notes, err := s.Entry("my server"); err != nil || entry.URL != "https://example.org/${MY_SERVER_AWS_SECRET_ACCESS_KEY}" || len(notes) != 1 || notes[0].Variable != "MY_SERVER_AWS_SECRET_ACCESS_KEY" {
		t.Errorf("Entry() = %+v, %+v, %v, want a variable of its own", entry, notes, err)
	}
}

// TestRuntimeArguments checks that a server.json cannot have a launcher load something else, or open the machine to a server.
func TestRuntimeArguments(t *testing.T) {
	runs := func(kind, name, value string) registry.Server {
		in := registry.Input{Type: "named", Name: name, Value: value}
		if name == "" {
			in.Type = "positional"
		}
		return registry.Server{Name: "a/b", Packages: []registry.Package{{
			RegistryType: kind, Identifier: "good", Version: "1.0.0", Transport: registry.Remote{Type: "stdio"}, RuntimeArguments: []registry.Input{in},
		}}}
	}
	for want, s := range map[string]registry.Server{
		`npx to have the argument "--registry https://evil"`:    runs("npm", "--registry", "https://evil"),
		`npx to have the argument "--call id"`:                  runs("npm", "--call", "id"),
		`npx to have the argument "--registry=https://evil"`:    runs("npm", "--registry=https://evil", ""),
		`npx to have the argument "evil"`:                       runs("npm", "", "evil"),
		`npx to have the argument "-y evil"`:                    runs("npm", "-y", "evil"),
		`uvx to have the argument "--from evil"`:                runs("pypi", "--from", "evil"),
		`uvx to have the argument "--python ./evil"`:            runs("pypi", "--python", "./evil"),
		`docker to have the argument "-v /:/host"`:              runs("oci", "-v", "/:/host"),
		`docker to have the argument "--privileged"`:            runs("oci", "--privileged", ""),
		`docker to have the argument "--network host"`:          runs("oci", "--network", "host"),
		`docker to have the argument "-e AWS_SECRET_ACCESS_KEY`: runs("oci", "-e", "AWS_SECRET_ACCESS_KEY"),
		`docker to have the argument "--mount type=bind,src=/,`: runs("oci", "--mount", "type=bind,src=/,dst=/host"),
	} {
		if entry, _, err := s.Entry("b"); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("Entry() = %v, %v, want %q", entry, err, want)
		}
	}
	evil := runs("oci", "-v", "{folder}:/data")
	evil.Packages[0].RuntimeArguments[0].Variables = map[string]registry.Input{"folder": {Default: "/"}}
	if entry, _, err := evil.Entry("b"); err == nil || !strings.Contains(err.Error(), `"-v /:/data"`) {
		t.Errorf("Entry() = %v, %v, want that the folder of the machine is refused", entry, err)
	}
	var hinted interface{ Hint() string }
	if _, _, err := evil.Entry("b"); !errors.As(err, &hinted) || !strings.Contains(hinted.Hint(), "by hand") {
		t.Errorf("the error has no remedy")
	}
	for want, s := range map[string]registry.Server{
		"npx --yes good@1.0.0":                                                     runs("npm", "--yes", ""),
		"uvx --python 3.12 good@1.0.0":                                             runs("pypi", "--python", "3.12"),
		"docker run -i --rm -e KEY=${B_TOKEN} good:1.0.0":                          runs("oci", "-e", "KEY={token}"),
		"docker run -i --rm -v ${B_TOKEN}:/data:ro good:1.0.0":                     runs("oci", "-v", "{token}:/data:ro"),
		"docker run -i --rm --mount type=bind,src=${B_TOKEN},dst=/data good:1.0.0": runs("oci", "--mount", "type=bind,src={token},dst=/data"),
	} {
		if strings.Contains(want, "TOKEN") {
			s.Packages[0].RuntimeArguments[0].Variables = map[string]registry.Input{"token": {IsRequired: true}}
		}
		if entry, _, err := s.Entry("b"); err != nil || entry.String() != want {
			t.Errorf("Entry() = %v, %v, want %q", entry, err, want)
		}
	}
}

func ExampleServer_Entry() {
	s := registry.Server{Name: "com.example/weather", Packages: []registry.Package{{
		RegistryType: "npm", Identifier: "@example/weather", Version: "1.2.0", Transport: registry.Remote{Type: "stdio"},
		PackageArguments:     []registry.Input{{Type: "named", Name: "--city", IsRequired: true, Description: "Where"}},
		EnvironmentVariables: []registry.Input{{Name: "WEATHER_KEY", IsRequired: true, IsSecret: true}},
	}}}
	entry, notes, err := s.Entry(s.Key())
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(entry)
	fmt.Println(entry.Env)
	for _, n := range notes {
		fmt.Printf("set %s: %q\n", n.Variable, n.Text)
	}
	// Output:
	// npx -y @example/weather@1.2.0 --city ${WEATHER_CITY}
	// map[WEATHER_KEY:${WEATHER_KEY}]
	// set WEATHER_KEY: ""
	// set WEATHER_CITY: "Where"
}
