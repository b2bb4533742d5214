// Package audit is the record: what was run, called, decided and approved, so that it can be looked up afterwards and nobody can change it
// unnoticed.
//
// A row is a JSON object in its canonical form (RFC 8785, except that integers keep all their digits). The rows are the leaves of a Merkle
// tree (RFC 6962), whose hashes the store keeps beside them. A head of the tree is signed with the operator's Ed25519 key as a C2SP
// checkpoint, kept beside the key, and published, so that an edited, removed, reordered, inserted or cut-off row shows even if whoever changed
// it recomputed all hashes.
//
// An intent must be durable before its effect can happen. A transaction for each call would double the time of a fast one, so a Log can keep
// rows in write-ahead files until the store has them; see [Options.Ahead].
package audit
