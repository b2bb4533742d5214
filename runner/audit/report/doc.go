// Package report reads the record: it lists runs and rows, shows everything about one run, sums up a period for a review, and writes rows in
// formats of other programs.
//
// A run belongs to the period in which it began, and one whose script did not start to that in which it was refused. What has begun and has
// no end in the record is unknown, and is called so everywhere. In JSON, a value that is not known is null, never absent.
//
// The package trusts neither names nor texts of the record: callers escape what they print, and what the package writes itself is escaped for
// its format.
package report
