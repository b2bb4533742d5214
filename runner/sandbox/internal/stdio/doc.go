// Package stdio connects a guest: pipes for its standard streams, and a socket for its bridge. They are pipes of our own,
// never the caller's files: a script that gets a descriptor of a terminal or file could do more with it than read or write.
// Start with [Open], which exists on Linux only. A [Buffer] stands between a guest's output and a slow writer.
package stdio
