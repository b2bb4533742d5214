-- +goose Up
CREATE TABLE cached_results (
    customer TEXT NOT NULL, name TEXT NOT NULL, server TEXT NOT NULL, value BLOB NOT NULL, bytes INTEGER NOT NULL,
    created INTEGER NOT NULL, expires INTEGER NOT NULL, used INTEGER NOT NULL, hits INTEGER NOT NULL,
    PRIMARY KEY (customer, name)
);
CREATE INDEX cached_results_used ON cached_results (customer, used, name, bytes);
CREATE INDEX cached_results_server ON cached_results (server);
CREATE INDEX cached_results_expires ON cached_results (expires);
CREATE TABLE cached_servers (server TEXT PRIMARY KEY, generation INTEGER NOT NULL);
