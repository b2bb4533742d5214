// Package stdio connects a guest: pipes for its standard streams, and a socket for its bridge. The pipes are our own and never the caller's
// files, because a script could do more with a descriptor of a terminal or file than read or write. Start with [Open], which exists on
// Linux only. A [Buffer] decouples a guest's output from a slow writer.
package stdio
