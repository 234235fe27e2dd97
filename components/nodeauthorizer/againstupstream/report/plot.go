// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package report

import (
	"bytes"
	"fmt"
	"image/color"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgsvg"
)

// Curves show how a quantity grows.
type Curves struct {
	Title, X, Y string
	Lines       []Line
}

// Line is one of the curves. X and Y are equally long and greater than 0.
type Line struct {
	Name string
	// Theirs sets a line of the in-tree authorizer apart.
	Theirs bool
	X, Y   []float64
}

const (
	plotWidth  = 15 * vg.Centimeter
	plotHeight = 10 * vg.Centimeter
)

// SVG draws all curves, one below the other, with logarithmic axes.
func SVG(all []Curves) ([]byte, error) {
	canvas := vgsvg.New(plotWidth, plotHeight*vg.Length(max(1, len(all))))
	tiles := draw.Tiles{Rows: max(1, len(all)), Cols: 1, PadY: vg.Centimeter / 2, PadRight: vg.Centimeter}
	for i, curves := range all {
		drawn, err := curves.plot()
		if err != nil {
			return nil, fmt.Errorf("drawing %s: %w", curves.Title, err)
		}
		drawn.Draw(tiles.At(draw.New(canvas), 0, i))
	}
	var out bytes.Buffer
	if _, err := canvas.WriteTo(&out); err != nil {
		return nil, fmt.Errorf("writing the curves: %w", err)
	}
	return out.Bytes(), nil
}

func (c Curves) plot() (*plot.Plot, error) {
	p := plot.New()
	p.Title.Text, p.X.Label.Text, p.Y.Label.Text = c.Title, c.X, c.Y
	p.X.Scale, p.Y.Scale = plot.LogScale{}, plot.LogScale{}
	p.X.Tick.Marker, p.Y.Tick.Marker = plot.LogTicks{Prec: -1}, plot.LogTicks{Prec: -1}
	p.Legend.Top, p.Legend.Left = true, true
	for i, line := range c.Lines {
		points := make(plotter.XYs, len(line.X))
		for j := range points {
			points[j] = plotter.XY{X: line.X[j], Y: line.Y[j]}
		}
		drawn, dots, err := plotter.NewLinePoints(points)
		if err != nil {
			return nil, err
		}
		drawn.Color, drawn.Width, dots.Color = line.color(), vg.Points(1.5), line.color()
		dots.Shape = draw.CircleGlyph{}
		if i%2 == 1 {
			drawn.Dashes = []vg.Length{vg.Points(4), vg.Points(3)}
		}
		p.Add(drawn, dots)
		p.Legend.Add(line.Name, drawn)
	}
	// Room for the legend above the curves, and a floor that shows what flat is.
	p.Y.Min, p.Y.Max = p.Y.Min/2, p.Y.Max*30
	p.Add(plotter.NewGrid())
	return p, nil
}

func (l Line) color() color.Color {
	if l.Theirs {
		return color.RGBA{R: 0xc0, G: 0x50, B: 0x20, A: 0xff}
	}
	return color.RGBA{R: 0x10, G: 0x60, B: 0xa0, A: 0xff}
}
