// Package pidfd refers to processes that are not children of this one by descriptors. Unlike a process ID, a descriptor never comes to mean
// another process. It exists on Linux only. Start with [Open].
package pidfd
