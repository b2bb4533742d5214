package validate

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"
)

// TestManyWrongValues tests that the errors of a long list are found in time that does not grow with its square, and that
// the first ones are reported.
func TestManyWrongValues(t *testing.T) {
	const n = 60_000
	for name, c := range map[string]struct{ rule, value, want string }{
		"types":    {`{"type":"array","items":{"type":"string"}}`, "[" + strings.Repeat("1,", n) + "1]", "b[0]: expected string"},
		"an enum":  {`{"type":"array","items":{"enum":["x","y"]}}`, "[" + strings.Repeat("1,", n) + "1]", "b[0]: expected one of"},
		"required": {`{"type":"array","items":{"type":"object","required":["z"]}}`, "[" + strings.Repeat("{},", n) + "{}]", "b[0]: missing"},
		"the last": {`{"type":"array","items":{"type":"string"}}`, "[" + strings.Repeat(`"",`, n) + "1]", fmt.Sprintf("b[%d]: expected string", n)},
	} {
		t.Run(name, func(t *testing.T) {
			v, err := Compile(json.RawMessage(`{"type":"object","properties":{"b":` + c.rule + `}}`))
			if err != nil {
				t.Fatal(err)
			}
			start := time.Now()
			err = v.ValidateAs("the arguments", json.RawMessage(`{"b":`+c.value+`}`))
			if took := time.Since(start); took > time.Minute {
				t.Errorf("Validate took %s, want less than a minute", took)
			}
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("ValidateAs() = %.300v, want %s", err, c.want)
			}
		})
	}
}
