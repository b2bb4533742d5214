package main

import (
	"encoding/json"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
)

// Row is one measurement beside its baseline.
type Row struct {
	Name string  `json:"name"`
	P50  float64 `json:"p50"`
	P95  float64 `json:"p95"` // p05 of a rate, where more is better
	Unit string  `json:"unit"`
	// Baseline names the row that Ratio compares with. Ratio is P50 divided by the P50 of the baseline. Both are empty for
	// a baseline itself.
	Baseline string  `json:"baseline"`
	Ratio    float64 `json:"ratio"`
}

// table collects rows.
type table struct {
	rows     []Row
	progress io.Writer // receives the name and p50 of each row as it is added; may be nil
}

// add records samples under name. baseline names an earlier row; empty makes this row a baseline.
func (t *table) add(name, unit, baseline string, samples []float64) {
	row := Row{Name: name, P50: round(quantile(samples, 0.50)), P95: round(quantile(samples, worse(unit))), Unit: unit, Baseline: baseline}
	for _, r := range t.rows {
		if r.Name == baseline && r.P50 > 0 {
			row.Ratio = round(row.P50 / r.P50)
		}
	}
	t.rows = append(t.rows, row)
	if t.progress != nil {
		fmt.Fprintf(t.progress, "%s: %s %s\n", name, figure(row.P50), unit)
	}
}

// addDifference records by how much the quantiles of samples exceed those of base, which were taken at the same time.
func (t *table) addDifference(name, unit, baseline string, samples, base []float64) {
	t.add(name, unit, baseline, []float64{quantile(samples, 0.50) - quantile(base, 0.50)})
	t.rows[len(t.rows)-1].P95 = round(quantile(samples, 0.95) - quantile(base, 0.95))
}

// worse returns the quantile that one sample in twenty is worse than.
func worse(unit string) float64 {
	if strings.HasSuffix(unit, "/s") || unit == "per s" {
		return 0.05
	}
	return 0.95
}

// quantile returns the nearest-rank quantile of samples, or 0 if there are none.
func quantile(samples []float64, q float64) float64 {
	if len(samples) == 0 {
		return 0
	}
	s := slices.Sorted(slices.Values(samples))
	return s[max(0, int(math.Ceil(q*float64(len(s))))-1)]
}

// round keeps three significant digits.
func round(v float64) float64 {
	if v == 0 {
		return 0
	}
	p := math.Pow(10, math.Ceil(math.Log10(math.Abs(v)))-3)
	return math.Round(math.Round(v/p)*p*1e6) / 1e6
}

func (t *table) print(w io.Writer) error {
	tw := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(tw, "name\tp50\tp95\tunit\tratio\tto\t")
	for _, r := range t.rows {
		ratio, to := "", "(baseline)"
		if r.Baseline != "" {
			ratio, to = figure(r.Ratio)+"×", r.Baseline
		}
		fmt.Fprintf(tw, "%s\t%s\t%s\t%s\t%s\t%s\t\n", r.Name, figure(r.P50), figure(r.P95), r.Unit, ratio, to)
	}
	return tw.Flush()
}

// figure formats a number without an exponent.
func figure(v float64) string { return strconv.FormatFloat(v, 'f', -1, 64) }

// json writes one object per line.
func (t *table) json(w io.Writer) error {
	enc := json.NewEncoder(w)
	for _, r := range t.rows {
		if err := enc.Encode(r); err != nil {
			return err
		}
	}
	return nil
}
