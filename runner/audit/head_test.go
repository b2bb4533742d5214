package audit_test

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/mod/sumdb/note"

	"github.com/mcpgen/mcpgen/runner/audit"
)

func TestHeadsArePublished(t *testing.T) {
	key, verifier := createKey(t, "shop")
	synctest.Test(t, func(t *testing.T) {
		m := &memory{}
		var mu sync.Mutex // of what follows
		var heads []string
		var warned []error
		fail := errors.New("no route")
		warn := func(err error) {
			mu.Lock()
			defer mu.Unlock()
			warned = append(warned, err)
		}
		l := open(t, m, audit.Options{Key: key, Warn: warn, Publish: func(_ context.Context, head []byte) error {
			mu.Lock()
			defer mu.Unlock()
			heads = append(heads, string(head))
			return fail
		}})
		if time.Sleep(time.Minute); len(heads) != 0 {
			t.Errorf("%d heads of an empty record", len(heads))
		}
		for n := range 50 { // 5 s
			intent, _ := call(n)
			if err := l.Append(t.Context(), intent); err != nil {
				t.Fatal(err)
			}
			time.Sleep(100 * time.Millisecond)
		}
		synctest.Wait()
		if len(heads) < 4 || len(heads) > 5 || len(warned) != len(heads) || len(m.heads) != len(heads) {
			t.Errorf("%d heads and %d warnings in 5 s, %d in the store", len(heads), len(warned), len(m.heads))
		}
		fail = nil
		if err := l.Close(); err != nil {
			t.Fatal(err)
		}
		last := heads[len(heads)-1]
		n, err := note.Open([]byte(last), note.VerifierList(verifier))
		if err != nil || !strings.HasPrefix(n.Text, "mcprun/shop\n50\n") {
			t.Errorf("the last head is %s, %v", last, err)
		}
		v, err := audit.Verify(t.Context(), m, audit.VerifyOptions{Keys: []note.Verifier{verifier}, Heads: []byte(strings.Join(heads, "\n"))})
		if err != nil || v.Finding != nil || v.Signed != 50 || v.Published != 50 {
			t.Errorf("Verify() = %+v, %v", v, err)
		}
		published := len(heads)
		if time.Sleep(time.Minute); len(heads) != published {
			t.Error("a closed log publishes")
		}
	})
}

func TestCloseSaysThatHeadWasNotPublished(t *testing.T) {
	key, _ := createKey(t, "shop")
	fail := errors.New("no route")
	l := open(t, &memory{}, audit.Options{Key: key, Publish: func(context.Context, []byte) error { return fail }})
	intent, _ := call(1)
	if err := l.Append(t.Context(), intent); err != nil {
		t.Fatal(err)
	}
	if err := l.Close(); !errors.Is(err, fail) {
		t.Errorf("Close() = %v, want %v", err, fail)
	}
}

func TestPublishFile(t *testing.T) {
	w := write(t)
	path := filepath.Join(t.TempDir(), "heads")
	publish := audit.PublishFile(path)
	for _, h := range w.heads {
		if err := publish(t.Context(), h.Text); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(path)
	if err != nil || string(got) != string(w.published) {
		t.Errorf("the file is %q, %v, want %q", got, err, w.published)
	}
	if err := audit.PublishFile(filepath.Join(path, "x"))(t.Context(), w.heads[0].Text); err == nil {
		t.Error("PublishFile() succeeds below a file")
	}
}

func TestCreateKey(t *testing.T) {
	path := filepath.Join(t.TempDir(), "audit.key")
	if _, err := audit.ReadKey(path); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("ReadKey() = %v, want that it does not exist", err)
	}
	if _, err := audit.CreateKey(path, "my shop"); err == nil {
		t.Error("CreateKey() takes a name with a space")
	}
	var wg sync.WaitGroup
	keys := make([]string, 8)
	for i := range keys {
		wg.Go(func() {
			k, err := audit.CreateKey(path, "shop")
			if err != nil {
				t.Error(err)
				return
			}
			keys[i] = k.Verifier()
		})
	}
	wg.Wait()
	k, err := audit.ReadKey(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, other := range keys {
		if other != k.Verifier() || k.Name() != "mcprun/shop" {
			t.Errorf("a process has the key %s, and the file %s", other, k.Verifier())
		}
	}
	if entries, err := os.ReadDir(filepath.Dir(path)); err != nil || len(entries) != 1 {
		t.Errorf("the folder has %v, %v, want only the key", entries, err)
	}
	if err := os.WriteFile(path, []byte("secret"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := audit.CreateKey(path, "shop"); err == nil || !strings.Contains(err.Error(), "it is not a key") || strings.Contains(err.Error(), "secret") {
		t.Errorf("CreateKey() = %v over something else", err)
	}
	if runtime.GOOS != "windows" {
		if err := os.Chmod(path, 0o640); err != nil {
			t.Fatal(err)
		}
		if _, err := audit.ReadKey(path); err == nil || !strings.Contains(err.Error(), "chmod 600") {
			t.Errorf("ReadKey() = %v of a file that others can read", err)
		}
	}
}
