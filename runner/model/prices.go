package model

import (
	"fmt"
	"strconv"
	"strings"
)

// Prices are what a model costs, in US dollars for a million tokens.
type Prices struct {
	Input  float64 `json:"input"`  // for tokens that it reads
	Output float64 `json:"output"` // for tokens that it writes
}

// known are the list prices of November 2026 by the name of the model, without those of caches and batches. Models whose price depends on the
// length of a request are left out. A name also stands for its dated versions, such as claude-haiku-4-5-20251001.
var known = map[string]Prices{
	// https://platform.claude.com/docs/about-claude/pricing
	"claude-fable-5-1": {10, 50}, "claude-fable-5": {10, 50},
	"claude-opus-5-5": {4, 20}, "claude-opus-5": {5, 25}, "claude-opus-4-8": {5, 25}, "claude-opus-4-7": {5, 25}, "claude-opus-4-6": {5, 25}, "claude-opus-4-5": {5, 25},
	"claude-sonnet-5-5": {2, 10}, "claude-sonnet-5": {2, 10}, "claude-sonnet-4-6": {3, 15}, "claude-sonnet-4-5": {3, 15},
	"claude-haiku-4-5": {1, 5},
	// https://developers.openai.com/api/docs/pricing
	"gpt-5.4": {2.5, 15}, "gpt-5.4-mini": {0.75, 4.5}, "gpt-5.1": {1.25, 10}, "gpt-5": {1.25, 10}, "gpt-5-mini": {0.25, 2}, "gpt-5-nano": {0.05, 0.4},
	"gpt-4.1": {2, 8}, "gpt-4.1-mini": {0.4, 1.6}, "gpt-4.1-nano": {0.1, 0.4}, "gpt-4o": {2.5, 10}, "gpt-4o-mini": {0.15, 0.6},
	"o3": {2, 8}, "o4-mini": {1.1, 4.4},
}

// PricesOf returns the list prices of a model, and whether they are known.
func PricesOf(name string) (p Prices, ok bool) {
	if p, ok = known[name]; ok {
		return p, true
	}
	for { // a date follows the name
		at := strings.LastIndexByte(name, '-')
		if at < 0 || strings.Trim(name[at+1:], "0123456789") != "" || at+1 == len(name) {
			return Prices{}, false
		}
		if name = name[:at]; known[name] != (Prices{}) {
			return known[name], true
		}
	}
}

// MidRange returns the prices of a mid-range model, for comparisons that name none.
func MidRange() Prices { return known["claude-sonnet-4-6"] }

// ParsePrices parses "INPUT,OUTPUT", such as "3,15".
func ParsePrices(text string) (Prices, error) {
	var p Prices
	input, output, ok := strings.Cut(text, ",")
	for _, each := range []struct {
		text string
		into *float64
	}{{input, &p.Input}, {output, &p.Output}} {
		n, err := strconv.ParseFloat(strings.TrimSpace(each.text), 64)
		if !ok || err != nil || !(n >= 0 && n < 1e6) {
			return p, fmt.Errorf("%q is not two prices of a million tokens, read and written, such as 3,15", text)
		}
		*each.into = n
	}
	return p, nil
}

// String returns the prices as ParsePrices reads them.
func (p Prices) String() string {
	return strconv.FormatFloat(p.Input, 'f', -1, 64) + "," + strconv.FormatFloat(p.Output, 'f', -1, 64)
}

// Cost returns what reading and writing tokens costs, in US dollars.
func (p Prices) Cost(read, wrote int64) float64 {
	return (float64(read)*p.Input + float64(wrote)*p.Output) / 1e6
}
