// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package monitoring

import (
	"bytes"
	"encoding/json"
	"os"
	"slices"
	"strings"
	"testing"
)

// dashboard is what Bulkhead's dashboard has of Grafana's format.
type dashboard struct {
	UID           string          `json:"uid"`
	Title         string          `json:"title"`
	Tags          []string        `json:"tags"`
	SchemaVersion int             `json:"schemaVersion"`
	Version       int             `json:"version"`
	Editable      bool            `json:"editable"`
	Refresh       string          `json:"refresh"`
	Time          json.RawMessage `json:"time"`
	Templating    struct {
		List []struct {
			Name       string          `json:"name"`
			Type       string          `json:"type"`
			Label      string          `json:"label"`
			Query      string          `json:"query"`
			Datasource json.RawMessage `json:"datasource"`
			Refresh    int             `json:"refresh"`
			Multi      bool            `json:"multi"`
			IncludeAll bool            `json:"includeAll"`
			AllValue   string          `json:"allValue"`
			Current    json.RawMessage `json:"current"`
		} `json:"list"`
	} `json:"templating"`
	Panels []panel `json:"panels"`
}

type panel struct {
	ID          int    `json:"id"`
	Type        string `json:"type"`
	Title       string `json:"title"`
	Description string `json:"description"`
	Collapsed   bool   `json:"collapsed"`
	Datasource  struct {
		Type string `json:"type"`
		UID  string `json:"uid"`
	} `json:"datasource"`
	GridPos     struct{ H, W, X, Y int } `json:"gridPos"`
	FieldConfig json.RawMessage          `json:"fieldConfig"`
	Options     json.RawMessage          `json:"options"`
	Panels      []panel                  `json:"panels"`
	Targets     []struct {
		RefID        string `json:"refId"`
		Expr         string `json:"expr"`
		LegendFormat string `json:"legendFormat"`
		Instant      bool   `json:"instant"`
	} `json:"targets"`
}

func readDashboard(t *testing.T) dashboard {
	t.Helper()
	text, err := os.ReadFile(files + "dashboard.json")
	if err != nil {
		t.Fatal(err)
	}
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.DisallowUnknownFields()
	var d dashboard
	if err := decoder.Decode(&d); err != nil {
		t.Fatal(err)
	}
	return d
}

// dashboardQueries are the queries of all panels, by panel and reference. Grafana's variables have
// the values that Grafana would set.
func dashboardQueries(t *testing.T) map[string]string {
	t.Helper()
	values := strings.NewReplacer("$__rate_interval", "5m", "$__range", "6h", "$node", ".*")
	queries := map[string]string{}
	for _, p := range readDashboard(t).Panels {
		for _, target := range p.Targets {
			queries[p.Title+" "+target.RefID] = values.Replace(target.Expr)
		}
	}
	return queries
}

func TestDashboard(t *testing.T) {
	d := readDashboard(t)
	// Since Grafana 12 the version is 41 or later.
	if d.SchemaVersion < 41 || d.UID == "" {
		t.Errorf("schema version %d, uid %q", d.SchemaVersion, d.UID)
	}
	var rows []string
	ids, cells := map[int]bool{}, map[[2]int]string{}
	for _, p := range d.Panels {
		if ids[p.ID] {
			t.Errorf("%s: id %d occurs twice", p.Title, p.ID)
		}
		ids[p.ID] = true
		for x := p.GridPos.X; x < p.GridPos.X+p.GridPos.W; x++ {
			for y := p.GridPos.Y; y < p.GridPos.Y+p.GridPos.H; y++ {
				if other := cells[[2]int{x, y}]; other != "" || x >= 24 {
					t.Fatalf("%s overlaps %q, or is wider than the page", p.Title, other)
				}
				cells[[2]int{x, y}] = p.Title
			}
		}
		if p.Type == "row" {
			rows = append(rows, p.Title)
			continue
		}
		if p.Description == "" || len(p.Targets) == 0 || p.Datasource.UID != "${datasource}" {
			t.Errorf("%s needs a description, queries, and the variable as its data source", p.Title)
		}
	}
	want := []string{
		"Decisions by rule", "Denials by user", "Latency", "View age", "Certificates", "Revoked credentials",
		"Proxy streams", "Admission",
	}
	if !slices.Equal(rows, want) {
		t.Errorf("rows %q, want %q", rows, want)
	}
}
