// Package soundness measures how well types fit the schemas that they were generated from. A [Case] is a schema with values that
// it accepts and values that it refuses. The package generates types for it, writes every value as a literal of the type, and
// runs a compiler once over all cases to see which literals it accepts.
//
//   - Types are sound for a schema when no value that the schema accepts is rejected.
//   - They are exact when they are sound and every value that the schema refuses is rejected.
//
// Cases come from four places: files of this repository ([LoadCases]), the official JSON Schema test suite
// ([LoadSuite]), recorded tool lists of real servers ([LoadTools]) and random schemas ([Random]). [Fill] generates the
// values of recorded schemas. A validator decides whether a schema accepts a generated value.
//
// [Print] generates types with mcpgen. [CheckTypeScript] and [CheckPython] check types of any origin, so that other
// generators can be measured in the same way. [Score] sums up the results.
package soundness
