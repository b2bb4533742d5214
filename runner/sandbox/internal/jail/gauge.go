package jail

import "time"

// Reading is what the processes of a sandbox use together.
type Reading struct {
	Memory int64         // bytes of now: anonymous, shared, what the kernel keeps for them, and the files in memory that were asked for
	CPU    time.Duration // processor time of all that ran so far, as far as it was seen
	Tasks  int           // threads of now
	PIDs   []int
}
