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

// Locked calls f while another program has the file locked for writing.
func Locked(t *testing.T, path string, f func()) {
	t.Helper()
	db, err := connect(path)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	db.SetMaxOpenConns(1)
	if _, err := db.Exec("BEGIN IMMEDIATE"); err != nil {
		t.Fatal(err)
	}
	f()
	if _, err := db.Exec("ROLLBACK"); err != nil {
		t.Fatal(err)
	}
}
