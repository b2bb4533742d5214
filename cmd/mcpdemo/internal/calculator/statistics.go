package calculator

import (
	"fmt"
	"math"
	"slices"
)

type statisticsInput struct {
	Values      []float64 `json:"values" minitems:"1" maxitems:"100000" jsonschema:"The numbers to describe, in any order."`
	Percentiles []float64 `json:"percentiles,omitempty" min:"0" max:"100" maxitems:"20" jsonschema:"Percentiles to compute, each from 0 to 100. Values between two data points are interpolated linearly."`
	Sample      bool      `json:"sample,omitempty" default:"true" jsonschema:"True divides the variance by n-1 (the values are a sample), false by n (they are the whole population)."`
}

type percentile struct {
	Percentile float64 `json:"percentile" jsonschema:"The percentile asked for, from 0 to 100."`
	Value      float64 `json:"value" jsonschema:"The value at or below which that share of the numbers lies."`
}

type statisticsOutput struct {
	Count       int          `json:"count" jsonschema:"How many numbers there were."`
	Sum         float64      `json:"sum" jsonschema:"Their sum."`
	Mean        float64      `json:"mean" jsonschema:"The arithmetic mean."`
	Median      float64      `json:"median" jsonschema:"The middle value."`
	Min         float64      `json:"min" jsonschema:"The smallest number."`
	Max         float64      `json:"max" jsonschema:"The largest number."`
	Variance    *float64     `json:"variance" jsonschema:"The variance, or null for a sample of one number."`
	StdDev      *float64     `json:"std_dev" jsonschema:"The standard deviation, or null for a sample of one number."`
	Modes       []float64    `json:"modes" jsonschema:"The most frequent values, ascending; empty when every value occurs once."`
	Percentiles []percentile `json:"percentiles" jsonschema:"The percentiles asked for, in the order asked."`
}

func describe(in statisticsInput) (statisticsOutput, error) {
	values := slices.Sorted(slices.Values(in.Values))
	n := float64(len(values))
	out := statisticsOutput{
		Count: len(values), Sum: sum(values),
		Min: values[0], Max: values[len(values)-1],
		Median: quantile(values, 50), Modes: modes(values), Percentiles: []percentile{},
	}
	out.Mean = out.Sum / n
	divisor := n
	if in.Sample {
		divisor = n - 1
	}
	if divisor > 0 {
		squares := make([]float64, len(values))
		for i, v := range values {
			squares[i] = (v - out.Mean) * (v - out.Mean)
		}
		variance := sum(squares) / divisor
		deviation := math.Sqrt(variance)
		out.Variance, out.StdDev = &variance, &deviation
		if err := finite(variance); err != nil {
			return statisticsOutput{}, fmt.Errorf("variance: %w", err)
		}
	}
	for _, p := range in.Percentiles {
		out.Percentiles = append(out.Percentiles, percentile{p, quantile(values, p)})
	}
	return out, finite(out.Sum)
}

// quantile interpolates linearly between the two nearest of the sorted values.
func quantile(sorted []float64, percent float64) float64 {
	rank := percent / 100 * float64(len(sorted)-1)
	low := int(math.Floor(rank))
	high := min(low+1, len(sorted)-1)
	return sorted[low] + (rank-float64(low))*(sorted[high]-sorted[low])
}

func modes(sorted []float64) []float64 {
	result, best := []float64{}, 2 // a value that occurs once is no mode
	for i := 0; i < len(sorted); {
		j := i
		for j < len(sorted) && sorted[j] == sorted[i] {
			j++
		}
		switch {
		case j-i > best:
			result, best = []float64{sorted[i]}, j-i
		case j-i == best:
			result = append(result, sorted[i])
		}
		i = j
	}
	return result
}
