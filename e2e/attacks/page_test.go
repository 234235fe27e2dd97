// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package attacks_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/bulkhead-k8s/bulkhead/components/rules"
)

const (
	// page is the generated page.
	page = "../../docs/attacks.md"
	// reportTexts is generated, too.
	reportTexts = "../../components/isolationreport/render/attacks.json"
	// updateVariable makes the test write the page again (`make update`).
	updateVariable = "BULKHEAD_UPDATE_SPECS"
	// pageWidth is the longest line of the pages in docs.
	pageWidth = 100
)

// TestAttacksPage compares docs/attacks.md, and the texts of the isolation report, with the stories.
func TestAttacksPage(t *testing.T) {
	for file, want := range map[string]string{page: attacksPage(), reportTexts: textsOfReport(t)} {
		if os.Getenv(updateVariable) != "" {
			if err := os.WriteFile(file, []byte(want), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		if got, err := os.ReadFile(file); err != nil || string(got) != want {
			t.Errorf("%s differs from the stories (%v): run `make update`", file, err)
		}
	}
}

// textsOfReport returns what the isolation report says about each attack, besides its specs.
func textsOfReport(t *testing.T) string {
	t.Helper()
	texts := map[string]map[string]string{}
	for _, s := range sorted() {
		texts[s.ID] = map[string]string{"source": s.Source, "effect": s.Effect, "stops": s.Stops}
	}
	text, err := json.MarshalIndent(texts, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	return string(text) + "\n"
}

// attacksPage returns docs/attacks.md.
func attacksPage() string {
	var b strings.Builder
	b.WriteString(`<!-- Generated from e2e/attacks by "make update". Do not edit. -->

# Attacks

`)
	paragraph(&b, "", "Each attack on this page was possible on a Kubernetes cluster, or was published. The suite "+
		"[e2e/attacks](../e2e/attacks) carries each of them out three times: without protection, where it succeeds "+
		"and the spec checks the effect; with the profile `hardened`, where the rule denies it and the audit log has "+
		"the denial; and as a legitimate twin, which is allowed. The difference is named for each attempt.")
	paragraph(&b, "", "\"Without protection\" is one of these:")
	paragraph(&b, "- ", "An account with the same rights and without a node scope.")
	paragraph(&b, "- ", "An account with the rights that nodes had by RBAC before the Node authorizer existed. "+
		"This shows attacks that Kubernetes itself stops today, too.")
	b.WriteString("\nRun one and print it as a story, on the cluster that is up or on a new one:\n\n" +
		"```\nmake attack T=T8\nmake attack T=T1 PROFILE=in-tree\n```\n")
	for _, s := range sorted() {
		s.section(&b)
	}
	b.WriteString("\n## Chains\n\n")
	paragraph(&b, "", "A chain has several steps. With `in-tree` each step succeeds, and the attacker is "+
		"cluster-admin at the end. With `hardened` rules deny the steps, and the spec tries the later steps, too.")
	for _, id := range slices.Sorted(maps.Keys(chains)) {
		paragraph(&b, "- ", "**"+id+"**: "+chains[id]+". `make attack T="+id+" PROFILE=in-tree`")
	}
	paragraph(&b, "- ", "**Specs**: [chain_escape_test.go](../e2e/attacks/chain_escape_test.go), "+
		"[chain_token_test.go](../e2e/attacks/chain_token_test.go)")
	return b.String()
}

func (s Story) section(b *strings.Builder) {
	fmt.Fprintf(b, "\n## %s: %s\n\n", s.ID, s.Title)
	paragraph(b, "- ", "**Source**: "+s.Source)
	paragraph(b, "- ", "**Without Bulkhead**: "+s.Effect)
	paragraph(b, "- ", "**What stops it**: "+s.Stops)
	paragraph(b, "- ", "**Spec**: ["+s.file()+"](../e2e/attacks/"+s.file()+")")
	for _, file := range s.Also {
		paragraph(b, "- ", "**More specs**: ["+file+"](../"+file+")")
	}
	b.WriteString("\nAttempts:\n\n")
	for _, a := range s.Attempts {
		credential := "Credential: " + a.By.Words + ". "
		paragraph(b, "- ", sentence(a.Name)+" "+credential+"Effect: "+sentenceEnd(a.Effect)+" Denied by "+a.denial()+
			". Twin: "+sentenceEnd(a.TwinIs))
	}
}

// denial returns the rule that denies the attack. If it is not the rule of the attempt, it returns both.
func (a Attempt) denial() string {
	if a.DeniedBy == "" {
		return byWhat(a.Rule)
	}
	return byWhat(a.DeniedBy) + ", and changed by " + byWhat(a.Rule) + " if the caller has the right"
}

// byWhat returns the rule, and whether Kubernetes has it, too.
func byWhat(id rules.ID) string {
	if known, _ := rule(id); !known.Extension && !atKubelet(id) {
		return string(id) + ", and by Kubernetes itself"
	}
	return string(id)
}

// sentence begins a text with an upper-case letter and ends it with a full stop.
func sentence(text string) string { return strings.ToUpper(text[:1]) + sentenceEnd(text[1:]) }

func sentenceEnd(text string) string { return strings.TrimSuffix(text, ".") + "." }

// paragraph writes a text with line breaks. The lines after the first one are indented by the width
// of the mark.
func paragraph(b *strings.Builder, mark, text string) {
	indent := strings.Repeat(" ", len(mark))
	line := mark
	for i, word := range strings.Fields(text) {
		switch {
		case i == 0:
			line += word
		case len([]rune(line))+1+len([]rune(word)) > pageWidth:
			b.WriteString(line + "\n")
			line = indent + word
		default:
			line += " " + word
		}
	}
	b.WriteString(line + "\n")
	if mark == "" {
		b.WriteString("\n")
	}
}
