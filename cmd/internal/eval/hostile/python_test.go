package hostile

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
)

// pythonReader parses Python files with Python's own parser. One process reads many files.
type pythonReader struct {
	mu  sync.Mutex
	cmd *exec.Cmd
	in  io.WriteCloser
	out *bufio.Reader
}

// readerSource parses each file that it receives on its input and answers with one line: "ok", or what is wrong. It also
// looks for nodes that generated files never contain, and for the canary outside of strings. Its memory is limited to 1 GiB.
const readerSource = `
import ast, resource, struct, sys
resource.setrlimit(resource.RLIMIT_AS, (1 << 30, 1 << 30))
nodes = {"Module", "ImportFrom", "alias", "Expr", "Constant", "ClassDef", "AnnAssign", "Assign", "Name", "Load", "Store", "Subscript", "Tuple",
  "BinOp", "BitOr", "FunctionDef", "arguments", "arg", "Call", "keyword", "Dict", "List", "UnaryOp", "USub", "Pass", "Attribute"}
def judge(source):
    tree = ast.parse(source)
    calls = 0
    for node in ast.walk(tree):
        kind = type(node).__name__
        if kind not in nodes:
            return "a node " + kind
        if kind == "Call":
            if not isinstance(node.func, ast.Name) or node.func.id not in ("tool", "TypedDict"):
                return "a call of " + ast.dump(node.func)
            calls += node.func.id == "tool"
        if kind == "Attribute":
            return "an attribute"
        if kind == "ImportFrom" and node.module not in ("__future__", "collections.abc", "typing", "client", "typing_extensions") and (node.level != 1 or node.names[0].name != node.module):
            return "an import of " + str(node.module)
        if kind == "Constant" and isinstance(node.value, (bytes, complex)):
            return "a constant " + repr(node.value)
        for name in ("id", "arg", "name", "attr", "module"):
            if "` + canary + `" in str(getattr(node, name, None)).lower():
                return "the canary as a name"
    if calls > 1:
        return "more than one tool"
    return "ok"
while True:
    head = sys.stdin.buffer.read(4)
    if len(head) < 4:
        break
    source = sys.stdin.buffer.read(struct.unpack("<I", head)[0])
    try:
        answer = judge(source)
    except Exception as e:
        answer = "not Python: " + repr(e)
    sys.stdout.write(answer.replace("\n", " ") + "\n")
    sys.stdout.flush()
`

// newPython starts the process, which ends with the test. Without Python the test fails in CI; elsewhere newPython returns
// nil, whose checks pass.
func newPython(t testing.TB) *pythonReader {
	t.Helper()
	path, err := exec.LookPath("python3")
	if err != nil {
		if os.Getenv("CI") != "" {
			t.Fatalf("python3 is needed: %v", err)
		}
		t.Logf("without Python's own parser: %v", err)
		return nil
	}
	p := &pythonReader{cmd: exec.Command(path, "-W", "ignore", "-c", readerSource)}
	p.cmd.Stderr = os.Stderr
	in, err := p.cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := p.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	p.in, p.out = in, bufio.NewReader(out)
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = in.Close()
		_ = p.cmd.Wait()
	})
	return p
}

// check parses the Python files of a tree.
func (p *pythonReader) check(t *tree) error {
	if p == nil {
		return nil
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	for name, src := range t.files {
		if !strings.HasSuffix(name, ".py") {
			continue
		}
		message := append(binary.LittleEndian.AppendUint32(nil, uint32(len(src))), src...)
		if _, err := p.in.Write(message); err != nil {
			return fmt.Errorf("ask python3: %w", err)
		}
		answer, err := p.out.ReadString('\n')
		if err != nil {
			return fmt.Errorf("ask python3 about %s: %w", name, err)
		}
		if answer != "ok\n" {
			return fmt.Errorf("%s: python3: %s\n%s", name, strings.TrimSpace(answer), src)
		}
	}
	return nil
}
