package main

import "testing"

func TestQuantile(t *testing.T) {
	samples := []float64{5, 1, 4, 2, 3}
	for _, c := range []struct{ q, want float64 }{{0.5, 3}, {0.95, 5}, {0, 1}, {1, 5}} {
		if got := quantile(samples, c.q); got != c.want {
			t.Errorf("quantile(%v) = %v, want %v", c.q, got, c.want)
		}
	}
}

func TestRatioNamesItsBaseline(t *testing.T) {
	var tab table
	tab.add("direct", "µs", "", []float64{100})
	tab.add("bridge", "µs", "direct", []float64{150})
	if got := tab.rows[1].Ratio; got != 1.5 {
		t.Errorf("ratio = %v, want 1.5", got)
	}
}
