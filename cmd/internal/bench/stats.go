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
	P95  float64 `json:"p95"` // of what is better when it is more, p05
	Unit string  `json:"unit"`
	// Baseline names what the ratio compares with; Ratio is P50 divided by the baseline's P50, or for samples that belong
	// together in pairs the median of their ratios. Both are empty for a baseline itself.
	Baseline string  `json:"baseline"`
	Ratio    float64 `json:"ratio"`
}

// table collects rows.
type table struct {
	rows     []Row
	progress io.Writer // gets each row's name and p50 as it comes; nil: nobody waits for it
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

// has tells whether there is a row of that name.
func (t *table) has(name string) bool {
	return slices.ContainsFunc(t.rows, func(r Row) bool { return r.Name == name })
}

// addPaired records samples of which each belongs to one of base.
func (t *table) addPaired(name, unit, baseline string, samples, base []float64) {
	t.add(name, unit, baseline, samples)
	ratios := make([]float64, len(samples))
	for i := range samples {
		ratios[i] = samples[i] / base[i]
	}
	t.rows[len(t.rows)-1].Ratio = round(quantile(ratios, 0.50))
}

// addOnTop records by how much the quantiles of samples are above those of beside, which were taken at the same time.
func (t *table) addOnTop(name, unit, baseline string, samples, beside []float64) {
	t.add(name, unit, baseline, []float64{quantile(samples, 0.50) - quantile(beside, 0.50)})
	t.rows[len(t.rows)-1].P95 = round(quantile(samples, 0.95) - quantile(beside, 0.95))
}

// worse is the quantile that only one in twenty samples is worse than.
func worse(unit string) float64 {
	if strings.HasSuffix(unit, "/s") || unit == "per s" {
		return 0.05
	}
	return 0.95
}

// quantile returns the nearest-rank quantile of samples; NaN-free: zero when there are none.
func quantile(samples []float64, q float64) float64 {
	if len(samples) == 0 {
		return 0
	}
	s := slices.Sorted(slices.Values(samples))
	return s[max(0, int(math.Ceil(q*float64(len(s))))-1)]
}

// round keeps three significant digits, enough to compare and few enough to read.
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

// figure writes a number without an exponent.
func figure(v float64) string { return strconv.FormatFloat(v, 'f', -1, 64) }

// json writes one object a line.
func (t *table) json(w io.Writer) error {
	enc := json.NewEncoder(w)
	for _, r := range t.rows {
		if err := enc.Encode(r); err != nil {
			return err
		}
	}
	return nil
}
