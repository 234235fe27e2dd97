// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package browser

import (
	"slices"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
)

// lowContrast lists texts whose contrast with their background is less than 4.5 to 1, each pair of
// colours once. Colours are those that the browser computed.
const lowContrast = `(() => {
  const parse = (text) => { const n = text.match(/[\d.]+/g).map(Number); return [n[0], n[1], n[2], n[3] ?? 1]; };
  const over = (top, below) => top.slice(0, 3).map((v, i) => v * top[3] + below[i] * (1 - top[3]));
  const light = (c) => {
    const [r, g, b] = c.map((v) => { v /= 255; return v <= .03928 ? v / 12.92 : ((v + .055) / 1.055) ** 2.4; });
    return .2126 * r + .7152 * g + .0722 * b;
  };
  const background = (el) => {
    const layers = [];
    for (let e = el; e; e = e.parentElement) layers.push(parse(getComputedStyle(e).backgroundColor));
    return layers.reverse().reduce((below, top) => over(top, below), [255, 255, 255]);
  };
  document.querySelectorAll("details").forEach((d) => d.open = true);
  document.querySelectorAll("[hidden]").forEach((e) => { if (e.localName !== "svg") e.hidden = false; });
  const bad = new Map(); let texts = 0;
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  const known = new Map();
  while (walker.nextNode()) {
    const el = walker.currentNode.parentElement;
    if (!walker.currentNode.data.trim() || ["SCRIPT", "STYLE", "OPTION"].includes(el.tagName)) continue;
    texts++;
    let opacity = 1;
    for (let e = el; e; e = e.parentElement) opacity *= Number(getComputedStyle(e).opacity);
    const below = background(el), own = parse(getComputedStyle(el).color);
    own[3] *= opacity;
    const key = own.join() + "/" + below.join();
    if (known.has(key)) continue;
    known.set(key, true);
    const a = light(over(own, below)), b = light(below);
    const ratio = (Math.max(a, b) + .05) / (Math.min(a, b) + .05);
    if (ratio < 4.5) {
      bad.set(key, ratio.toFixed(2) + ": " + el.className + " " + walker.currentNode.data.trim().slice(0, 60));
    }
  }
  if (texts < 20 || known.size < 3) bad.set("", "only " + texts + " texts in " + known.size + " colours were found");
  return [...bad.values()];
})()`

func TestContrastInBothThemes(t *testing.T) {
	for _, name := range append([]string{"hardened", "compare", "index"}, published...) {
		for _, theme := range []string{"light", "dark"} {
			t.Run(name+" "+theme, func(t *testing.T) {
				p := open(t, screen{width: desktop, theme: theme}, name+".html")
				for _, bad := range eval[[]string](p, lowContrast) {
					t.Errorf("contrast %s", bad)
				}
				dark := eval[string](p, `getComputedStyle(document.body).backgroundColor`) == "rgb(16, 20, 27)"
				if dark != (theme == "dark") {
					t.Errorf("the page is dark: %v", dark)
				}
			})
		}
	}
}

func TestThemeButton(t *testing.T) {
	p := open(t, screen{width: desktop, theme: "light"}, "hardened.html")
	before := eval[string](p, `getComputedStyle(document.body).backgroundColor`)
	if text := eval[string](p, `document.querySelector("#theme").textContent`); text != "Dark theme" {
		t.Errorf("the button says %q", text)
	}
	p.run(chromedp.Click("#theme", chromedp.ByQuery))
	after := eval[string](p, `getComputedStyle(document.body).backgroundColor`)
	if text := eval[string](p, `document.querySelector("#theme").textContent`); text != "Light theme" || after == before {
		t.Errorf("after a click: %q, background %s", text, after)
	}
	for _, bad := range eval[[]string](p, lowContrast) {
		t.Errorf("contrast %s", bad)
	}
	// The choice is stored for all pages of the address.
	p.run(chromedp.Evaluate(`localStorage.clear()`, nil))
}

// wide lists elements that reach beyond the screen.
const wide = `(() => {
  document.querySelectorAll("details").forEach((d) => d.open = true);
  const limit = document.documentElement.clientWidth;
  if (document.documentElement.scrollWidth <= limit) return [];
  return [...document.body.querySelectorAll("*")].filter((e) => e.getBoundingClientRect().right > limit + 1)
    .slice(0, 5).map((e) => e.tagName + "." + e.getAttribute("class") + " " + e.textContent.slice(0, 40));
})()`

func TestNoSidewaysScrollOnPhones(t *testing.T) {
	for _, name := range slices.Concat(pages, published) {
		t.Run(name, func(t *testing.T) {
			p := open(t, screen{width: phone, theme: "light"}, name+".html")
			if found := eval[[]string](p, wide); len(found) > 0 {
				t.Errorf("the page is wider than %d pixels: %s", phone, strings.Join(found, "; "))
			}
			if width := eval[int](p, `document.documentElement.clientWidth`); width != phone {
				t.Errorf("the screen has %d pixels", width)
			}
			small := eval[int](p, `[...document.querySelectorAll("p, dd, code, td")].filter((e) => e.checkVisibility() &&
				parseFloat(getComputedStyle(e).fontSize) < 12).length`)
			if small > 0 {
				t.Errorf("%d texts are smaller than 12 pixels", small)
			}
		})
	}
}
