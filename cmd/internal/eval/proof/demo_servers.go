package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sync/errgroup"

	"github.com/mcpgen/mcpgen/gen/config"
	"github.com/mcpgen/mcpgen/gen/upstream"
)

// demoServers returns the names of the servers of mcpdemo, which are also their folders in the data and in the tree.
func demoServers() []string {
	return []string{"calculator", "crm", "database", "drive", "filesystem", "weather"}
}

// world is the demo servers with their own data.
type world struct {
	data string // the servers' folders are in it
	pool *upstream.Pool
}

// newWorld returns the servers with the data in a folder. They start when they are first called.
func newWorld(mcpdemo, data string) *world {
	var servers []config.Server
	for _, name := range demoServers() {
		servers = append(servers, config.Server{
			Key: name, Transport: config.TransportStdio, Command: mcpdemo, Args: []string{name, "--data", data}, Dir: data,
		})
	}
	return &world{data: data, pool: upstream.NewPool(servers, &upstream.Options{Lookup: os.LookupEnv, ClientName: "proof"})}
}

// Close ends the servers.
func (w *world) Close() error { return w.pool.Close() }

// start starts servers ahead, so that no measured time includes it.
func (w *world) start(ctx context.Context, servers map[string]bool) error {
	group, ctx := errgroup.WithContext(ctx)
	for server := range servers {
		group.Go(func() error {
			_, err := w.pool.Connect(ctx, server)
			return err
		})
	}
	return group.Wait()
}

// call calls a tool by its id and returns the text that a model reads. failed reports whether that is an error.
func (w *world) call(ctx context.Context, tool string, args json.RawMessage) (text string, failed bool, err error) {
	server, name, _ := strings.Cut(tool, "__")
	res, err := w.pool.Call(ctx, server, name, args, nil)
	if err != nil {
		var protocol *upstream.ProtocolError
		if errors.As(err, &protocol) {
			return protocol.Error(), true, nil
		}
		return "", false, fmt.Errorf("call %s: %w", tool, err)
	}
	text, err = textOf(res)
	return text, res.IsError, err
}

// textOf returns what a model reads of a result. It does not read structured content, which repeats the text.
func textOf(res *upstream.CallResult) (string, error) {
	var b strings.Builder
	for _, raw := range res.Content {
		var block struct {
			Type, Text string
		}
		if err := json.Unmarshal(raw, &block); err != nil || block.Type != "text" {
			return "", errors.New("a result has content other than text")
		}
		b.WriteString(block.Text)
	}
	return b.String(), nil
}

// file returns the path of a file of a server.
func (w *world) file(server, name string) string {
	return filepath.Join(w.data, server, filepath.FromSlash(name))
}

// seed has the servers write their initial data to a folder, from which it is copied.
func seed(ctx context.Context, mcpdemo, data string) error {
	if err := os.Mkdir(data, 0o755); err != nil {
		return err
	}
	w := newWorld(mcpdemo, data)
	all := map[string]bool{}
	for _, name := range demoServers() {
		all[name] = true
	}
	return errors.Join(w.start(ctx, all), w.Close())
}

// copyTree copies a folder of plain files.
func copyTree(to, from string) error {
	return filepath.WalkDir(from, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(from, path)
		if err != nil {
			return err
		}
		target := filepath.Join(to, rel)
		if entry.IsDir() {
			return os.MkdirAll(target, 0o755)
		}
		content, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		return os.WriteFile(target, content, 0o600)
	})
}
