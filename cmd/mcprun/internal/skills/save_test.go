package skills

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mcpgen/mcpgen/runner/skill"
)

// TestSkillFolderIsBounded checks that no more of a folder is read than a skill may have, whatever sizes its files report.
func TestSkillFolderIsBounded(t *testing.T) {
	holes, many, fits := t.TempDir(), t.TempDir(), t.TempDir()
	if err := os.WriteFile(filepath.Join(holes, "a.bin"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(filepath.Join(holes, "a.bin"), 1<<36); err != nil {
		t.Fatal(err)
	}
	for i := range skill.MaxFiles + 1 {
		for _, dir := range []string{many, fits} {
			if dir == fits && i == skill.MaxFiles {
				continue
			}
			if err := os.WriteFile(filepath.Join(dir, fmt.Sprintf("%d.txt", i)), []byte("x"), 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
	for _, dir := range []string{holes, many} {
		if err := readFolder(&skill.Draft{Files: map[string][]byte{}}, dir); err == nil || !strings.Contains(err.Error(), "512 files") {
			t.Errorf(`%v, want an error and "512 files" in it`, err)
		}
	}
	draft := &skill.Draft{Files: map[string][]byte{}}
	if err := readFolder(draft, fits); err != nil || len(draft.Files) != skill.MaxFiles {
		t.Error(err, len(draft.Files))
	}
	if data, err := readSmall(filepath.Join(holes, "a.bin")); err != nil || len(data) != skill.MaxSize+1 { // saving refuses this size
		t.Error(err, len(data))
	}
}
