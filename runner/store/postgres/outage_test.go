package postgres_test

import (
	"context"
	"database/sql/driver"
	"errors"
	"net"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mcpgen/mcpgen/runner/store"
	"github.com/mcpgen/mcpgen/runner/store/postgres"
)

// dialer fails to connect.
type dialer func(context.Context) error

func (d dialer) Connect(ctx context.Context) (driver.Conn, error) { return nil, d(ctx) }

func (dialer) Driver() driver.Driver { return nil }

// TestOutage asks several times for what is in a database that cannot be reached: together that takes no longer than one question may, and
// nothing is asked in vain later, until the database can be reached again.
func TestOutage(t *testing.T) {
	refused := &net.OpError{Op: "dial", Err: errors.New("connection refused")}
	reached := errors.New("reached")
	for name, fail := range map[string]dialer{
		"refused": func(context.Context) error { return refused },
		"silent": func(ctx context.Context) error {
			select {
			case <-ctx.Done():
				return ctx.Err()
			case <-time.After(10 * time.Second):
				return refused
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				now := fail
				s := postgres.Unopened(dialer(func(ctx context.Context) error { return now(ctx) }))
				defer s.Close()
				began := time.Now()
				for range 3 {
					_, err := s.Document(t.Context(), store.Key{Kind: "k"})
					_, wrote := s.SetDocument(t.Context(), &store.Document{Key: store.Key{Kind: "k"}})
					_, listed := s.ListDocuments(t.Context(), "", "k")
					if err == nil || wrote == nil || listed == nil {
						t.Fatalf("errors of an outage = %v, %v, %v", err, wrote, listed)
					}
				}
				if took := time.Since(began); took < 10*time.Second || took > 15*time.Second {
					t.Errorf("nine questions took %v, want no more than one", took)
				}
				time.Sleep(time.Minute) // nobody asks
				ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
				defer cancel()
				if _, err := s.ListDocuments(ctx, "", "k"); !errors.Is(err, context.DeadlineExceeded) || name == "refused" && !strings.Contains(err.Error(), "connection refused") {
					t.Errorf("ListDocuments() = %v, want why the time was over", err)
				}
				time.Sleep(time.Second)
				now = func(context.Context) error { return reached }
				if _, err := s.Document(t.Context(), store.Key{Kind: "k"}); !errors.Is(err, reached) {
					t.Errorf("Document() after the outage = %v", err)
				}
			})
		})
	}
}
