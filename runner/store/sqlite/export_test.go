package sqlite

import "testing"

// Exec changes the file at a path as another program does.
func Exec(t *testing.T, path, statement string) {
	t.Helper()
	db, err := connect(path)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if _, err := db.Exec(statement); err != nil {
		t.Fatal(err)
	}
}
