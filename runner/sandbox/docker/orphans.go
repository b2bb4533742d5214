package docker

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
)

// volumeMark is before the name of a volume that is remembered.
const volumeMark = "volume:"

// remember keeps the name of a container that could not be removed because its engine is gone. Its owner lives, so no
// other process will remove it.
func (b *Backend) remember(container string) {
	b.orphansMu.Lock()
	defer b.orphansMu.Unlock()
	if b.orphans == nil {
		b.orphans = make(map[string]bool)
	}
	b.orphans[container] = true
}

// hasOrphans tells whether anything is remembered.
func (b *Backend) hasOrphans() bool {
	b.orphansMu.Lock()
	defer b.orphansMu.Unlock()
	return len(b.orphans) > 0
}

// removeOrphans removes what is remembered, and remembers what it could not remove.
func (b *Backend) removeOrphans(ctx context.Context) error {
	b.orphansMu.Lock()
	names := slices.Collect(maps.Keys(b.orphans))
	b.orphans = nil
	b.orphansMu.Unlock()
	var errs []error
	for _, name := range names {
		if volume, ok := strings.CutPrefix(name, volumeMark); ok {
			errs = append(errs, b.removeVolumes(ctx, []string{volume}))
			continue
		}
		errs = append(errs, b.removeContainer(ctx, name))
	}
	return errors.Join(errs...)
}

// tidy removes what is remembered, without anybody waiting for it.
func (b *Backend) tidy() {
	if err := b.removeOrphans(context.Background()); err != nil {
		b.log.Debug("remove what an engine has left that was gone", "error", err)
	}
}
