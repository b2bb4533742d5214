// Package soak tests what adds up: thousands of runs in every sandbox, many at once and some ended by their limits, after
// which no run has failed for a reason of ours, nothing is left on the machine, and this process is no larger than before;
// and hosts that crash in the middle of a run. It holds tests only. MCPGEN_SOAK_RUNS says how many runs there are; make
// soak makes 10,000 in each sandbox.
package soak
