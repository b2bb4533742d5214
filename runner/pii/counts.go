package pii

// Counts returns the number of values in the vault by type, and nothing of the values.
func (v *Vault) Counts() (Found, error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if err := v.refresh(); err != nil {
		return nil, err
	}
	out := Found{}
	for _, e := range v.ledger.entries {
		if e.As != asItself {
			out[e.Type]++
		}
	}
	return out, nil
}
