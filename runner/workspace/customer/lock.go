package customer

import (
	"context"
	"fmt"
	"path/filepath"

	"github.com/mcpgen/mcpgen/runner/internal/kept"
)

// rootLock is the name of the file that is locked while a customer is created. No id begins with a dot.
const rootLock = ".lock"

// lock waits for the exclusive lock of the folder of customers.
func (r *Root) lock(ctx context.Context) (unlock func(), err error) {
	unlock, err = kept.Lock(ctx, filepath.Join(r.dir, rootLock))
	if err != nil {
		return nil, fmt.Errorf("lock the folder of customers: %w", err)
	}
	return unlock, nil
}

// lock waits for the exclusive lock of the customer. A run holds it only while it begins. An operation that must not happen
// during a run holds it, and then checks that there is none. The holder must not take the lock of the root.
func (c *Customer) lock(ctx context.Context) (unlock func(), err error) {
	unlock, err = kept.Lock(ctx, filepath.Join(c.Dir(), lockName))
	if err != nil {
		return nil, fmt.Errorf("lock customer %q: %w", c.id, err)
	}
	return unlock, nil
}
