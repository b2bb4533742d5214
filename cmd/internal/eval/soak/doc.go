// Package soak tests what accumulates: thousands of runs in every sandbox, many at once and some ended by their limits.
// Afterwards no run has failed unexpectedly, nothing is left on the machine, and this process is no larger than before. It
// also tests hosts that crash during a run. It contains only tests. MCPGEN_SOAK_RUNS sets the number of runs; "make soak"
// makes 10,000 in each sandbox. On Linux it also counts the rows of recorded runs with faults, MCPGEN_SOAK_RECORD in each store.
package soak
