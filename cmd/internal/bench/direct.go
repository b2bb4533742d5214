package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"golang.org/x/sync/errgroup"
)

// session connects to a demo server with the SDK alone, for as long as f takes. More are further arguments of the server.
func (b *bench) session(ctx context.Context, server string, f func(*mcp.ClientSession) error, more ...string) (err error) {
	client := mcp.NewClient(&mcp.Implementation{Name: "bench", Version: "1"}, nil)
	cmd := exec.CommandContext(ctx, filepath.Join(b.root, "bin", "mcpdemo"),
		append([]string{server, "--data", filepath.Join(b.temp, "direct")}, more...)...)
	in, err := cmd.StdinPipe()
	if err != nil {
		return err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("start %s: %w", server, err)
	}
	// The SDK's own way to start a command refuses messages beyond 16 MiB; a result of 10 MB has its text twice.
	s, err := client.Connect(ctx, &mcp.IOTransport{Reader: out, Writer: in, MaxLineLength: -1}, nil)
	if err == nil {
		err = f(s)
		err = errors.Join(err, s.Close())
	} else {
		_ = in.Close()
	}
	if e := cmd.Wait(); err == nil && e != nil {
		err = fmt.Errorf("end %s: %w", server, e)
	}
	return err
}

// add calls the calculator with arguments that no call had before.
func add(ctx context.Context, s *mcp.ClientSession, i int) error {
	res, err := s.CallTool(ctx, &mcp.CallToolParams{Name: "add", Arguments: json.RawMessage(fmt.Sprintf(`{"numbers":[%d,2]}`, i))})
	if err == nil && res.IsError {
		err = fmt.Errorf("the calculator answered with an error")
	}
	return err
}

// direct measures calls to the calculator made with the SDK alone, in microseconds, after some that warm it up.
func (b *bench) direct(ctx context.Context, n int) (samples []float64, err error) {
	err = b.session(ctx, "calculator", func(s *mcp.ClientSession) error {
		for i := range n + warmUp {
			start := time.Now()
			if err := add(ctx, s, i); err != nil {
				return err
			}
			if i >= warmUp {
				samples = append(samples, micros(time.Since(start)))
			}
		}
		return nil
	})
	return samples, err
}

// directAtOnce measures calls that are always in flight together: in milliseconds, all of them.
func (b *bench) directAtOnce(ctx context.Context, server string, calls int, call func(context.Context, *mcp.ClientSession, int) error, more ...string) (samples []float64, err error) {
	err = b.session(ctx, server, func(s *mcp.ClientSession) error {
		if err := call(ctx, s, 0); err != nil {
			return err
		}
		for range parallelRuns {
			start := time.Now()
			g, ctx := errgroup.WithContext(ctx)
			g.SetLimit(inFlight)
			for i := range calls {
				g.Go(func() error { return call(ctx, s, i) })
			}
			if err := g.Wait(); err != nil {
				return err
			}
			samples = append(samples, millis(time.Since(start)))
		}
		return nil
	}, more...)
	return samples, err
}

// listCities calls the slow weather server.
func listCities(ctx context.Context, s *mcp.ClientSession, _ int) error {
	res, err := s.CallTool(ctx, &mcp.CallToolParams{Name: "list_cities", Arguments: map[string]any{}})
	if err == nil && res.IsError {
		err = fmt.Errorf("the weather server answered with an error")
	}
	return err
}
