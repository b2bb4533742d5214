package pii

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

// keys is a keyring in memory.
type keys struct {
	secrets map[string]string
	err     error
}

func (k *keys) Get(name string) (string, error) {
	if s, ok := k.secrets[name]; ok && k.err == nil {
		return s, nil
	}
	if k.err != nil {
		return "", k.err
	}
	return "", fs.ErrNotExist
}

func (k *keys) Set(name, secret string) error {
	if k.err == nil {
		k.secrets[name] = secret
	}
	return k.err
}

func TestKey(t *testing.T) {
	ring := &keys{secrets: map[string]string{}}
	path := filepath.Join(t.TempDir(), "in", "key")
	first, err := LoadKey(path, ring)
	if err != nil || len(first) != keySize || len(ring.secrets) != 1 {
		t.Fatalf("%d bytes, %v, want %d, len(ring.secrets) 1 and no error", len(first), err, keySize)
	}
	if again, err := LoadKey(path, ring); err != nil || !bytes.Equal(again, first) {
		t.Errorf("another key: %v, want %v and no error", err, first)
	}
	// The key is in the keyring, so nothing else can replace it.
	ring.err = errors.New("locked")
	for want, ring := range map[string]Keyring{"locked": ring, "switched off": nil, "no longer in": &keys{secrets: map[string]string{}}} {
		if _, err := LoadKey(path, ring); err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "[7") {
			t.Errorf("%s: %v", want, err)
		}
	}
	// Without a keyring the file has it, and only its owner can read it.
	path = filepath.Join(t.TempDir(), "key")
	first, err = LoadKey(path, ring)
	info, stat := os.Stat(path)
	if err != nil || stat != nil || info.Mode().Perm() != 0o600 {
		t.Fatalf("%v, %v, %v", err, stat, info)
	}
	ring.err = nil
	if again, err := LoadKey(path, ring); err != nil || !bytes.Equal(again, first) {
		t.Errorf("another key: %v, want %v and no error", err, first)
	}
	if err := os.Chmod(path, 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := LoadKey(path, nil); err == nil || !strings.Contains(err.Error(), "other users can read it") {
		t.Errorf(`%v, want an error and "other users can read it" in it`, err)
	}
	for text, want := range map[string]string{"": "damaged", `{"version":1}`: "damaged", `{"version":2}`: "version is 2", `{"version":1,"key":"AAAA"}`: "damaged"} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		_ = os.Chmod(path, 0o600)
		if _, err := LoadKey(path, nil); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want an error and %v in it", text, err, want)
		}
		if left, _ := os.ReadFile(path); string(left) != text {
			t.Errorf("%s was replaced", text)
		}
	}
}

// TestKeyOfMany lets goroutines create the key at once.
func TestKeyOfMany(t *testing.T) {
	path := filepath.Join(t.TempDir(), "key")
	got := make([][]byte, 8)
	var wg sync.WaitGroup
	for i := range got {
		wg.Go(func() { got[i], _ = LoadKey(path, nil) })
	}
	wg.Wait()
	for _, key := range got {
		if len(key) != keySize || !bytes.Equal(key, got[0]) {
			t.Errorf("%x and %x", key, got[0])
		}
	}
}
