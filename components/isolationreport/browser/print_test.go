// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package browser

import (
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"github.com/bulkhead-k8s/bulkhead/components/isolationreport/fixture"
)

// TestPrint: paper has no controls and no closed details. Evidence of rules that hold is summarised.
func TestPrint(t *testing.T) {
	p := open(t, screen{width: desktop, theme: "dark", media: "print"}, "hardened.html")
	for what, expression := range map[string]string{
		"controls are on paper":        `document.querySelector("#controls").checkVisibility()`,
		"the theme button is on paper": `document.querySelector("#theme").checkVisibility()`,
		"failures are not on paper": `![...document.querySelectorAll('tr[data-f="notHeld"] pre')].every((e) => ` +
			`e.checkVisibility({contentVisibilityAuto: true}) && e.getBoundingClientRect().height > 0)`,
		"evidence of what holds is on paper": `[...document.querySelectorAll('tr[data-f="held"] .ev')]` +
			`.some((e) => e.checkVisibility())`,
		"a summary is not on paper": `![...document.querySelectorAll("#rows summary")]` +
			`.every((e) => e.checkVisibility())`,
		"steps of attacks are not on paper": `![...document.querySelectorAll(".steps li")].every((e) => ` +
			`e.checkVisibility() && e.getBoundingClientRect().height > 0)`,
		"the paper is dark": `getComputedStyle(document.body).backgroundColor !== "rgb(255, 255, 255)"`,
	} {
		if eval[bool](p, expression) {
			t.Error(what)
		}
	}
}

func TestPageWithoutScript(t *testing.T) {
	for _, name := range []string{"hardened", "compare"} {
		t.Run(name, func(t *testing.T) {
			p := open(t, screen{width: phone, theme: "light", noScript: true}, name+".html#NA-SECRET-1")
			var text string
			p.run(chromedp.InnerHTML("body", &text, chromedp.ByQuery))
			for _, want := range []string{"NS-TOKEN-3", "NA-SECRET-1", "Description and"} {
				if !strings.Contains(text, want) {
					t.Errorf("the page lacks %s", want)
				}
			}
			// The protocol can still look at the page: its own scripts are off, not the inspector's.
			if eval[bool](p, `document.querySelector("#controls").checkVisibility()`) {
				t.Error("controls that do nothing are visible")
			}
			if got := eval[int](p, shown); got < 200 {
				t.Errorf("%d rules are visible", got)
			}
			if !eval[bool](p, `document.querySelector("#NA-SECRET-1").closest("details").open`) {
				t.Error("a link to a rule does not open it")
			}
		})
	}
}

func TestHostileNamesAreText(t *testing.T) {
	p := open(t, screen{width: desktop, theme: "light"}, "hardened.html")
	if title := eval[string](p, `document.title`); title != "Node isolation report: hardened" {
		t.Errorf("a script of a name ran: the title is %q", title)
	}
	if n := eval[int](p, `document.querySelectorAll("img, body script:not(:last-of-type), iframe").length`); n != 0 {
		t.Errorf("names became %d elements", n)
	}
	texts := eval[[]string](p, `[...document.querySelectorAll(".story summary")].map((e) => e.textContent)`)
	if !strings.Contains(strings.Join(texts, "\n"), fixture.Hostile) {
		t.Error("the name is not shown as it is")
	}
}

// TestPolicyBlocksOtherScripts: the page's own policy must be in force.
func TestPolicyBlocksOtherScripts(t *testing.T) {
	p := open(t, screen{width: desktop, theme: "light"}, "hardened.html")
	p.run(chromedp.Evaluate(`(() => { const s = document.createElement("script"); s.textContent = "window.ran = true";
		document.body.append(s); })()`, nil))
	if eval[bool](p, `window.ran === true`) {
		t.Error("a script that is not the page's own ran")
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.done) == 0 || !strings.Contains(p.done[0], "Content Security Policy") {
		t.Errorf("the browser reported %q", p.done)
	}
	p.done = nil // the violation was wanted
}
