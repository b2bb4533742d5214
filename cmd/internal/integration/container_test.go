package integration

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/ory/dockertest/v3"
	"github.com/ory/dockertest/v3/docker"
)

// TestServerInContainer reaches a third-party server over HTTP that demands a token. The token comes from the environment, and is
// stored nowhere.
func TestServerInContainer(t *testing.T) {
	t.Parallel()
	const token = "tok-8d1b6fe2c0"
	url := startContainer(t, token)
	p := newProject(t, map[string]server{
		"everything": {Type: "http", URL: url, Headers: map[string]string{"Authorization": "Bearer ${IT_TOKEN}"}},
	})
	nowhere := func(t *testing.T, out outcome) {
		t.Helper()
		if strings.Contains(out.stdout+out.stderr, token) {
			t.Errorf("the token was printed, want no %q in it:\n%s%s", token, clip(out.stdout), clip(out.stderr))
		}
		if found := takeSnapshot(t, p.dir).holds(token); len(found) > 0 {
			t.Errorf("the token is in %q, want len(found) at most 0", found)
		}
	}
	for _, tt := range []struct {
		name string
		env  []string
		args []string
		code int
		says []string
	}{
		{"without the variable", nil, []string{"sync"}, 3, []string{"everything", "IT_TOKEN", "Authorization"}},
		{"with a wrong token", []string{"IT_TOKEN=wrong-" + token}, []string{"sync"}, 3, []string{"everything", "401"}},
		{"sync", []string{"IT_TOKEN=" + token}, []string{"sync", "--json"}, 0, []string{`"inSync"`}},
		{"sync with debugging", []string{"IT_TOKEN=" + token}, []string{"sync", "--debug"}, 0, []string{"15 tools"}},
		{"check", []string{"IT_TOKEN=" + token}, []string{"sync", "--check"}, 0, nil},
		{"check with a wrong token", []string{"IT_TOKEN=wrong-" + token}, []string{"sync", "--check"}, 3, []string{"everything", "401"}},
		{"show", nil, []string{"show", "everything__echo"}, 0, nil},
	} {
		p.env = tt.env
		out := p.run("mcpgen", tt.args...)
		if out.code != tt.code {
			t.Errorf("%s: exit code %d, want %d\n%s%s", tt.name, out.code, tt.code, clip(out.stdout), clip(out.stderr))
		}
		for _, want := range tt.says {
			if !strings.Contains(out.stdout+out.stderr, want) {
				t.Errorf("%s: %q is not in\n%s%s", tt.name, want, clip(out.stdout), clip(out.stderr))
			}
		}
		nowhere(t, out)
	}

	p.write("ask.ts", `import { getSum } from "./servers/everything";
const env = typeof process === "undefined" ? {} : process.env;
console.log(await getSum({ a: 40, b: 2 }), Object.keys(env).includes("IT_TOKEN"));
`)
	for _, env := range []string{"IT_TOKEN=" + token, "IT_TOKEN=wrong-" + token} {
		p.env = []string{env}
		out := p.run("mcprun", "--sandbox", "docker", "--debug", "ask.ts")
		nowhere(t, out)
		if right := !strings.Contains(env, "wrong"); right != (out.code == 0) || right != (out.stdout == "The sum of 40 and 2 is 42. false\n") {
			t.Errorf("right token: %v; exit code %d\n%s%s", right, out.code, clip(out.stdout), clip(out.stderr))
		}
	}
}

// startContainer starts the server in the sandboxes' own image, which holds node, and returns its address.
func startContainer(t *testing.T, token string) string {
	t.Helper()
	entry(t, everythingPackage)
	pool, image := needImage(t)
	front, err := filepath.Abs(filepath.Join("testdata", "front.cjs"))
	if err != nil {
		t.Fatal(err)
	}
	const port = "3001/tcp"
	resource, err := pool.RunWithOptions(&dockertest.RunOptions{
		Repository: strings.SplitN(image, ":", 2)[0], Tag: strings.SplitN(image, ":", 2)[1],
		Labels:       map[string]string{"mcpgen.integration": "server"},
		Entrypoint:   []string{"node"},
		Cmd:          []string{"--require", "/front.cjs", "/npm/node_modules/" + everythingPackage + "/dist/index.js", "streamableHttp"},
		Env:          []string{"PORT=3001", "FRONT_TOKEN=" + token},
		User:         "65534:65534",
		Mounts:       []string{filepath.Join(root, "testdata", "npm") + ":/npm:ro", front + ":/front.cjs:ro"},
		PortBindings: map[docker.Port][]docker.PortBinding{port: {{HostIP: "127.0.0.1"}}},
		ExposedPorts: []string{port},
	}, func(c *docker.HostConfig) {
		c.AutoRemove = true
	})
	if err != nil {
		t.Fatalf("start the server's container: %v", err)
	}
	t.Cleanup(func() {
		var none *docker.NoSuchContainer
		if err := pool.Purge(resource); err != nil && !errors.As(err, &none) {
			t.Errorf("remove the server's container: %v", err)
		}
	})
	if err := resource.Expire(300); err != nil { // also if this process is killed
		t.Fatal(err)
	}
	if ip := resource.GetBoundIP(port); ip != "127.0.0.1" {
		t.Fatalf(`the server is published on %q, want "127.0.0.1"`, ip)
	}
	url := "http://" + resource.GetHostPort(port) + "/mcp"
	pool.MaxWait = commandTime
	if err := pool.Retry(func() error { return answers(url) }); err != nil {
		t.Fatalf("the server in the container does not answer: %v", err)
	}
	return url
}

// answers reports whether the server refuses us, as it should without a token.
func answers(url string) error {
	client := &http.Client{Timeout: 2 * time.Second}
	res, err := client.Get(url)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	if res.StatusCode != http.StatusUnauthorized {
		return fmt.Errorf("status %s", res.Status)
	}
	return nil
}

// needImage returns the pinned image. It checks that the image exists, because dockertest would fetch a missing one.
func needImage(t *testing.T) (*dockertest.Pool, string) {
	t.Helper()
	needSandbox(t, "docker", "typescript")
	pool := engine()
	if pool == nil {
		need(t, errors.New("no Docker Engine answers"))
	}
	text, err := os.ReadFile(filepath.Join(root, "runner", "sandbox", "docker", "image.lock.json"))
	if err != nil {
		t.Fatal(err)
	}
	var lock struct {
		Images map[string]struct{ ID string }
	}
	if err := json.Unmarshal(text, &lock); err != nil {
		t.Fatal(err)
	}
	id := strings.TrimPrefix(lock.Images[runtime.GOARCH].ID, "sha256:")
	if len(id) < 12 {
		t.Fatalf("no image is pinned for %s: got %v, want at least 12", runtime.GOARCH, len(id))
	}
	name := "mcpgen/sandbox:" + id[:12]
	found, err := pool.Client.InspectImage(name)
	if err == nil && found.ID != "sha256:"+id {
		err = fmt.Errorf("it is %s", found.ID)
	}
	if err != nil {
		need(t, fmt.Errorf("image %s: %w: run `mcprun image`", name, err))
	}
	return pool, name
}
