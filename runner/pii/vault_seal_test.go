package pii

import (
	"encoding/hex"
	"testing"
)

// TestSealedLines opens lines that an earlier program has sealed.
func TestSealedLines(t *testing.T) {
	s, err := newSealer(sealKey{testKey, "customer acme"})
	if err != nil {
		t.Fatal(err)
	}
	var after tag
	var got []*batch
	for i, text := range []string{
		"6d637072756e207661756c7420330a01b15235d046ba2879f19602a669587ca732550e8dfdf9823dead134f3ceb05bf80422ffab50440450adf4ced9a084585ab631157db4bc9c4f9128fec4561394188d1a03",
		"6d637072756e207661756c7420330a01b15235d046ba2879f19602a669587ca732550e8dfdf9822be4771d3271ee741f40ce554012c1647deac04c09c1b733c5fe518a5a38ca98ac30552a78d1d6e86d07a0618938aa4fce227c86f51b211eddf4ea9bd575ac161771555ec41395",
	} {
		line, err := hex.DecodeString(text)
		if err != nil {
			t.Fatal(err)
		}
		b, err := s.open(int64(i+1), after, line)
		if err != nil {
			t.Fatalf("line %d: %v", i+1, err)
		}
		got, after = append(got, b), tagOf(line)
	}
	if got[0].kind != kindWhole || got[0].Moved != "abc" || got[1].kind != kindAdded || len(got[1].Noted) != 1 || got[1].Noted[0] != (note{Token: "[EMAIL_1]", Used: 3}) {
		t.Errorf("got %+v and %+v", got[0], got[1])
	}
}
