package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/mod/sumdb/note"

	"github.com/mcpgen/mcpgen/runner"
	"github.com/mcpgen/mcpgen/runner/audit"
	"github.com/mcpgen/mcpgen/runner/chain"
	"github.com/mcpgen/mcpgen/runner/policy"
	"github.com/mcpgen/mcpgen/runner/sandbox"
	"github.com/mcpgen/mcpgen/runner/store/sqlite"
)

const (
	recordRounds   = 6
	recordCalls    = 500 // of each round, with the record and without
	recordRows     = 10_000
	recordVerifies = 10
	recordProofs   = 500
)

// recording measures calls with the record, in a SQLite file, beside the same calls without it, and how long it takes to verify the record
// and to prove one of its rows.
func (b *bench) recording(ctx context.Context) (err error) {
	const without, with = "call over the bridge embedded typescript, not recorded", "the same call, recorded in SQLite"
	dir, err := b.folder()
	if err != nil {
		return err
	}
	key, err := audit.CreateKey(filepath.Join(dir, "key"), "bench")
	if err != nil {
		return err
	}
	s, err := sqlite.Open(ctx, filepath.Join(dir, "state.db"), sqlite.Options{})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	log, err := audit.Open(s, audit.Options{Key: key, Ahead: filepath.Join(dir, "state.db-ahead-")})
	if err != nil {
		return err
	}
	var plain, recorded []float64 // microseconds of each call, as the script sees it
	for range recordRounds {
		for _, c := range []struct {
			log *audit.Log
			to  *[]float64
		}{{nil, &plain}, {log, &recorded}} {
			var samples []float64
			if err := b.recordedRun(ctx, c.log, &samples); err != nil {
				return errors.Join(err, log.Close())
			}
			*c.to = append(*c.to, samples...)
		}
	}
	b.table.add(without, "µs", "", plain)
	b.table.add(with, "µs", without, recorded)
	b.table.addDifference("what the record adds to a call", "µs", without, recorded, plain)
	size, err := s.Size(ctx)
	if err != nil {
		return err
	}
	if want := int64(2 * recordRounds * recordCalls); size < want {
		return fmt.Errorf("the record has %d rows, and at least %d were written", size, want)
	}
	for i := size; i < recordRows; i++ {
		log.Later(audit.Entry{Kind: audit.KindCallEnd, Run: "run-bench", Body: audit.CallEnd{Call: int(i), Tool: "calculator__add", Outcome: "ok"}})
	}
	if err := log.Close(); err != nil {
		return err
	}
	return b.verifying(ctx, s, key)
}

// recordedRun runs a script that makes calls one after the other. A nil log records nothing.
func (b *bench) recordedRun(ctx context.Context, log *audit.Log, samples *[]float64) error {
	const lang = sandbox.LangTypeScript
	res, err := b.runner.Launch(ctx, &runner.Script{
		Name: scriptName(lang), Code: scriptText(lang, "calls_in_turn", "@WARM@", callWarmUps, "@CALLS@", recordCalls), Language: lang, Timeout: 2 * time.Minute, Stderr: os.Stderr,
		Calls: chain.Settings{Audit: log, Who: audit.Who{User: "bench"}, Subject: policy.Subject{Customer: "acme", Session: "0001"}},
	}, runner.LaunchOptions{Sandboxes: b.backends, Sandbox: "embedded"})
	if err != nil {
		return err
	}
	if res.ExitCode != 0 {
		return fmt.Errorf("exit code %d (%s): %s", res.ExitCode, res.Cause, res.Message)
	}
	return json.Unmarshal(res.Value, samples)
}

// verifying measures the verification of a record, and proofs of its rows.
func (b *bench) verifying(ctx context.Context, s *sqlite.Store, key *audit.Key) error {
	ms := func(took time.Duration) float64 { return float64(took.Microseconds()) / 1000 }
	verifier, err := note.NewVerifier(key.Verifier())
	if err != nil {
		return err
	}
	verified, err := sample(1, recordVerifies, ms, func(int) error {
		v, err := audit.Verify(ctx, s, audit.VerifyOptions{Keys: []note.Verifier{verifier}})
		if err == nil && v.Finding != nil {
			err = errors.New(v.Finding.Explanation)
		}
		return err
	})
	if err != nil {
		return err
	}
	b.table.add(fmt.Sprintf("verify a record of %d rows", recordRows), "ms", "", verified)
	proved, err := sample(10, recordProofs, ms, func(i int) error {
		_, err := audit.Prove(ctx, s, int64(i))
		return err
	})
	if err != nil {
		return err
	}
	b.table.add("prove one row of it", "ms", "", proved)
	return nil
}
