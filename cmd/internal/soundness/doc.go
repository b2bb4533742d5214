// Package soundness measures how well types fit the schemas they were made from. A [Case] is a schema with values that
// it accepts and values that it refuses; types are made of it, every value is written as a literal of the type, and one
// run of a compiler over all cases says which literals it takes.
//
//   - Types are sound for a schema when no value that the schema accepts is rejected.
//   - They are exact when, besides, every value that the schema refuses is rejected.
//
// Cases come from four places: files of this repository ([LoadCases]), the official JSON Schema test suite
// ([LoadSuite]), recorded tool lists of real servers ([LoadTools]) and chance ([Random]). For the last two values are
// made by [Fill]. Whether a schema accepts a value is never taken from who made it, but asked of a validator.
//
// [Print] makes types with mcpgen; [CheckTypeScript] and [CheckPython] judge types of whatever origin, so that other
// generators can be measured in the same way. [Score] adds up. Nothing here is meant for hostile input beyond what the
// generator itself takes.
package soundness
