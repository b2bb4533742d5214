// Package proctree adds up what a process and its descendants use, from /proc. It is for sandboxes that are in no control group, and for
// what no control group counts. Start with [Tree]. It exists on Linux only.
//
// It counts resident and swapped memory, page tables, files in memory, processor time, and threads. It does not count what the kernel keeps
// for the processes (data in pipes and sockets, pending events, locks), or the processor time of ended children whose parent ignores their
// end.
package proctree
