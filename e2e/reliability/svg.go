// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package reliability

import (
	"fmt"
	"html"
	"slices"
	"strings"
	"time"
)

// Sizes of the figure in pixels.
const (
	figureWidth = 880
	panelHeight = 220
	plotHeight  = 160
	plotLeft    = 70
	plotWidth   = 560
	firstPanel  = 60
	legendLeft  = plotLeft + plotWidth + 20
	legendLine  = 18
)

// colors are different in lightness too, for readers who do not see colors.
var colors = []string{"#1b4f72", "#d35400", "#27ae60", "#8e44ad", "#7f8c8d", "#c0392b", "#000000"}

// SVG returns the figure: a panel for each quantity, with a line for each process.
func (s *Soak) SVG() string {
	var b strings.Builder
	panels := []Quantity{Memory, Descriptors, Goroutines}
	fmt.Fprintf(&b, "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%d\" font-family=\"sans-serif\" "+
		"font-size=\"12\">\n<!-- Copyright The Bulkhead Authors\n     SPDX-License-Identifier: Apache-2.0 -->\n"+
		"<rect width=\"100%%\" height=\"100%%\" fill=\"#ffffff\"/>\n", figureWidth, firstPanel+len(panels)*panelHeight)
	label(&b, plotLeft, 20, fmt.Sprintf("Soak test of %s: %s, %s, Kubernetes %s", s.Lasted.Round(time.Minute),
		s.Began.UTC().Format(time.DateOnly), s.Machine, s.Kubernetes))
	label(&b, plotLeft, 38, s.Churn)
	for i, quantity := range panels {
		s.panel(&b, quantity, firstPanel+i*panelHeight)
	}
	b.WriteString("</svg>\n")
	return b.String()
}

func (s *Soak) panel(b *strings.Builder, quantity Quantity, top int) {
	highest := 1.0
	var shown []Series
	for _, series := range s.Series {
		if series.Quantity == quantity && len(series.Values) > 0 {
			highest = max(highest, slices.Max(series.Values))
			shown = append(shown, series)
		}
	}
	bottom := top + plotHeight
	label(b, plotLeft, top+12, string(quantity))
	fmt.Fprintf(b, "<path d=\"M%d %dV%dH%d\" fill=\"none\" stroke=\"#555555\"/>\n", plotLeft, top, bottom,
		plotLeft+plotWidth)
	label(b, 10, top+12, fmt.Sprintf("%.0f", highest))
	label(b, 10, bottom, "0")
	label(b, plotLeft+plotWidth-50, bottom+16, s.Lasted.Round(time.Minute).String())
	for i, series := range shown {
		color := colors[i%len(colors)]
		fmt.Fprintf(b, "<polyline fill=\"none\" stroke-width=\"1.5\" stroke=\"%s\" points=\"%s\"/>\n", color,
			s.points(&series, highest, bottom))
		y := top + 12 + i*legendLine
		fmt.Fprintf(b, "<rect x=\"%d\" y=\"%d\" width=\"12\" height=\"4\" fill=\"%s\"/>\n", legendLeft, y-5, color)
		label(b, legendLeft+18, y, series.Process)
	}
}

func (s *Soak) points(series *Series, highest float64, bottom int) string {
	points := make([]string, 0, len(series.Values))
	for i, value := range series.Values {
		x := plotLeft + plotWidth*series.After[i].Seconds()/max(s.Lasted.Seconds(), 1)
		points = append(points, fmt.Sprintf("%.1f,%.1f", x, float64(bottom)-plotHeight*value/highest))
	}
	return strings.Join(points, " ")
}

func label(b *strings.Builder, x, y int, text string) {
	fmt.Fprintf(b, "<text x=\"%d\" y=\"%d\">%s</text>\n", x, y, html.EscapeString(text))
}
