// Package pidfd refers to processes that are not children of this one, by descriptors: unlike a process ID, a descriptor never
// means another process. Linux has them. Start with [Open].
package pidfd
