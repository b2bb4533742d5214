-- +goose Up
CREATE TABLE record_rows (idx INTEGER PRIMARY KEY, at INTEGER NOT NULL, kind TEXT NOT NULL, run TEXT NOT NULL, hashes BLOB NOT NULL, content BLOB);
CREATE INDEX record_rows_run ON record_rows (run) WHERE run <> '';
CREATE INDEX record_rows_kind ON record_rows (kind) WHERE kind NOT IN ('call', 'call.end');
CREATE TABLE record_heads (number INTEGER PRIMARY KEY AUTOINCREMENT, size INTEGER NOT NULL, at INTEGER NOT NULL, text BLOB NOT NULL);
CREATE TABLE record_codes (digest TEXT PRIMARY KEY, code BLOB NOT NULL, since INTEGER NOT NULL) WITHOUT ROWID;
CREATE TABLE documents (
    customer TEXT NOT NULL, kind TEXT NOT NULL, name TEXT NOT NULL, value BLOB NOT NULL, version INTEGER NOT NULL, updated INTEGER NOT NULL,
    PRIMARY KEY (customer, kind, name)
);
CREATE TABLE log_lines (
    customer TEXT NOT NULL, kind TEXT NOT NULL, name TEXT NOT NULL, number INTEGER NOT NULL, at INTEGER NOT NULL, value BLOB NOT NULL,
    PRIMARY KEY (customer, kind, name, number)
);
CREATE TABLE leases (name TEXT PRIMARY KEY, owner TEXT NOT NULL, until INTEGER NOT NULL);
