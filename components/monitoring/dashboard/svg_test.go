// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package dashboard

import (
	"bytes"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"
)

// begin and end are the time of the figures.
var (
	begin = time.Unix(1_800_000_000, 0)
	end   = begin.Add(20 * time.Minute)
)

// line returns a series with a value every 30 s.
func line(name string, value func(i int) float64) Series {
	s := Series{Name: name}
	for i := range 41 {
		s.Points = append(s.Points, Point{At: begin.Add(time.Duration(i) * 30 * time.Second), Value: value(i)})
	}
	return s
}

// bulkhead returns the figure of Bulkhead's dashboard, with n invented series for each panel.
func bulkhead(t *testing.T, n int) *Figure {
	t.Helper()
	text, err := os.ReadFile("../../../manifests/monitoring/dashboard.json")
	if err != nil {
		t.Fatal(err)
	}
	title, panels, err := Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	f := &Figure{Title: title, Subtitle: "a <test>", Begin: begin, End: end, Panels: panels, Results: map[int][]Series{}}
	for i := range panels {
		for j := range n {
			f.Results[i] = append(f.Results[i], line(fmt.Sprintf("series %d.%d", i, j),
				func(k int) float64 { return float64(i + j*k) }))
		}
	}
	return f
}

// element is an element of an SVG with its text.
type element struct {
	name, text string
	attributes map[string]string
}

func (e element) number(t *testing.T, name string) float64 {
	t.Helper()
	value, err := strconv.ParseFloat(e.attributes[name], 64)
	if err != nil {
		t.Fatalf("%s of %v: %v", name, e, err)
	}
	return value
}

// elements parses an SVG. It fails if the SVG is not well-formed.
func elements(t *testing.T, svg []byte) (all []element) {
	t.Helper()
	decoder := xml.NewDecoder(bytes.NewReader(svg))
	for {
		token, err := decoder.Token()
		if errors.Is(err, io.EOF) {
			return all
		}
		if err != nil {
			t.Fatal(err)
		}
		switch token := token.(type) {
		case xml.StartElement:
			e := element{name: token.Name.Local, attributes: map[string]string{}}
			for _, a := range token.Attr {
				e.attributes[a.Name.Local] = a.Value
			}
			all = append(all, e)
		case xml.CharData:
			if len(all) > 0 {
				all[len(all)-1].text += strings.TrimSpace(string(token))
			}
		}
	}
}

func texts(t *testing.T, svg []byte) map[string]int {
	t.Helper()
	found := map[string]int{}
	for _, e := range elements(t, svg) {
		if e.name == "text" {
			found[e.text]++
		}
	}
	return found
}

// Each panel has its title, axes with units, and a legend. The file needs no other file.
func TestFigureHasEveryPanel(t *testing.T) {
	f := bulkhead(t, 3)
	svg := f.SVG()
	found := texts(t, svg)
	plots := 0
	for i, panel := range f.Panels {
		if found[panel.Title] == 0 {
			t.Errorf("no title %q", panel.Title)
		}
		switch panel.Type {
		case "row":
			continue
		case "timeseries":
			plots++
			if unit := unitName(panel.FieldConfig.Defaults.Unit); found[unit] == 0 {
				t.Errorf("%s: no axis with %q", panel.Title, unit)
			}
		case "stat", "bargauge":
		default:
			t.Errorf("%s has the type %s, which cannot be drawn", panel.Title, panel.Type)
		}
		for j := range 3 {
			if found[fmt.Sprintf("series %d.%d", i, j)] != 1 {
				t.Errorf("%s: no legend for series %d", panel.Title, j)
			}
		}
	}
	if plots == 0 || found["minutes"] != plots {
		t.Errorf("%d axes with minutes, want %d", found["minutes"], plots)
	}
	for _, reference := range []string{"href", "url(", "<script", "<style", "@import"} {
		if bytes.Contains(svg, []byte(reference)) {
			t.Errorf("the figure has %q", reference)
		}
	}
}

// The layout depends on the panels only, and the same results give the same bytes.
func TestFigureIsDeterministic(t *testing.T) {
	f := bulkhead(t, 5)
	if !bytes.Equal(f.SVG(), bulkhead(t, 5).SVG()) {
		t.Error("two figures of the same results differ")
	}
	for i := range f.Results {
		f.Results[i][0], f.Results[i][4] = f.Results[i][4], f.Results[i][0]
	}
	if !bytes.Equal(f.SVG(), bulkhead(t, 5).SVG()) {
		t.Error("the figure depends on the order of the series")
	}
	for _, n := range []int{0, 1, 40} {
		if got, want := elements(t, bulkhead(t, n).SVG())[0], elements(t, f.SVG())[0]; fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("with %d series the figure is %v, want %v", n, got, want)
		}
	}
}

// No text and no line leaves the picture, and each line of a legend is in its panel.
func TestFigureFitsIntoItsSize(t *testing.T) {
	f := bulkhead(t, 40)
	for i := range f.Results {
		f.Results[i][0].Name = strings.Repeat("very long name ", 30)
	}
	all := elements(t, f.SVG())
	width, height := all[0].number(t, "width"), all[0].number(t, "height")
	cut := 0
	for _, e := range all {
		if e.name != "text" {
			continue
		}
		x, y, long := e.number(t, "x"), e.number(t, "y"), float64(len([]rune(e.text)))*letter
		switch e.attributes["text-anchor"] {
		case "middle":
			x -= long / 2
		case "end":
			x -= long
		}
		if x < 0 || x+long > width || y < 0 || y > height {
			t.Errorf("%q is at %.0f to %.0f, %.0f, outside of %.0f × %.0f", e.text, x, x+long, y, width, height)
		}
		if strings.HasPrefix(e.text, "and ") && strings.HasSuffix(e.text, " more") {
			cut++
		}
	}
	if cut == 0 {
		t.Error("40 series fit into a legend")
	}
}

// A panel without a result says so. A line is interrupted where values are missing.
func TestFigureWithoutValues(t *testing.T) {
	f := bulkhead(t, 0)
	panels := 0
	for _, panel := range f.Panels {
		if panel.Type != "row" {
			panels++
		}
	}
	if got := texts(t, f.SVG())["No data"]; got != panels {
		t.Errorf("%d panels have no data, want %d", got, panels)
	}
	nan := line("nan", func(int) float64 { return math.NaN() })
	if got := sorted([]Series{nan}); len(got) != 0 {
		t.Errorf("a series without numbers is drawn: %v", got)
	}
	gap := line("gap", func(i int) float64 {
		if i > 10 && i < 20 {
			return math.NaN()
		}
		return 1
	})
	path := f.path(&gap, box{0, 0, 100, 100}, 2)
	if got := strings.Count(path, "M"); got != 2 {
		t.Errorf("the line has %d parts, want 2: %s", got, path)
	}
	if !strings.HasPrefix(path, "M0.0 50.0") {
		t.Errorf("the line begins with %.12s, want the value 1 in the middle of an axis to 2", path)
	}
}

func TestFormat(t *testing.T) {
	for _, tc := range []struct {
		value      float64
		unit, want string
	}{
		{0, "s", "0"}, {0.00025, "s", "250 µs"}, {0.0123456, "s", "12.3 ms"}, {90, "s", "90 s"}, {150, "s", "2.5 min"},
		{86400 * 365, "s", "365 d"}, {1.23456, "reqps", "1.23"}, {12345, "none", "12.3 k"}, {2048, "Bps", "2 KiB/s"},
	} {
		if got := format(tc.value, tc.unit); got != tc.want {
			t.Errorf("%g in %s is %q, want %q", tc.value, tc.unit, got, tc.want)
		}
	}
}

func TestAxis(t *testing.T) {
	for _, highest := range []float64{0, 0.0003, 0.7, 1, 3, 4.1, 9.9, 10, 37, 99, 1234} {
		distance, end := axis(highest)
		if marks := end / distance; end < highest || marks < 1.9 || marks > 5.1 {
			t.Errorf("the axis for %g ends at %g with marks every %g", highest, end, distance)
		}
	}
}

func TestTarget(t *testing.T) {
	target := Target{
		Expr:         `rate(a{node=~"$node"}[$__rate_interval]) + increase(b[$__range])`,
		LegendFormat: "{{node}} {{ rule }} x",
	}
	const want = `rate(a{node=~".*"}[60s]) + increase(b[1200s])`
	if got := target.Query(time.Minute, 20*time.Minute); got != want {
		t.Errorf("query %s, want %s", got, want)
	}
	if got := target.Legend(map[string]string{"node": "n"}); got != "n x" {
		t.Errorf("legend %q", got)
	}
	if _, _, err := Parse([]byte("{")); err == nil {
		t.Error("no error for an invalid dashboard")
	}
}
