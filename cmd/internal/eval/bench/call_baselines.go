package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"golang.org/x/sync/errgroup"
)

// session connects to a demo server with the SDK alone for the duration of f. more holds further arguments of the server.
func (b *bench) session(ctx context.Context, server string, f func(*mcp.ClientSession) error, more ...string) error {
	client := mcp.NewClient(&mcp.Implementation{Name: "bench", Version: "1"}, nil)
	cmd := exec.CommandContext(ctx, filepath.Join(b.root, "bin", "mcpdemo"),
		append([]string{server, "--data", filepath.Join(b.temp, "direct")}, more...)...)
	s, err := client.Connect(ctx, &mcp.CommandTransport{Command: cmd}, nil)
	if err != nil {
		return fmt.Errorf("start %s: %w", server, err)
	}
	return errors.Join(f(s), s.Close())
}

// callTool makes one call that must succeed.
func callTool(ctx context.Context, s *mcp.ClientSession, name string, args any) error {
	res, err := s.CallTool(ctx, &mcp.CallToolParams{Name: name, Arguments: args})
	if err == nil && res.IsError {
		err = fmt.Errorf("%s answered with an error", name)
	}
	return err
}

// add calls the calculator with arguments that no earlier call had.
func add(ctx context.Context, s *mcp.ClientSession, i int) error {
	return callTool(ctx, s, "add", json.RawMessage(fmt.Sprintf(`{"numbers":[%d,2]}`, i)))
}

// listCities calls the slow weather server.
func listCities(ctx context.Context, s *mcp.ClientSession, _ int) error {
	return callTool(ctx, s, "list_cities", map[string]any{})
}

// direct measures n calls to the calculator, made with the SDK alone after a warm-up, in microseconds.
func (b *bench) direct(ctx context.Context, n int) (samples []float64, err error) {
	err = b.session(ctx, "calculator", func(s *mcp.ClientSession) error {
		samples, err = sample(callWarmUps, n, micros, func(i int) error { return add(ctx, s, i) })
		return err
	})
	return samples, err
}

// directConcurrent measures how many milliseconds a batch of calls takes, with at most [inFlight] in flight.
func (b *bench) directConcurrent(ctx context.Context, server string, calls int, call func(context.Context, *mcp.ClientSession, int) error, more ...string) (samples []float64, err error) {
	err = b.session(ctx, server, func(s *mcp.ClientSession) error {
		if err := call(ctx, s, 0); err != nil {
			return err
		}
		samples, err = sample(0, concurrentRuns, millis, func(int) error {
			g, ctx := errgroup.WithContext(ctx)
			g.SetLimit(inFlight)
			for i := range calls {
				g.Go(func() error { return call(ctx, s, i) })
			}
			return g.Wait()
		})
		return err
	}, more...)
	return samples, err
}
