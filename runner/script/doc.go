// Package script reads a script, checks its form, and makes the job that a guest runs from it: TypeScript is bundled
// with the wrappers, skills and files it imports into one ES module; Python is passed on with the files beside it that it
// imports. Start with [Prepare]. What a script imports by a path that only it knows is made while it runs, by
// [Prepared.Import]. The package reads files below the tree, the folder of skills and the script's own folder, and nothing
// else, whatever the script says.
package script
