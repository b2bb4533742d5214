package main

import (
	"database/sql"
	"errors"

	"github.com/rogpeppe/go-internal/testscript"
)

// editDatabase, in scripts sql FILE STATEMENT: changes a database behind mcprun's back.
func editDatabase(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: sql FILE STATEMENT")
	}
	db, err := sql.Open("sqlite", ts.MkAbs(args[0]))
	ts.Check(err)
	_, err = db.Exec(args[1])
	ts.Check(errors.Join(err, db.Close()))
}
