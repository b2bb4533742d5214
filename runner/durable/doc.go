// Package durable runs work that survives the death of its process: it continues in another one, at the step that had not finished.
//
// A kind of work is a function. It does everything that changes something, or that another time would give another result, in steps:
// [Step] keeps the result of a function, and [Call] is a step whose effect lies outside, such as a call of a tool. When work continues,
// its function runs again from the start; a step that has finished returns what was kept, and its function does not run. Between the
// steps, the function must therefore be deterministic.
//
// What happens to a step that a crash interrupted depends on its kind. A Step runs again. A Call does not, unless it is idempotent: it may
// have been sent, so its result is *unknown*, and the work gets an [UnknownError]. It may ask a person, or fail with that error.
//
// # Who runs what
//
// Processes share a database: an SQLite file, or one in Postgres. Each [Engine] is an executor with a random name and a lease on it. Only
// when the lease has expired, or was released, do others take over its work; nobody runs the work of an executor that is alive. An
// executor that was stopped for longer, and continues, checks its lease before each step, and finds that its work was taken over: it runs
// no further step of it, and the database refuses its results.
//
// All processes that launch an engine on one database must register the same kinds, or have different groups. Others may open an engine without launching it, to
// list work, to answer and to cancel.
//
// # Versions
//
// DBOS, the library below, continues work only in programs of the same application version, by default a hash of the program. Here the
// version is fixed ([format]), so that a newer mcprun continues what an older one began. A kind whose steps change gets a new name, such
// as "plan.v2"; work whose steps do not match what was kept fails, and nothing is run twice.
package durable
