package meter

import (
	"sync"
	"time"

	"github.com/mcpgen/mcpgen/runner/sandbox"
)

const (
	// minPause is the shortest time between two scans of the workspace.
	minPause = 25 * time.Millisecond
	// pauseFactor bounds the cost of scanning: the pause after a scan is this many times as long as the scan.
	pauseFactor = 10
	// idlePauses is the maximum number of pauses without a scan while the file system's own figures stay the same.
	idlePauses = 20
	// urgentBytes and urgentFiles are how much free space the file system must lose for an early scan.
	urgentBytes = 8 << 20
	urgentFiles = 1000
)

// Disk watches one workspace while its guest runs.
type Disk struct {
	dir   string
	bytes int64
	files int
	size  int64 // limit on the size of one file

	before usage // the workspace before the guest started

	pids func() []int // the guest's processes, or nil
	over func()
	stop chan struct{}
	done sync.WaitGroup

	hit, hitSize bool // written by the watching goroutine, read after done
}

// NewDisk records the present contents of the workspace dir, which takes a few microseconds a file. Call it before the guest
// can write there. An empty dir is never watched.
func NewDisk(dir string, limits sandbox.Limits) *Disk {
	limits = limits.WithDefaults()
	d := &Disk{dir: dir, bytes: limits.Disk, files: limits.DiskFiles, size: limits.FileSize, stop: make(chan struct{})}
	if dir == "" {
		return d
	}
	used := measure(dir, usage{bytes: -1, files: -1})
	d.bytes, d.files = max(d.bytes, used.bytes), max(d.files, used.files)
	d.before = used
	return d
}

// WatchDisk calls NewDisk and Watch, for a guest whose processes cannot be listed.
func WatchDisk(dir string, limits sandbox.Limits, over func()) *Disk {
	d := NewDisk(dir, limits)
	d.Watch(nil, over)
	return d
}

// Watch scans the workspace repeatedly, and calls over once when it holds more than limits.Disk bytes or limits.DiskFiles files and
// folders. A workspace that already held more may shrink but not grow. Before this is noticed, a guest can exceed the limit by what the
// disk takes in some tens of milliseconds and during one scan, which takes 2 to 3 microseconds a file. In tests this was tens of megabytes,
// and a few hundred files with 100,000 others. Call Stop when the guest has ended.
//
// pids lists the guest's processes, or is nil if they are unknown. Removed files that they still hold open take space too.
func (d *Disk) Watch(pids func() []int, over func()) {
	if d.dir == "" {
		return
	}
	d.pids, d.over = pids, over
	d.done.Go(d.watch)
}

// Stop scans a last time and reports whether the limit was exceeded. It is called once.
func (d *Disk) Stop() (hit bool) {
	close(d.stop)
	d.done.Wait()
	return d.hit
}

// HitFileSize reports, after Stop, whether a file reached the limit of one file's size.
func (d *Disk) HitFileSize() bool { return d.hitSize }

func (d *Disk) watch() {
	last := scan{free: freeSpace(d.dir), end: time.Now()}
	for {
		select {
		case <-d.stop:
			d.pids = nil // it has ended
			d.check(d.measure())
			return
		case <-time.After(minPause):
		}
		now := freeSpace(d.dir)
		if !d.due(last, now) {
			continue
		}
		began := time.Now()
		used := d.measure()
		d.check(used)
		end := time.Now()
		last = scan{used: used, free: now, end: end, took: end.Sub(began)}
	}
}

// scan is the result of a scan and when it was made.
type scan struct {
	used usage
	free space
	end  time.Time
	took time.Duration
}

// due reports whether it is time for the next scan: at once if the file system has since lost half of the space that the guest may still
// use, and otherwise after a pause. While the file system's figures stay the same, a scan would give the same result, apart from writes
// that the file system has delayed.
func (d *Disk) due(last scan, now space) bool {
	pause, since := max(minPause, pauseFactor*last.took), time.Since(last.end)
	if !now.known {
		return since >= pause
	}
	lost, more := last.free.bytes-now.bytes, int64(last.free.nodes)-int64(now.nodes)
	if lost > max(urgentBytes, (d.bytes-last.used.bytes)/2) || more > max(urgentFiles, int64(d.files-last.used.files)/2) {
		return since >= last.took
	}
	return since >= pause && (now != last.free || since >= idlePauses*pause)
}

func (d *Disk) measure() usage {
	used := measure(d.dir, usage{bytes: d.bytes, files: d.files})
	if d.pids != nil && !d.passed(used) {
		used.bytes += nameless(d.dir, d.pids())
	}
	return used
}

func (d *Disk) check(used usage) {
	d.hitSize = d.hitSize || d.cutOff(used)
	if d.passed(used) && !d.hit {
		d.hit = true
		d.over()
	}
}

// cutOff reports whether a file has grown to the limit on a file's size. A larger one already existed before.
func (d *Disk) cutOff(u usage) bool {
	if d.before.largest < d.size {
		return u.largest >= d.size
	}
	return u.largest == d.size && u.written > d.before.written
}

func (d *Disk) passed(u usage) bool {
	return u.bytes > d.bytes || u.files > d.files || u.tooDeep && !d.before.tooDeep
}

// space is what a file system reports about its free space.
type space struct {
	known bool
	bytes int64 // free
	nodes uint64
}
