-- +goose Up
CREATE TABLE record_rows (idx bigint PRIMARY KEY, at bigint NOT NULL, kind text NOT NULL, run text NOT NULL, hashes bytea NOT NULL, content bytea);
CREATE INDEX record_rows_run ON record_rows (run) WHERE run <> '';
CREATE INDEX record_rows_kind ON record_rows (kind) WHERE kind NOT IN ('call', 'call.end');
CREATE TABLE record_heads (number bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, size bigint NOT NULL, at bigint NOT NULL, text bytea NOT NULL);
CREATE TABLE record_codes (digest text PRIMARY KEY, code bytea NOT NULL, since bigint NOT NULL);
CREATE TABLE documents (
    customer text NOT NULL, kind text NOT NULL, name text COLLATE "C" NOT NULL, value bytea NOT NULL, version bigint NOT NULL, updated bigint NOT NULL,
    PRIMARY KEY (customer, kind, name)
);
CREATE TABLE log_lines (
    customer text NOT NULL, kind text NOT NULL, name text COLLATE "C" NOT NULL, number bigint NOT NULL, at bigint NOT NULL, value bytea NOT NULL,
    PRIMARY KEY (customer, kind, name, number)
);
CREATE TABLE leases (name text COLLATE "C" PRIMARY KEY, owner text NOT NULL, until bigint NOT NULL);
