// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package dashboard

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"
)

const (
	plotHeight  = 130
	axisWidth   = 64 // for the numbers at the left
	legendWidth = 210
	barHeight   = 18
)

// sorted returns the series that have values, by name.
func sorted(series []Series) []Series {
	kept := slices.DeleteFunc(slices.Clone(series), func(s Series) bool { return len(s.values()) == 0 })
	slices.SortStableFunc(kept, func(a, b Series) int { return cmp.Compare(a.Name, b.Name) })
	return kept
}

// values returns the values that are numbers.
func (s *Series) values() (found []float64) {
	for _, point := range s.Points {
		if drawable(point.Value) {
			found = append(found, point.Value)
		}
	}
	return found
}

func drawable(value float64) bool { return !math.IsNaN(value) && !math.IsInf(value, 0) }

// last returns the newest value that is a number.
func (s *Series) last() float64 {
	values := s.values()
	return values[len(values)-1]
}

// drawStat writes the last value of each series in large digits.
func drawStat(c *canvas, series []Series, unit string, in box) {
	height := in.h / float64(len(series))
	for i, s := range series {
		y := in.y + height*(float64(i)+0.5)
		c.text(in.x, y+4, "start", `font-size="13"`, cut(s.Name, in.w*0.7))
		c.text(in.x+in.w, y+10, "end", `font-size="30" font-weight="bold" fill="#1b4f72"`, format(s.last(), unit))
	}
}

// drawBars draws the last value of each series as a bar, the largest first.
func drawBars(c *canvas, series []Series, unit string, in box) {
	slices.SortStableFunc(series, func(a, b Series) int { return cmp.Compare(b.last(), a.last()) })
	most := int(in.h/barHeight) - 1
	longest := max(series[0].last(), math.SmallestNonzeroFloat64)
	names := in.w * 0.5
	for i, s := range series {
		y := in.y + float64(i)*barHeight
		if i == most && len(series) > most {
			c.text(in.x, y+13, "start", `fill="#777777"`, fmt.Sprintf("and %d more", len(series)-most))
			return
		}
		c.text(in.x, y+13, "start", "", cut(s.Name, names-8))
		width := max(0, (in.w-names-70)*s.last()/longest)
		c.rect(box{in.x + names, y + 3, width, barHeight - 6}, fmt.Sprintf(`fill="%s"`, color(0)))
		c.text(in.x+names+width+6, y+13, "start", "", format(s.last(), unit))
	}
}

// drawLines draws the series over the time of the figure, with axes and a legend.
func (f *Figure) drawLines(c *canvas, series []Series, unit string, in box) {
	plot := box{in.x + axisWidth, in.y + lineSpace, in.w - axisWidth, plotHeight}
	highest := 0.0
	for _, s := range series {
		highest = max(highest, slices.Max(s.values()))
	}
	distance, end := axis(highest)
	c.text(in.x, in.y+6, "start", `fill="#555555"`, unitName(unit))
	for mark := 0.0; mark <= end*1.001; mark += distance {
		y := plot.y + plot.h*(1-mark/end)
		c.printf(`<path d="M%.1f %.1fH%.1f" stroke="#dfe3e8"/>`, plot.x, y, plot.x+plot.w)
		c.text(plot.x-6, y+4, "end", `fill="#555555"`, format(mark, unit))
	}
	f.timeAxis(c, plot)
	for i, s := range series {
		c.printf(`<path fill="none" stroke="%s" stroke-width="1.5"%s d="%s"/>`, color(i), dash(i), f.path(&s, plot, end))
	}
	top := plot.y + plot.h + 38
	drawLegend(c, series, box{in.x, top, in.w, in.y + in.h - top})
}

// timeAxis marks the minutes since the start of the figure.
func (f *Figure) timeAxis(c *canvas, plot box) {
	length := f.End.Sub(f.Begin).Minutes()
	distance, _ := axis(length)
	distance = max(1, math.Round(distance))
	for mark := 0.0; mark <= length; mark += distance {
		x := plot.x + plot.w*mark/length
		c.printf(`<path d="M%.1f %.1fV%.1f" stroke="#9aa2ad"/>`, x, plot.y+plot.h, plot.y+plot.h+4)
		c.text(x, plot.y+plot.h+15, "middle", `fill="#555555"`, fmt.Sprintf("%g", mark))
	}
	c.text(plot.x+plot.w, plot.y+plot.h+27, "end", `fill="#555555"`, "minutes")
}

// path returns the line of a series. It is interrupted where the series has no value for a while.
func (f *Figure) path(s *Series, plot box, end float64) string {
	gap := 3 * f.step(s)
	var b strings.Builder
	var before time.Time
	for _, point := range s.Points {
		if !drawable(point.Value) {
			continue
		}
		verb := "L"
		if before.IsZero() || point.At.Sub(before) > gap {
			verb = "M"
		}
		before = point.At
		x := plot.x + plot.w*float64(point.At.Sub(f.Begin))/float64(f.End.Sub(f.Begin))
		fmt.Fprintf(&b, "%s%.1f %.1f", verb, x, plot.y+plot.h*(1-point.Value/end))
		if verb == "M" {
			// A single value is a dot.
			b.WriteString("h1")
		}
	}
	return b.String()
}

// step returns the shortest time between two values.
func (f *Figure) step(s *Series) time.Duration {
	shortest := f.End.Sub(f.Begin)
	for i := 1; i < len(s.Points); i++ {
		shortest = min(shortest, s.Points[i].At.Sub(s.Points[i-1].At))
	}
	return shortest
}

// drawLegend names the series in columns. What does not fit is counted.
func drawLegend(c *canvas, series []Series, in box) {
	lines := max(1, int(in.h/lineSpace))
	columns := max(1, min(int(in.w/legendWidth), (len(series)+lines-1)/lines))
	width := in.w / float64(columns)
	for i, s := range series {
		x, y := in.x+width*float64(i/lines), in.y+float64(i%lines)*lineSpace
		if i == columns*lines-1 && len(series) > columns*lines {
			c.text(x, y+8, "start", `fill="#777777"`, fmt.Sprintf("and %d more", len(series)-i))
			return
		}
		c.printf(`<path d="M%.1f %.1fh16" stroke="%s" stroke-width="3"%s/>`, x, y+4, color(i), dash(i))
		c.text(x+22, y+8, "start", "", cut(s.Name, width-30))
	}
}
