package meter

import (
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
	// hurry and hurryFiles are what the file system must lose to be looked at out of turn.
	hurry      = 8 << 20
	hurryFiles = 1000
	// slack is how much a file system may lose, beside what looking finds, without the guest being suspected.
	slack = 64 << 20
)

// Disk watches one workspace while its guest runs.
type Disk struct {
	dir   string
	bytes int64
	files int
	size  int64 // the limit of one file

	before usage // what was there before the guest

	guest Guest
	over  func()
	stop  chan struct{}
	done  sync.WaitGroup

	hit, hitSize bool // written by the watching goroutine, read after done
}

// Guest is what a watcher can ask about the guest. Without these it sees no more than the workspace does.
type Guest struct {
	// PIDs lists the guest's processes: files that they hold open and that have no name take space, too. Nil: unknown.
	PIDs func() []int
	// Pause stops all of them until resume is called. It is used seldom: when the disk fills and looking finds nothing, as
	// when files are moved out of the way of a look. Nil: impossible.
	Pause func() (resume func())
	// AtRest returns, while the guest does nothing at all, a channel that is closed when it does something again; else nil.
	// Nil: unknown.
	AtRest func() <-chan struct{}
}

// NewDisk notes what the workspace dir holds now, which takes some microseconds a file. Call it before the guest can
// write there. An empty dir is never watched.
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

// WatchDisk is NewDisk and Watch in one, for a guest of which nothing is known.
func WatchDisk(dir string, limits sandbox.Limits, over func()) *Disk {
	d := NewDisk(dir, limits)
	d.Watch(Guest{}, over)
	return d
}

// Watch begins to look again and again at what the workspace holds, and calls over once when that is more than
// limits.Disk bytes or limits.DiskFiles files and folders. A workspace that held more before may shrink but not grow.
// A guest can write more than the limit before it is noticed: as much as the disk takes in some tens of milliseconds and
// while all files are looked at, which takes 2 to 3 microseconds a file. That were tens of megabytes where they were
// written as fast as memory takes them, and some hundred beside 100,000 files. Call Stop when the guest has ended.
func (d *Disk) Watch(guest Guest, over func()) {
	if d.dir == "" {
		return
	}
	d.guest, d.over = guest, over
	d.done.Go(d.watch)
}

// Stop ends the watching, after a last look, and tells whether the limit was passed. It may be called once.
func (d *Disk) Stop() (hit bool) {
	close(d.stop)
	d.done.Wait()
	return d.hit
}

// HitFileSize tells, after Stop, whether a file reached the size that one file may have.
func (d *Disk) HitFileSize() bool { return d.hitSize }

func (d *Disk) watch() {
	first := freeSpace(d.dir)
	last := look{free: first, end: time.Now()}
	for {
		select {
		case <-d.stop:
			d.guest = Guest{} // it has ended
			d.judge(d.measure())
			return
		case <-time.After(minPause):
			d.sleep()
		}
		now := freeSpace(d.dir)
		if !d.due(last, now) {
			continue
		}
		began := time.Now()
		used := d.measure()
		if !d.judge(used) && now.known && first.bytes-now.bytes > max(0, d.bytes-used.bytes)+slack {
			d.judgeAtStandstill()
			first = now // whatever it was, it is no reason to stop the guest again
		}
		end := time.Now()
		last = look{used: used, free: now, end: end, took: end.Sub(began)}
	}
}

// sleep waits while the guest does nothing, but not for long: something else may write to the workspace.
func (d *Disk) sleep() {
	if d.guest.AtRest == nil {
		return
	}
	rest := d.guest.AtRest()
	if rest == nil {
		return
	}
	select {
	case <-rest:
	case <-d.stop:
	case <-time.After(idleLooks * minPause):
	}
}

// look is what was seen, and when.
type look struct {
	used usage
	free space
	end  time.Time
	took time.Duration
}

// due tells whether it is time to look again: at once when the file system has since lost half of what the guest may
// still take, and otherwise seldom enough. The file system counts for us: while it gives away nothing, there is nothing
// new to find but by its own delay.
func (d *Disk) due(last look, now space) bool {
	pause, since := max(minPause, share*last.took), time.Since(last.end)
	if !now.known {
		return since >= pause
	}
	lost, more := last.free.bytes-now.bytes, int64(last.free.nodes)-int64(now.nodes)
	if lost > max(hurry, (d.bytes-last.used.bytes)/2) || more > max(hurryFiles, int64(d.files-last.used.files)/2) {
		return since >= last.took
	}
	return since >= pause && (now != last.free || since >= idleLooks*pause)
}

// judgeAtStandstill looks while the guest can hide nothing from it.
func (d *Disk) judgeAtStandstill() {
	if d.guest.Pause == nil || d.hit {
		return
	}
	resume := d.guest.Pause()
	used := d.measure()
	resume()
	d.judge(used)
}

func (d *Disk) measure() usage {
	used := measure(d.dir, usage{bytes: d.bytes, files: d.files})
	if d.guest.PIDs != nil && !d.passed(used) {
		used.bytes += nameless(d.guest.PIDs())
	}
	return used
}

func (d *Disk) judge(used usage) (passed bool) {
	d.hitSize = d.hitSize || d.cutOff(used)
	if d.passed(used) && !d.hit {
		d.hit = true
		d.over()
	}
	return d.hit
}

// cutOff tells whether a file was written as far as a file may get. One that is larger was so before.
func (d *Disk) cutOff(u usage) bool {
	if d.before.largest < d.size {
		return u.largest >= d.size
	}
	return u.largest == d.size && u.written > d.before.written
}

func (d *Disk) passed(u usage) bool {
	return u.bytes > d.bytes || u.files > d.files || u.tooDeep && !d.before.tooDeep
}

// usage is what a folder holds. Holes in files take no space; a file with several names is counted for each.
type usage struct {
	bytes   int64
	files   int
	largest int64 // the size of the largest file, holes included
	written int64 // when that was written to, or of several the last, in nanoseconds since 1970
	tooDeep bool  // some folders are so deep, and so many, that it was not looked into all
}

// add counts a file or folder; the size of what is no regular file is 0.
func (u *usage) add(size, onDisk, written int64) {
	u.files++
	u.bytes += onDisk
	if size > u.largest || size == u.largest && written > u.written {
		u.largest, u.written = size, written
	}
}

// beyond tells whether u is more than enough; negative figures of enough stand for no bound.
func (u usage) beyond(enough usage) bool {
	return enough.bytes >= 0 && u.bytes > enough.bytes || enough.files >= 0 && u.files > enough.files
}

// space is what a file system says of itself.
type space struct {
	known bool
	bytes int64 // free
	nodes uint64
}
