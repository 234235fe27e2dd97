// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package browser

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

const (
	status = `document.querySelector("#status").textContent`
	shown  = `[...document.querySelector("#rows").rows].filter((row) => row.checkVisibility()).length`
)

// expectRows expects this many rows, and that the status announces the number.
func (p *tab) expectRows(want int, when string) {
	p.t.Helper()
	all := eval[int](p, `document.querySelector("#rows").rows.length`)
	got, text := eval[int](p, shown), eval[string](p, status)
	if wanted := fmt.Sprintf("%d of %d rules shown.", want, all); got != want || text != wanted {
		p.t.Errorf("%s: %d rows and %q; want %q", when, got, text, wanted)
	}
}

// withRules are pages that list all rules: of invented results, and of a run.
var withRules = []string{"hardened", "compare", "published/reports/hardened", "published/reports/compare"}

func TestSearchNarrowsAndAnnounces(t *testing.T) {
	for _, name := range withRules {
		t.Run(name, func(t *testing.T) {
			p := open(t, screen{width: desktop, theme: "light"}, name+".html")
			all := eval[int](p, `document.querySelector("#rows").rows.length`)
			p.expectRows(all, "at first")
			if live := eval[string](p, `document.querySelector("#status").getAttribute("aria-live")`); live != "polite" {
				t.Errorf("aria-live is %q", live)
			}
			p.run(chromedp.SendKeys("#search", "na-secret-1", chromedp.ByQuery))
			p.expectRows(1, "one ID")
			p.run(chromedp.SendKeys("#search", " nothing has these words", chromedp.ByQuery))
			p.expectRows(0, "no match")
			if !eval[bool](p, `document.querySelector("#empty").checkVisibility()`) {
				t.Error("no text says that no rule matches")
			}
			p.run(chromedp.Click("#clear", chromedp.ByQuery))
			p.expectRows(all, "cleared")
		})
	}
}

func TestFilters(t *testing.T) {
	p := open(t, screen{width: desktop, theme: "light"}, "hardened.html")
	p.run(chromedp.Click(`.filters button[data-f="notHeld"]`, chromedp.ByQuery))
	want := eval[int](p, `document.querySelectorAll('#rows tr[data-f="notHeld"]').length`)
	p.expectRows(want, "not held")
	if want == 0 {
		t.Error("the fixture has no rule that does not hold")
	}
	pressed := eval[string](p, `[...document.querySelectorAll('.filters [aria-pressed="true"]')]`+
		`.map((b) => b.dataset.f).join()`)
	if pressed != "notHeld" {
		t.Errorf("pressed is %q", pressed)
	}
	p.run(chromedp.SetValue("#group", "KubeletAPI", chromedp.ByQuery),
		chromedp.Evaluate(`document.querySelector("#group").dispatchEvent(new Event("change"))`, nil))
	fewer := eval[int](p, `document.querySelectorAll('#rows tr[data-f="notHeld"][data-p="KubeletAPI"]').length`)
	p.expectRows(fewer, "not held, of one profile")
	if fewer == want {
		t.Error("the profile changes nothing")
	}
}

// opened says whether the row of a rule is open and at the top of the screen.
const opened = `(() => {
  const inside = document.getElementById("%s"), row = inside.closest("tr"), top = row.getBoundingClientRect().top;
  return [inside.closest("details").open, inside.checkVisibility(), row.classList.contains("target"),
    document.activeElement === row.querySelector("summary"), top > -5 && top < innerHeight / 3];
})()`

func TestDeepLinkOpensRule(t *testing.T) {
	const id = "KA-PROXY-1"
	for _, name := range withRules {
		for _, width := range []int64{phone, desktop} {
			t.Run(fmt.Sprintf("%s at %d", name, width), func(t *testing.T) {
				p := open(t, screen{width: width, theme: "light"}, name+".html#"+id)
				want := "[true true true true true]"
				if got := fmt.Sprint(eval[[]bool](p, fmt.Sprintf(opened, id))); got != want {
					t.Errorf("open, visible, marked, focused, at the top: %s", got)
				}
				// A link to a rule that a filter hides shows it.
				p.run(chromedp.SendKeys("#search", "NA-LEASE", chromedp.ByQuery),
					chromedp.Evaluate(`location.hash = "NR-NODE-1"`, nil), chromedp.WaitVisible("#NR-NODE-1", chromedp.ByQuery))
				if got := fmt.Sprint(eval[[]bool](p, fmt.Sprintf(opened, "NR-NODE-1"))); got != want {
					t.Errorf("a hidden rule: open, visible, marked, focused, at the top: %s", got)
				}
			})
		}
	}
}

func TestDeepLinkOpensAttack(t *testing.T) {
	p := open(t, screen{width: desktop, theme: "light"}, "hardened.html#attack-t7-invented-mirror-pod-with-a-secret")
	if !eval[bool](p, `document.querySelector("#attack-t7-invented-mirror-pod-with-a-secret").checkVisibility()`) {
		t.Error("the attack is closed")
	}
}

func TestLinkFromComparisonOpensEvidence(t *testing.T) {
	p := open(t, screen{width: desktop, theme: "light"}, "compare.html#NA-SECRET-1")
	p.run(chromedp.Click(`#NA-SECRET-1 a[href^="hardened.html"]`, chromedp.ByQuery),
		chromedp.WaitVisible("#NA-SECRET-1 .ev", chromedp.ByQuery))
	if title := eval[string](p, `document.title`); title != "Node isolation report: hardened" {
		t.Errorf("the page is %q", title)
	}
}

func TestKeyboardSorts(t *testing.T) {
	p := open(t, screen{width: desktop, theme: "light"}, "hardened.html")
	const head = `document.querySelectorAll(".list thead th")[1].getAttribute("aria-sort")`
	const order = `[...document.querySelector("#rows").rows].map((row) => row.cells[1].dataset.s).join("")`
	p.run(chromedp.Focus(".list thead th:nth-child(2) button", chromedp.ByQuery), chromedp.KeyEvent(kb.Enter))
	up := eval[string](p, order)
	if sort := eval[string](p, head); sort != "ascending" || !strings.HasPrefix(up, "0") || !strings.HasSuffix(up, "3") {
		t.Errorf("sorted %s: %s", sort, up)
	}
	p.run(chromedp.KeyEvent(" "))
	down := eval[string](p, order)
	if sort := eval[string](p, head); sort != "descending" || !strings.HasPrefix(down, "3") ||
		!strings.HasSuffix(down, "0") {
		t.Errorf("sorted %s: %s", sort, down)
	}
	if others := eval[int](p, `document.querySelectorAll('.list thead [aria-sort="none"]').length`); others != 2 {
		t.Errorf("%d other columns are unsorted", others)
	}
	if !eval[bool](p, `document.activeElement.matches("thead button")`) {
		t.Error("the focus moved")
	}
}

func TestKeyboardFocusIsVisible(t *testing.T) {
	p := open(t, screen{width: desktop, theme: "light"}, "hardened.html")
	p.run(chromedp.KeyEvent(kb.Tab))
	if !eval[bool](p, `document.activeElement.matches(".skip") && `+
		`document.activeElement.getBoundingClientRect().left >= 0`) {
		t.Error("the first stop is not the visible link to the content")
	}
	for range 25 {
		p.run(chromedp.KeyEvent(kb.Tab))
		if got := eval[string](p, `(() => { const e = document.activeElement, s = getComputedStyle(e);
			const visible = s.outlineStyle !== "none" && parseFloat(s.outlineWidth) >= 2;
			return visible ? "" : e.outerHTML.slice(0, 80); })()`); got != "" {
			t.Errorf("the focus is not visible on %s", got)
		}
	}
}

func TestStructureForScreenReaders(t *testing.T) {
	for _, name := range slices.Concat(pages, published) {
		t.Run(name, func(t *testing.T) {
			p := open(t, screen{width: phone, theme: "light"}, name+".html")
			for what, expression := range map[string]string{
				"one h1, one main, a header, a footer": `["h1", "main", "body > header", "body > footer"]` +
					`.every((s) => document.querySelectorAll(s).length === 1)`,
				"a language": `document.documentElement.lang === "en"`,
				"names of all sections": `[...document.querySelectorAll("section, article")].every((e) => ` +
					`document.getElementById(e.getAttribute("aria-labelledby"))?.textContent.trim())`,
				"labels of all fields": `[...document.querySelectorAll("input, select")]` +
					`.every((e) => e.labels.length > 0)`,
				"texts of all buttons and links": `[...document.querySelectorAll("button, a, summary")]` +
					`.every((e) => e.textContent.trim())`,
				"every ID once": `new Set([...document.querySelectorAll("[id]")].map((e) => e.id)).size ` +
					`=== document.querySelectorAll("[id]").length`,
				"targets of all links in the page": `[...document.querySelectorAll('a[href^="#"]')]` +
					`.every((a) => document.getElementById(decodeURIComponent(a.hash.slice(1))))`,
				"headings without a gap": `(() => { let last = 0; ` +
					`return [...document.querySelectorAll("h1, h2, h3, h4")].every((h) => { ` +
					`const n = +h.tagName[1], ok = n <= last + 1; last = n; return ok; }); })()`,
			} {
				if !eval[bool](p, expression) {
					t.Errorf("the page lacks: %s", what)
				}
			}
		})
	}
}
