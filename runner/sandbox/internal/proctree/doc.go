// Package proctree adds up what a process and all below it use, from /proc: for sandboxes that are in no control group, and
// for what no control group counts. Start with [Tree]. It exists on Linux only.
//
// Counted are resident and swapped memory, page tables, files in memory that are asked for, processor time, and threads. Not
// counted is what the kernel keeps for the processes besides: data in pipes and sockets, events that wait, locks.
package proctree
