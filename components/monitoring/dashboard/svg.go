// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package dashboard

import (
	"fmt"
	"html"
	"strings"
	"unicode/utf8"
)

// Sizes in pixels. They do not depend on the results, so a figure always has the same layout.
const (
	column     = 60 // a column of the grid
	row        = 40 // a row of the grid
	header     = 64 // above the first panel
	margin     = 6  // between the border of a panel and its cell
	titleSpace = 26
	textSize   = 11
	letter     = 6.1 // the width of an average letter of textSize
	lineSpace  = 14  // from one line of text to the next
	gridWidth  = 24
)

// colors differ in lightness too, for readers who do not see colors. A second round is dashed.
var colors = []string{
	"#1b4f72", "#d35400", "#1e8449", "#8e44ad", "#b7950b", "#c0392b", "#5d6d7e", "#2e86c1", "#784212", "#000000",
}

func color(i int) string { return colors[i%len(colors)] }

// dash returns the attribute that distinguishes a line from one of the same color.
func dash(i int) string {
	switch i / len(colors) % 3 {
	case 1:
		return ` stroke-dasharray="6 3"`
	case 2:
		return ` stroke-dasharray="2 3"`
	}
	return ""
}

// canvas collects the elements of an SVG.
type canvas struct{ strings.Builder }

// box is a rectangle.
type box struct{ x, y, w, h float64 }

func (c *canvas) printf(format string, args ...any) { fmt.Fprintf(c, format+"\n", args...) }

// text writes a line. anchor is start, middle or end. attributes may be empty.
func (c *canvas) text(x, y float64, anchor, attributes, text string) {
	if attributes != "" {
		attributes = " " + attributes
	}
	c.printf(`<text x="%.1f" y="%.1f" text-anchor="%s"%s>%s</text>`, x, y, anchor, attributes, html.EscapeString(text))
}

func (c *canvas) rect(b box, attributes string) {
	c.printf(`<rect x="%.1f" y="%.1f" width="%.1f" height="%.1f" %s/>`, b.x, b.y, b.w, b.h, attributes)
}

// cut shortens a text to a width in pixels.
func cut(text string, width float64) string {
	most := int(width / letter)
	if utf8.RuneCountInString(text) <= most {
		return text
	}
	return string([]rune(text)[:max(most-1, 0)]) + "…"
}

// SVG draws the figure. The same figure always gives the same bytes.
func (f *Figure) SVG() []byte {
	bottom := 0
	for _, panel := range f.Panels {
		bottom = max(bottom, panel.GridPos.Y+panel.GridPos.H)
	}
	var c canvas
	c.printf(`<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %[1]d %[2]d" width="%[1]d" height="%[2]d" `+
		`font-family="sans-serif" font-size="%[3]d">`, gridWidth*column, header+bottom*row+margin, textSize)
	c.printf("<!-- Copyright The Bulkhead Authors\n     SPDX-License-Identifier: Apache-2.0 -->")
	c.printf(`<rect width="100%%" height="100%%" fill="#f4f5f7"/>`)
	c.text(2*margin, 28, "start", `font-size="20" font-weight="bold"`, f.Title)
	c.text(2*margin, 50, "start", `font-size="13" fill="#444444"`, f.Subtitle)
	for i, panel := range f.Panels {
		grid := panel.GridPos
		cell := box{float64(grid.X * column), float64(header + grid.Y*row), float64(grid.W * column), float64(grid.H * row)}
		if panel.Type == "row" {
			c.text(cell.x+2*margin, cell.y+cell.h-14, "start", `font-size="15" font-weight="bold"`, panel.Title)
			continue
		}
		f.panel(&c, &panel, f.Results[i], cell)
	}
	c.printf("</svg>")
	return []byte(c.String())
}

// panel draws the border and the title of a panel, and what it shows.
func (f *Figure) panel(c *canvas, panel *Panel, series []Series, cell box) {
	border := box{cell.x + margin, cell.y + margin, cell.w - 2*margin, cell.h - 2*margin}
	c.rect(border, `fill="#ffffff" stroke="#c8ccd2" rx="3"`)
	c.text(border.x+10, border.y+18, "start", `font-size="13" font-weight="bold"`, panel.Title)
	inside := box{border.x + 10, border.y + titleSpace, border.w - 20, border.h - titleSpace - 8}
	unit := panel.FieldConfig.Defaults.Unit
	series = sorted(series)
	switch {
	case len(series) == 0:
		c.text(inside.x+inside.w/2, inside.y+inside.h/2, "middle", `fill="#777777"`, "No data")
	case panel.Type == "stat":
		drawStat(c, series, unit, inside)
	case panel.Type == "bargauge":
		drawBars(c, series, unit, inside)
	default:
		f.drawLines(c, series, unit, inside)
	}
}
