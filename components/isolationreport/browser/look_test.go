// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package browser

import (
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
)

// TestScreenshots takes pictures of the top of every page, for a reader to look at.
func TestScreenshots(t *testing.T) {
	if *screenshots == "" {
		t.Skip("-screenshots is not set: no pictures are wanted")
	}
	for _, name := range slices.Concat(pages, published) {
		for _, s := range []screen{{width: phone, theme: "light"}, {width: phone, theme: "dark"},
			{width: desktop, theme: "light"}, {width: desktop, theme: "dark"}} {
			for _, at := range []string{"", "#rules", "#NA-SECRET-2", "#attacks"} {
				if path.Base(name) == "index" && at != "" {
					continue // the front page has no list of rules
				}
				picture(t, s, name, at)
			}
		}
	}
}

func picture(t *testing.T, s screen, name, at string) {
	t.Helper()
	p := open(t, s, name+".html"+at)
	var data []byte
	p.run(chromedp.CaptureScreenshot(&data))
	p.close()
	file := fmt.Sprintf("%s-%d-%s-%s.png", strings.ReplaceAll(name, "/", "-"), s.width, s.theme,
		strings.TrimPrefix(at, "#"))
	if err := os.WriteFile(filepath.Join(*screenshots, file), data, 0o600); err != nil {
		t.Fatal(err)
	}
}
