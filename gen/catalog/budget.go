package catalog

// budget bounds the work of comparing two schemas, which a hostile one could make endless. It counts keywords and items
// looked at.
type budget struct {
	most, left int
	out        bool
}

const (
	// schemaBudget is for one pair of schemas, leastBudget what each gets at least, diffBudget for all of two catalogs.
	schemaBudget = 500_000
	leastBudget  = 2_000
	diffBudget   = 10_000_000
)

// newBudget is for each pair of schemas of as many tools.
func newBudget(tools int) *budget {
	most := max(leastBudget, min(schemaBudget, diffBudget/max(1, tools)))
	return &budget{most: most, left: most}
}

// start begins the next pair of schemas.
func (b *budget) start() { b.left, b.out = b.most, false }

// spend counts n things. False: there were too many.
func (b *budget) spend(n int) bool {
	if b.left < n {
		b.out = true
		return false
	}
	b.left -= n
	return true
}

// overrun gives the schema at hand up.
func (b *budget) overrun() { b.out, b.left = true, 0 }

func (b *budget) exhausted() bool { return b.out }
