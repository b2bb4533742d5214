package meter

import (
	"io/fs"
	"os"
	"sync"
	"time"

	"github.com/mcpgen/mcpgen/runner/sandbox"
)

const (
	// minPause is the least time between two looks.
	minPause = 25 * time.Millisecond
	// share bounds what looking costs: a look is followed by a pause that is this many times as long.
	share = 10
	// idleLooks is how many pauses may go by without a look while the file system's own figures do not change.
	idleLooks = 20
)

// Disk watches one workspace while its guest runs.
type Disk struct {
	dir   string
	bytes int64
	files int
	over  func()

	stop chan struct{}
	done sync.WaitGroup
	hit  bool // written by the watching goroutine, read after done
}

// WatchDisk looks again and again at what the workspace dir holds, and calls over once when that is more than
// limits.Disk bytes or limits.DiskFiles files and folders. A workspace that holds more when the guest starts may shrink
// but not grow. Between two looks a guest can write more than the limit: as much as the disk takes in some tens of
// milliseconds. Call Stop when the guest has ended. An empty dir watches nothing.
func WatchDisk(dir string, limits sandbox.Limits, over func()) *Disk {
	limits = limits.WithDefaults()
	d := &Disk{dir: dir, bytes: limits.Disk, files: limits.DiskFiles, over: over, stop: make(chan struct{})}
	if dir == "" {
		return d
	}
	d.done.Go(d.watch)
	return d
}

// Stop ends the watching, after a last look, and tells whether a limit was passed.
func (d *Disk) Stop() (hit bool) {
	close(d.stop)
	d.done.Wait()
	return d.hit
}

func (d *Disk) watch() {
	began := time.Now()
	used := measure(d.dir)
	d.bytes, d.files = max(d.bytes, used.bytes), max(d.files, used.files)
	pause := max(minPause, share*time.Since(began))
	free, idle := freeSpace(d.dir), 0
	for {
		select {
		case <-d.stop:
			d.hit = d.hit || d.passed(measure(d.dir))
			return
		case <-time.After(pause):
		}
		// The file system counts for us: while it gives away nothing, there is nothing new to find but by its own delay.
		now := freeSpace(d.dir)
		if idle++; now == free && now.known && idle < idleLooks {
			continue
		}
		free, idle = now, 0
		began = time.Now()
		used = measure(d.dir)
		pause = max(minPause, share*time.Since(began))
		if d.passed(used) && !d.hit {
			d.hit = true
			d.over()
		}
	}
}

func (d *Disk) passed(u usage) bool { return u.bytes > d.bytes || u.files > d.files }

// usage is what a folder holds. Holes in files take no space; a file with several names is counted for each.
type usage struct {
	bytes int64
	files int
}

// space is what a file system says of itself.
type space struct {
	known         bool
	blocks, nodes uint64
}

// measure follows no link, leaves out what is mounted below dir, and skips what it cannot read: a guest may hide what
// it writes from itself, but not from the owner of the workspace.
func measure(dir string) usage {
	var u usage
	root, err := os.OpenRoot(dir)
	if err != nil {
		return u
	}
	defer root.Close()
	_ = fs.WalkDir(root.FS(), ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || name == "." {
			return nil
		}
		u.files++
		if info, err := entry.Info(); err == nil {
			u.bytes += onDisk(info)
		}
		return nil
	})
	return u
}
