// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package reliability

import (
	"encoding/json"
	"fmt"
	"os"
	"time"
)

// Soak is the result of a soak test: the use of resources of each component over time.
type Soak struct {
	Began      time.Time
	Lasted     time.Duration
	Machine    string
	Kubernetes string
	// Churn says what changed in the cluster all the time.
	Churn  string
	Series []Series
}

// Series are the samples of one quantity of one process.
type Series struct {
	Process  string
	Quantity Quantity
	// Values were read at these times after the beginning.
	After  []time.Duration
	Values []float64
}

// Quantity is what a sample measures.
type Quantity string

// The quantities of a process.
const (
	Memory      Quantity = "memory (MiB)"
	Descriptors Quantity = "open files"
	Goroutines  Quantity = "goroutines"
)

// slack is the growth that is never a leak: a garbage collector and a pool of connections have no
// exact size.
var slack = map[Quantity]float64{Memory: 16, Descriptors: 10, Goroutines: 20}

// growth is the relative growth that is not a leak.
const growth = 0.15

// FlatRule explains [Series.Flat].
const FlatRule = "the mean of the last quarter is at most 15 % above the mean of the second quarter, or at most " +
	"16 MiB, 10 open files or 20 goroutines above it"

// minSamples is the number of samples that the rule needs.
const minSamples = 8

// Flat returns an error if the series grows. The first quarter does not count: caches fill then.
func (s *Series) Flat() error {
	n := len(s.Values)
	if n < minSamples {
		return fmt.Errorf("%s of %s: %d samples are too few", s.Quantity, s.Process, n)
	}
	before, after := mean(s.Values[n/4:n/2]), mean(s.Values[n*3/4:])
	if after <= before*(1+growth) || after <= before+slack[s.Quantity] {
		return nil
	}
	return fmt.Errorf("%s of %s grew from %.1f to %.1f: it must be flat (%s)", s.Quantity, s.Process, before, after,
		FlatRule)
}

func mean(values []float64) float64 {
	total := 0.0
	for _, v := range values {
		total += v
	}
	return total / float64(len(values))
}

// Add adds a sample to the series of the process and the quantity.
func (s *Soak) Add(process string, quantity Quantity, after time.Duration, value float64) {
	for i := range s.Series {
		if known := &s.Series[i]; known.Process == process && known.Quantity == quantity {
			known.After, known.Values = append(known.After, after), append(known.Values, value)
			return
		}
	}
	s.Series = append(s.Series, Series{Process: process, Quantity: quantity, After: []time.Duration{after},
		Values: []float64{value}})
}

// Write writes the soak test to a file.
func (s *Soak) Write(file string) error { return writeJSON(file, s) }

// ReadSoak reads what [Soak.Write] wrote.
func ReadSoak(file string) (*Soak, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	var s Soak
	if err := json.Unmarshal(text, &s); err != nil {
		return nil, fmt.Errorf("cannot read %s: %w", file, err)
	}
	return &s, nil
}
