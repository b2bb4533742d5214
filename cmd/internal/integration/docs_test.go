package integration

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
)

// notRun lists the commands of README.md and docs that the test does not run, each with the reason. Every other command in a
// block of sh or console is run, in the order of its page. The commands of mcpgen and mcprun listed here must still parse.
var notRun = map[string]string{
	"git clone https://github.com/mcpgen/mcpgen":              "clones from the network; the page's setup links this clone",
	"apt-get install runsc":                                   "installs for the whole machine",
	"go get -tool github.com/mcpgen/mcpgen/cmd/mcpgen@latest": "installs from a registry",
	"go tool mcpgen sync --check --offline":                   "needs the line before it",
	"docker build -t mcpgen/sandbox:mine https://github.com/mcpgen/mcpgen.git#main:runner/sandbox/docker": "builds an image from the network",
	"mcprun --image mcpgen/sandbox:mine script.py":                                                        "needs the line before it",
	`docker run -i --rm --user "$(id -u):$(id -g)" -v "$PWD:/project" ghcr.io/mcpgen/mcprun`:              "pulls an image",
	"mcprun model check":    "asks a model",
	"mcprun image":          "pulls an image",
	"mcprun image --newest": "pulls an image",
	"mcprun image --data":   "builds an image",
	"uv pip compile --universal --python-version 3.11 --generate-hashes requirements.in -o requirements.txt": "needs uv",
	"mcprun packages install": "installs from registries",
	"mcprun --language python -e 'import pandas; print(pandas.__version__)'":                                           "needs the line before it",
	"mcprun --sandbox gvisor script.py":                                                                                "needs gVisor",
	"mcprun --runsc /opt/runsc script.py":                                                                              "needs gVisor at that place",
	"mcpgen learn --from runs":                                                                                         "the demo servers declare what all their tools return",
	`mcpgen learn weather__get_forecast --args '{"city":"Oslo"}' --args '{"city":"Lima"}'`:                             "the demo servers declare what all their tools return",
	"mcpgen learn crm__list_contacts --replies recorded.jsonl":                                                         "the demo servers declare what all their tools return",
	"mcpgen learn crm__list_contacts --forget":                                                                         "needs the line before it",
	"mcprun call --list 'uvx mcp-server-time'":                                                                         "downloads a server",
	"mcprun call 'uvx mcp-server-time' get_current_time timezone=Europe/Oslo":                                          "downloads a server",
	"mcprun call https://mcp.example.com/mcp search query=sandbox":                                                     "needs that server",
	"mcprun --network issues.py":                                                                                       "connects to a server outside this machine",
	"MCPRUN_NETWORK_CONNECT_TO=api.github.com:443:127.0.0.1:8443 SSL_CERT_FILE=test-ca.pem mcprun --network issues.py": "needs that server",
	"mcpgen login web":                                           "opens a browser",
	"mcpgen login web --port 41234":                              "waits for a browser",
	"mcpgen logout web":                                          "needs a login",
	"ssh -L 41234:127.0.0.1:41234 host":                          "needs another machine",
	"mcprun serve --http 127.0.0.1:8700 --token-file tokens.txt": "serves until it is stopped",
	`mcprun task "Calculate 5 + 3"`:                              "needs a model",
	`mcprun task --customer acme --save-skill weekly-leads "Copy the leads of this week from the sheet leads to the CRM"`: "needs a model",
	`mcprun form fill lead --text "Ann Lee of Harbor & Sons asked for a quote, ann.lee@example.com"`:                      "asks a model",
	"mcprun form fill lead --data leads.csv --row 2 --page":                                                               "serves until somebody answers",
	"mcprun approvals": "serves until it is stopped",
	"pg_dump --format=custom --file=state.dump --dbname=postgres://mcprun@db.example.com/mcprun":         "needs a server of Postgres",
	"pg_restore --dbname=postgres://mcprun@db.example.com/restored state.dump":                           "needs a server of Postgres",
	"mcprun audit verify --state postgres://mcprun@db.example.com/restored --head heads-of-that-day.txt": "needs a server of Postgres",
	"mcprun audit list --state old.db":                                          "needs an old database",
	"mcprun audit verify --state old.db --head old-heads.txt --key old-key.txt": "needs an old database",
	"mcprun --allow crm__update_record report.ts":                               "needs a terminal, as the page says",
	"mcprun --approve page close.ts":                                            "waits for the line before it",
	"make bench":                                                                "measures for minutes",
	"BENCH_JSON=bench.json make bench":                                          "measures for minutes",
	"BENCH_ONLY=search BENCH_EMBEDDINGS=text-embedding-3-small BENCH_EMBEDDINGS_URL=https://api.openai.com/v1 BENCH_EMBEDDINGS_KEY=$OPENAI_API_KEY make bench": "calls a model",
	"go test -v -run 'TestMutations|TestPairs|TestRandomPairs' ./gen/catalog/diff":                                                                             "measures for minutes",
	"go test -v -run TestMeasure ./runner/script/migrate":                                                                                                      "measures for minutes",
	`git tag -s v1.2.3 -m "v1.2.3"`:                       "publishes a release",
	"git push origin v1.2.3":                              "publishes a release",
	`git tag -fs v1 -m "v1.2.3" && git push -f origin v1`: "publishes a release",
}

// pageSettings holds what a page needs besides a project with the demo servers, their tree, and the files of testdata/docs.
type pageSettings struct {
	setup   string // commands that are run first
	sandbox string // default: embedded
	answer  string // run in a terminal, and answer each question with this
	npm     bool   // with the packages of testdata/npm
}

var pages = map[string]pageSettings{
	"README.md":                         {setup: `ln -s "$ROOT" mcpgen; mkdir your-project; mv .mcp.json your-project`, answer: "y"},
	"docs/tutorial.md":                  {setup: `ln -s "$ROOT" mcpgen; rm -r .mcp.json servers`, npm: true},
	"docs/how-to/claude-code.md":        {setup: "git init -q your-project; mv .mcp.json your-project", answer: "y"},
	"docs/how-to/review-a-change.md":    {setup: "git init -q .; mkdir scripts; mv *.ts scripts"},
	"docs/how-to/serve-customers.md":    {sandbox: "docker"},
	"docs/how-to/use-from-a-program.md": {setup: `export PYTHONPATH="$ROOT/deploy/python" PYTHONDONTWRITEBYTECODE=1; mkdir -p node_modules/@mcpgen; ln -s "$ROOT/deploy/npm/host" node_modules/@mcpgen/host`, sandbox: "process"},
	"docs/how-to/write-a-policy.md":     {setup: `git init -q .; cp "$ROOT/mcpgen.yaml" .; git add .; git commit -qm .; git update-ref refs/remotes/origin/main HEAD`},
	"docs/reference/command-line.md":    {setup: "mkdir -p ~/.config/fish/completions"},
	"docs/reference/configuration.md":   {setup: "mkdir -p .cursor \"$HOME\"; cp .mcp.json \"$HOME/.claude.json\"; mv .mcp.json .cursor/mcp.json; rm -r servers", answer: "y"},
	"docs/reference/approval.md":        {answer: "y"},
	"docs/reference/skills.md":          {setup: "mkdir -p folder/scripts; cp sheet.ts folder/scripts/main.ts"},
	"docs/how-to/run-on-a-schedule.md":  {setup: `trap 'mcprun daemon stop --now; rm -r "$XDG_RUNTIME_DIR/mcprun-daemon"' EXIT`},
	"docs/reference/daemon.md":          {setup: `trap 'rm -r "$XDG_RUNTIME_DIR/mcprun-daemon"' EXIT`},
}

// TestDocs runs the commands of README.md and docs as they are, page by page. A block whose first line is a comment with the name
// of a file, or that follows the comment <!-- file: NAME -->, is written to that file. The commands of a block that follows <!--
// fails --> must fail. In a block of console, "$ " precedes commands, and the other lines must be printed; a block without
// commands shows what the block before it prints. In these lines, … stands for anything.
func TestDocs(t *testing.T) {
	t.Parallel()
	for _, program := range []string{"bash", "git", "jq", "openssl", "script"} {
		_, err := exec.LookPath(program)
		need(t, err)
	}
	demo := newDemo(t)
	used := map[string]bool{}
	var found []string
	for _, pattern := range []string{"README.md", "docs/*.md", "docs/*/*.md"} {
		names, err := fs.Glob(os.DirFS(root), pattern)
		if err != nil {
			t.Fatal(err)
		}
		found = append(found, names...)
	}
	for name := range pages {
		if !slices.Contains(found, name) {
			t.Errorf("there is no page %s", name)
		}
	}
	for _, name := range found {
		text, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(name)))
		if err != nil {
			t.Fatal(err)
		}
		p := readPage(t, name, string(text))
		for _, command := range p.notRun {
			used[command] = true
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, command := range p.notRun {
				parses(t, command)
			}
			for _, command := range p.mentioned {
				parses(t, command)
			}
			if p.commands > 0 {
				p.run(t, demo, pages[name])
			}
			t.Logf("%d commands run, %d not run, %d in the text", p.commands, len(p.notRun), len(p.mentioned))
		})
	}
	for command := range notRun {
		if !used[command] {
			t.Errorf("no page has the command %q of notRun", command)
		}
	}
}

// page is what a page of the documentation has to run.
type page struct {
	script    strings.Builder
	commands  int      // in script
	notRun    []string // commands of notRun
	mentioned []string // commands in the text
	outputs   []output
	last      string // the block that was added last
}

// output is the text that a block of console expects to be printed.
type output struct {
	block string // the block that prints it
	lines []string
}

var (
	fence     = regexp.MustCompile("^ *```(.*)")
	directive = regexp.MustCompile(`^<!-- (file: (.+)|fails) -->$`)
	fileName  = regexp.MustCompile(`^(?:#|//) ([\w./-]+\.\w+)\b`)
	comment   = regexp.MustCompile(`\s+#\s.*`)
	ours      = regexp.MustCompile("`((?:npx (?:-y )?)?(?:mcpgen|mcprun) [^`]+)`")
	// Commands in settings of other programs: "command": "mcprun", "args": ["serve"], or npx mcpgen@1.0.0 sync.
	inSettings = regexp.MustCompile(`(?:"command": "|npx -y )(mcpgen|mcprun)(?:", "args": \[|@[\d.]+ )([^\]\n]*)`)
	unrun      = regexp.MustCompile(`(?m)^(\$ |(mcpgen|mcprun) [^\[])`)
)

func readPage(t *testing.T, name, text string) *page {
	t.Helper()
	p := &page{}
	var file, language string
	var fails, inside bool
	var block []string
	blockName := ""
	for i, line := range strings.Split(text, "\n") {
		match := fence.FindStringSubmatch(line)
		switch {
		case match == nil && inside:
			block = append(block, line)
		case match == nil:
			if d := directive.FindStringSubmatch(line); d != nil {
				file, fails = d[2], d[2] == ""
			}
			for _, command := range ours.FindAllStringSubmatch(line, -1) {
				p.mentioned = append(p.mentioned, command[1])
			}
		case !inside:
			inside, language, block = true, match[1], nil
			if language == "sh" || language == "console" {
				blockName = fmt.Sprintf("%s:%d", name, i+1)
			}
		default:
			inside = false
			for _, command := range inSettings.FindAllStringSubmatch(strings.Join(block, "\n"), -1) {
				p.mentioned = append(p.mentioned, command[1]+" "+strings.NewReplacer(`"`, "", ",", "").Replace(command[2]))
			}
			if file == "" && len(block) > 0 {
				if named := fileName.FindStringSubmatch(block[0]); named != nil {
					file = named[1]
				}
			}
			switch {
			case language == "sh" || language == "console":
				p.addCommands(blockName, block, language == "console", fails)
			case slices.Contains([]string{"", "bash", "shell", "zsh"}, language):
				t.Errorf("%s:%d: a block of %q: use sh or console for commands, and text for anything that is not in a language", name, i-len(block), language)
			case unrun.MatchString(strings.Join(block, "\n")):
				t.Errorf("%s:%d: commands in a block of %s, where they are not run", name, i-len(block), language)
			case file != "":
				fmt.Fprintf(&p.script, "mkdir -p \"$(dirname '%s')\"\ncat > '%[1]s' <<'END OF FILE'\n%s\nEND OF FILE\n", file, strings.Join(block, "\n"))
			}
			file, fails = "", false
		}
	}
	return p
}

// addCommands adds those lines of a block to the script that are not in notRun.
func (p *page) addCommands(name string, block []string, console, fails bool) {
	var script, printed []string
	skipped := false
	for _, line := range block {
		if console {
			command, isCommand := strings.CutPrefix(line, "$ ")
			if !isCommand {
				printed = append(printed, line)
				continue
			}
			line = command
		}
		command := strings.TrimSpace(comment.ReplaceAllString(line, ""))
		if _, ok := notRun[command]; ok {
			p.notRun = append(p.notRun, command)
			skipped = true
			continue
		}
		script = append(script, line)
		if fails && command != "echo $?" {
			script = append(script, `code=$?; [ $code != 0 ] || { echo "this did not fail"; exit 99; }; (exit $code)`)
		}
	}
	if len(script) > 0 {
		p.commands += len(script)
		if fails {
			script = slices.Concat([]string{"set +e"}, script, []string{"set -e"})
		}
		p.last = name
		fmt.Fprintf(&p.script, "echo '@@ %s'\n%s\n", name, strings.Join(script, "\n"))
	}
	if len(script) > 0 || !skipped {
		p.outputs = append(p.outputs, output{p.last, printed})
	}
}

// run runs the page's script in a copy of the demo project.
func (p *page) run(t *testing.T, demo *project, settings pageSettings) {
	sandbox := cmp.Or(settings.sandbox, "embedded")
	needSandbox(t, sandbox, "typescript")
	own := newProject(t, nil)
	for _, from := range []string{demo.dir, filepath.Join("testdata", "docs")} {
		if err := os.CopyFS(own.path("project"), os.DirFS(from)); err != nil {
			t.Fatal(err)
		}
	}
	if settings.npm {
		entry(t, filesystemPackage)
		if err := os.Symlink(filepath.Join(root, "testdata", "npm", "node_modules"), own.path("project/node_modules")); err != nil {
			t.Fatal(err)
		}
	}
	script := own.write("page.sh", settings.setup+"\n"+p.script.String())

	ctx, cancel := context.WithTimeout(context.Background(), 3*commandTime)
	defer cancel()
	cmd := exec.CommandContext(ctx, "bash", "-e", script)
	if settings.answer != "" {
		cmd = exec.CommandContext(ctx, "script", "--quiet", "--return", "--command", "bash -e "+script, "/dev/null")
	}
	cmd.Dir = own.path("project")
	cmd.WaitDelay = 20 * time.Second
	cmd.Env = append(os.Environ(),
		"PATH="+strings.Join([]string{own.path("home/.local/bin"), built, os.Getenv("PATH")}, string(os.PathListSeparator)), "HOME="+own.path("home"), "XDG_RUNTIME_DIR="+own.runtimeDir(), "NO_COLOR=1",
		"MCPGEN_DEMO="+binary("mcpdemo"), "MCPGEN_DEMO_DATA="+own.path("project/data"), "MCPRUN_SANDBOX="+sandbox, "CI=",
		"GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@example.com", "GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@example.com",
		"GOCACHE="+goEnv(t, "GOCACHE"), "GOMODCACHE="+goEnv(t, "GOMODCACHE"), "GOFLAGS=-buildvcs=false", // for `make install`
		"MCPGEN_TRUST=1", "ROOT="+root, "npm_config_offline=true") // npx finds what is installed, and does not ask the registry
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	if settings.answer != "" {
		stdin, err := cmd.StdinPipe()
		if err != nil {
			t.Fatal(err)
		}
		go func() { // input typed before a question is dropped
			for tick := time.Tick(300 * time.Millisecond); ; <-tick {
				if _, err := io.WriteString(stdin, settings.answer+"\n"); err != nil {
					return
				}
			}
		}()
	}
	own.start(cmd)
	if err := cmd.Wait(); err != nil {
		t.Fatalf("%v\n%s", err, out.String())
	}
	blocks := map[string]string{}
	for _, text := range strings.Split(out.String(), "@@ ") {
		name, printed, _ := strings.Cut(text, "\n")
		blocks[strings.TrimSpace(name)] = normal(printed)
	}
	for _, want := range p.outputs {
		for _, line := range want.lines {
			pattern := strings.ReplaceAll(regexp.QuoteMeta(normal(line)), "…", ".*")
			if !regexp.MustCompile("(?m)^" + pattern + "$").MatchString(blocks[want.block]) {
				t.Errorf("%s does not print %q, but\n%s", want.block, line, clip(blocks[want.block]))
			}
		}
	}
}

// goEnv returns a setting of the go command, which a page's own HOME would change.
func goEnv(t *testing.T, name string) string {
	t.Helper()
	out, err := exec.Command("go", "env", name).Output()
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(string(out))
}

// normal replaces what differs from run to run.
func normal(text string) string {
	text = regexp.MustCompile(`[ \t\r]+(\n|$)`).ReplaceAllString(text, "$1")
	text = regexp.MustCompile(`\b\d+(\.\d+)?m?s\b`).ReplaceAllString(text, "TIME")
	text = regexp.MustCompile(`\b\d{8}-\d{6}-\w{6}\b`).ReplaceAllString(text, "SESSION")
	text = regexp.MustCompile(`\b\d+(\.\d+)?( %|[kM]B)`).ReplaceAllString(text, "N$2")
	return regexp.MustCompile(` +`).ReplaceAllString(text, " ")
}

// parses checks that mcpgen or mcprun knows the command and the flags of a command line, if one of them is in it.
func parses(t *testing.T, line string) {
	t.Helper()
	words := strings.Fields(line)
	start := slices.IndexFunc(words, func(word string) bool { return program.MatchString(word) })
	if start < 0 {
		return
	}
	name, args := program.FindStringSubmatch(words[start])[1], words[start+1:]
	if end := slices.IndexFunc(args, operator.MatchString); end >= 0 {
		args = args[:end]
	}
	ctx, cancel := context.WithTimeout(context.Background(), commandTime)
	defer cancel()
	// With --help, the flags are parsed and nothing is run.
	help, err := exec.CommandContext(ctx, binary(name), append([]string{"--help=true"}, args...)...).CombinedOutput()
	if err != nil {
		if !strings.Contains(string(help), "flag needs an argument") || len(args) > 0 && args[len(args)-1][0] != '-' { // the text may name a flag alone
			t.Errorf("%q: %v\n%s", line, err, clip(string(help)))
		}
		return
	}
	// If a word is not a command, the help of the command before it is shown.
	_, usage, _ := strings.Cut(string(help), "\nUsage:\n")
	path := "  " + name
	for i, arg := range args {
		if i > 0 && !strings.Contains(usage, path+" [command]\n") || !regexp.MustCompile(`^[a-z]+$`).MatchString(arg) {
			return
		}
		if path += " " + arg; !strings.HasPrefix(usage, path) {
			t.Errorf("%q: there is no command %s: got %q, want %q at its start", line, arg, usage, path)
			return
		}
	}
}

var (
	program  = regexp.MustCompile(`^(mcpgen|mcprun)(?:@[\d.]+)?$`)
	operator = regexp.MustCompile(`^([|<>&;#]|2>)`)
)
