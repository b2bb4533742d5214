package postgres_test

import (
	"context"
	"fmt"
	"log"

	"github.com/mcpgen/mcpgen/runner/store/postgres"
	"github.com/mcpgen/mcpgen/runner/store/storetest/pgtest"
)

func Example() {
	ctx := context.Background()
	address, err := pgtest.New() // such as postgres://mcprun@db.internal/mcprun
	if err != nil {
		log.Fatal(err)
	}
	s, err := postgres.Open(ctx, address)
	if err != nil {
		log.Fatal(err)
	}
	defer s.Close()
	held, err := s.Lease(ctx, "schedules", "machine-1", 0)
	if err != nil {
		log.Fatal(err)
	}
	leases, err := s.Leases(ctx, "")
	fmt.Println(held, leases, err)
	// Output: true [{schedules machine-1 true}] <nil>
}
