-- +goose Up
CREATE TABLE cached_results (
    customer text NOT NULL, name text COLLATE "C" NOT NULL, server text NOT NULL, value bytea NOT NULL, bytes bigint NOT NULL,
    created bigint NOT NULL, expires bigint NOT NULL, used bigint NOT NULL, hits bigint NOT NULL,
    PRIMARY KEY (customer, name)
);
CREATE INDEX cached_results_used ON cached_results (customer, used, name, bytes);
CREATE INDEX cached_results_server ON cached_results (server);
CREATE INDEX cached_results_expires ON cached_results (expires);
CREATE TABLE cached_servers (server text PRIMARY KEY, generation bigint NOT NULL);
