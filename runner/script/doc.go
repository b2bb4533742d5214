// Package script reads a script, checks its form, and makes the job that a guest runs from it: TypeScript is bundled
// with the wrappers it imports into one ES module, Python is passed on as it is. Start with [Prepare]. It reads files
// below the tree and below the script's own folder, and nothing else.
package script
