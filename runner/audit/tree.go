package audit

import (
	"math/bits"

	"golang.org/x/mod/sumdb/tlog"
)

// tree is a Merkle tree (RFC 6962) of which only the right edge is kept: enough to add leaves and to compute its root. It stores hashes in
// the order of package tlog, which reads the earlier ones from the store for each row; here the edge stays in memory.
type tree struct {
	size int64
	// edge[l] is the root of the complete subtree of 2^l leaves, if bit l of the size is set.
	edge [63]tlog.Hash
}

// add adds a leaf and appends the hashes that it adds to the stored ones: its own, and that of each subtree that it completes.
func (t *tree) add(leaf tlog.Hash, hashes []tlog.Hash) []tlog.Hash {
	hashes = append(hashes, leaf)
	level := 0
	for ; t.size>>level&1 == 1; level++ {
		leaf = tlog.NodeHash(t.edge[level], leaf)
		hashes = append(hashes, leaf)
	}
	t.edge[level] = leaf
	t.size++
	return hashes
}

// root returns the hash of the tree.
func (t *tree) root() tlog.Hash {
	hash, _ := tlog.TreeHash(0, nil) // of the empty tree, which reads nothing
	for rest, first := uint64(t.size), true; rest != 0; rest, first = rest&(rest-1), false {
		subtree := t.edge[bits.TrailingZeros64(rest)]
		if first {
			hash = subtree
		} else {
			hash = tlog.NodeHash(subtree, hash)
		}
	}
	return hash
}

// readTree reads the right edge of a stored tree.
func readTree(size int64, stored tlog.HashReader) (tree, error) {
	t := tree{size: size}
	var levels []int
	var indexes []int64
	for level := len(t.edge) - 1; level >= 0; level-- {
		if size>>level&1 == 1 {
			levels = append(levels, level)
			indexes = append(indexes, tlog.StoredHashIndex(level, size>>level-1))
		}
	}
	hashes, err := stored.ReadHashes(indexes)
	if err != nil {
		return tree{}, err
	}
	for i, level := range levels {
		t.edge[level] = hashes[i]
	}
	return t, nil
}
