package docker

import "time"

// answerTime is how long an engine may take for a simple request: on a busy machine it is slow.
const answerTime = 10 * time.Second

const (
	// createTime and startTime are how long a busy engine may take.
	createTime = 30 * time.Second
	startTime  = 60 * time.Second
	removeTime = 30 * time.Second
	// endTime is how long an engine may take to report the end of a container.
	endTime = 5 * time.Second
)

const (
	// killTime is how long a container that has ended may take to be gone before it is removed by force.
	killTime = 20 * time.Second
	// drainTime is how long the engine may take to deliver the rest of the output of a container that is gone.
	drainTime = 5 * time.Second
	// pingTime is how long the engine may take to answer a ping.
	pingTime = time.Second
)
