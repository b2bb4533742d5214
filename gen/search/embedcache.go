package search

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"net/url"
	"os"
	"path/filepath"
	"strings"
)

const (
	cacheName = "embeddings.db"
	// maxCached is how many vectors the cache keeps, of all embedders together; the oldest go first.
	maxCached = 100_000
)

// key is the digest of a text that was embedded.
type key [sha256.Size]byte

func textKey(text string) key { return sha256.Sum256([]byte(text)) }

// cache keeps vectors on disk by the digest of their text and the name of the embedder. Several processes may use it.
type cache struct {
	db       *sql.DB
	file     string
	embedder string
}

// openCache makes the folder and the file if need be; only their owner may read them.
func openCache(ctx context.Context, dir, embedder string) (_ *cache, err error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("make the cache of embeddings: %w", err)
	}
	c := &cache{file: filepath.Join(dir, cacheName), embedder: embedder}
	f, err := os.OpenFile(c.file, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, fmt.Errorf("open the cache of embeddings: %w", err)
	}
	if err := f.Close(); err != nil {
		return nil, fmt.Errorf("open the cache of embeddings: %w", err)
	}
	path := filepath.ToSlash(c.file)
	if !strings.HasPrefix(path, "/") {
		path = "/" + path
	}
	address := url.URL{Scheme: "file", Path: path, RawQuery: "_pragma=busy_timeout(2000)&_pragma=synchronous(NORMAL)&_pragma=journal_mode(WAL)"}
	if c.db, err = sql.Open("sqlite", address.String()); err != nil {
		return nil, c.trouble("open", err)
	}
	c.db.SetMaxOpenConns(1)
	const form = `CREATE TABLE IF NOT EXISTS vectors (
		id INTEGER PRIMARY KEY AUTOINCREMENT, embedder TEXT NOT NULL, key BLOB NOT NULL, vector BLOB NOT NULL, UNIQUE (embedder, key))`
	if _, err := c.db.ExecContext(ctx, form); err != nil {
		_ = c.db.Close()
		return nil, c.trouble("open", err)
	}
	return c, nil
}

// trouble names the file and what can be done.
func (c *cache) trouble(what string, err error) error {
	return fmt.Errorf("%s the cache of embeddings %s (it may be removed): %w", what, c.file, err)
}

// Close ends the use of the file.
func (c *cache) Close() error {
	if c == nil {
		return nil
	}
	return c.db.Close()
}

// load reads all vectors of the embedder; what is no vector is passed over.
func (c *cache) load(ctx context.Context) (map[key][]float32, error) {
	rows, err := c.db.QueryContext(ctx, `SELECT key, vector FROM vectors WHERE embedder = ?`, c.embedder)
	if err != nil {
		return nil, c.trouble("read", err)
	}
	defer func() { _ = rows.Close() }()
	out := map[key][]float32{}
	for rows.Next() {
		var id, blob sql.RawBytes
		if err := rows.Scan(&id, &blob); err != nil {
			return nil, c.trouble("read", err)
		}
		if vector := decodeVector(blob); vector != nil && len(id) == len(key{}) {
			out[key(id)] = vector
		}
	}
	if err := rows.Err(); err != nil {
		return nil, c.trouble("read", err)
	}
	return out, nil
}

// forget removes all vectors of the embedder.
func (c *cache) forget(ctx context.Context) error {
	if _, err := c.db.ExecContext(ctx, `DELETE FROM vectors WHERE embedder = ?`, c.embedder); err != nil {
		return c.trouble("write", err)
	}
	return nil
}

// save keeps the vectors of texts, and lets the oldest go when there are too many.
func (c *cache) save(ctx context.Context, texts []string, vectors [][]float32) (err error) {
	tx, err := c.db.BeginTx(ctx, nil)
	if err != nil {
		return c.trouble("write", err)
	}
	defer func() {
		if err != nil {
			err = c.trouble("write", errors.Join(err, tx.Rollback()))
		}
	}()
	for i, text := range texts {
		k := textKey(text)
		if _, err := tx.ExecContext(ctx, `INSERT OR REPLACE INTO vectors (embedder, key, vector) VALUES (?, ?, ?)`, c.embedder, k[:], encodeVector(vectors[i])); err != nil {
			return err
		}
	}
	if _, err := tx.ExecContext(ctx, `DELETE FROM vectors WHERE id <= (SELECT max(id) FROM vectors) - ?`, maxCached); err != nil {
		return err
	}
	return tx.Commit()
}

func encodeVector(vector []float32) []byte {
	out := make([]byte, 0, 4*len(vector))
	for _, x := range vector {
		out = binary.LittleEndian.AppendUint32(out, math.Float32bits(x))
	}
	return out
}

// decodeVector returns nil for what is no vector.
func decodeVector(blob []byte) []float32 {
	if len(blob) == 0 || len(blob)%4 != 0 || len(blob) > 4*maxDimensions {
		return nil
	}
	out := make([]float32, len(blob)/4)
	for i := range out {
		out[i] = math.Float32frombits(binary.LittleEndian.Uint32(blob[4*i:]))
	}
	return unit(out)
}
