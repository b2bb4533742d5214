package docker

import "context"

// RemoveOwned removes what this process has left in the engine, as the process does that outlives it.
func (b *Backend) RemoveOwned(ctx context.Context) error { return b.removeOwned(ctx, b.owner) }

// SetImageSource replaces the pinned images, in the form of image.lock.json, and the registry.
func (b *Backend) SetImageSource(lock []byte, registry string) { b.lock, b.registry = lock, registry }
