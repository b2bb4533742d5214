// Package stdio connects a guest: pipes for its standard streams, and a socket for its bridge. They are pipes of our own,
// never the caller's files: a script that gets a descriptor of a terminal or file could do more with it than read or write.
// Start with [Open]. It exists on Linux only.
package stdio
