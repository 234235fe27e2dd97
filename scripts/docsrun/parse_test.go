// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// page replaces three or four apostrophes by a fence of Markdown. So the pages here are easy to read.
func page(text string) string {
	return strings.NewReplacer("''''", "````", "'''", "```").Replace(text)
}

func TestParseBlocks(t *testing.T) {
	here := func(place Place) Mark { return Mark{Place: place, Timeout: defaultTimeout} }
	for _, tc := range []struct {
		name, page string
		want       []Block
	}{
		{"retry", "<!-- run: admin; retry: 1m -->\n'''sh\na\n'''\n",
			[]Block{{Line: 2, Mark: Mark{Place: Admin, Timeout: defaultTimeout, Retry: time.Minute}, Commands: []Command{
				{Text: "a"}}}}},
		{"console block: commands and output",
			"<!-- run: control-plane -->\n'''console\n# one\nout\n…\n$ two \\\n    three\n'''\n",
			[]Block{{Line: 2, Mark: here(ControlPlane), Commands: []Command{
				{Text: "one", Want: []string{"out", "…"}, WantLine: 4}, {Text: "two \\\n    three"}}}}},
		{"bash block: output in the text block below",
			"<!-- run: admin; exit: 1; timeout: 5m -->\n\n'''bash\na=1\nb\n'''\n\n'''text\nout\n'''\n",
			[]Block{{Line: 3, Mark: Mark{Place: Admin, Exit: 1, Timeout: 5 * time.Minute}, Commands: []Command{
				{Text: "a=1\nb", Want: []string{"out"}, WantLine: 9}}}}},
		{"text block behind other text is not the output",
			"<!-- run: admin -->\n'''sh\na\n'''\nOther text.\n'''text\nout\n'''\n",
			[]Block{{Line: 2, Mark: here(Admin), Commands: []Command{{Text: "a"}}}}},
		{"block in a list: its indentation is removed",
			"1. Step:\n\n   <!-- run: each-node -->\n   '''bash\n   cat <<EOF\n     x\n   EOF\n   '''\n",
			[]Block{{Line: 4, Mark: here(EachNode), Commands: []Command{{Text: "cat <<EOF\n  x\nEOF"}}}}},
		{"block that does not run: the reason may have semicolons and lines",
			"<!-- run: none;\n  reason: one; two -->\n'''bash\na\n'''\n",
			[]Block{{Line: 3, Mark: Mark{Place: None, Reason: "one; two", Timeout: defaultTimeout},
				Commands: []Command{{Text: "a"}}}}},
		{"line ends of Windows, and a BOM",
			"\ufeff<!-- run: admin -->\r\n'''console\r\n$ a\r\nout\r\n'''\r\n",
			[]Block{{Line: 2, Mark: here(Admin), Commands: []Command{{Text: "a", Want: []string{"out"}, WantLine: 4}}}}},
		{"fences inside a longer fence are content",
			"''''markdown\n'''bash\nrm -rf /\n'''\n''''\n\n~~~text\n'''bash\n~~~\n", nil},
		{"fences and marks inside a comment are not part of the page",
			"<!--\n<!-- run: admin\n'''bash\na\n'''\n-->\nText.\n", nil},
		{"blocks of other languages need no mark", "'''yaml\na: b\n'''\n\n'''text\n$ a\n'''\n", nil},
		{"a heading is not a command", "# Title\n\n## Other\n", nil},
		{"empty page", "", nil},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got, err := Parse(page(tc.page))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		})
	}
}

func TestParseRejects(t *testing.T) {
	const block = "\n'''bash\na\n'''\n"
	for _, tc := range []struct{ name, page, want string }{
		{"no mark", "Text." + block, "line 2: this command block has no mark"},
		{"no mark: console", "'''console\n$ a\n'''", "line 1: this command block has no mark"},
		{"no mark: upper case and attributes", "'''Bash {.wide}\na\n'''", "line 1: this command block has no mark"},
		{"no mark: indented with a tab", "\t'''sh\na\n'''", "line 1: this command block has no mark"},
		{"mark of another block", "<!-- run: admin -->\nText." + block, "line 1: this mark is not directly above"},
		{"mark above another language", "<!-- run: admin -->\n'''yaml\na: b\n'''", "line 1: this mark is not directly above"},
		{"mark at the end of the page", "<!-- run: admin -->\n", "line 1: this mark is not directly above"},
		{"two marks", "<!-- run: admin -->\n<!-- run: admin -->" + block, "line 1: this mark is not directly above"},
		{"mark behind text", "See <!-- run: admin -->" + block, "line 1: a mark must be alone on its line"},
		{"text behind a mark", "<!-- run: admin --> See:" + block, "line 1: a mark must be alone on its line"},
		{"unknown place", "<!-- run: everywhere -->" + block, `line 1: unknown place "everywhere"`},
		{"empty place", "<!-- run: -->" + block, `line 1: unknown place ""`},
		{"reason missing", "<!-- run: none -->" + block, "line 1: a block that does not run needs a reason"},
		{"reason empty", "<!-- run: none; reason: -->" + block, `line 1: "reason" has no value`},
		{"reason for a block that runs", "<!-- run: admin; reason: x -->" + block,
			"line 1: reason is for blocks that do not run"},
		{"timeout for a block that does not run", "<!-- run: none; timeout: 1m; reason: x -->" + block,
			"line 1: exit, timeout, retry, before and instead are for blocks that run"},
		{"exit code for a block that is replaced", "<!-- run: admin; exit: 1; instead: true -->" + block,
			"line 1: the exit code is that of the page's commands"},
		{"unknown key", "<!-- run: admin; tries: 3 -->" + block, `line 1: unknown key "tries"`},
		{"key without value", "<!-- run: admin; exit -->" + block, `line 1: "exit" has no value`},
		{"key set twice", "<!-- run: admin; exit: 1; exit: 2 -->" + block, `line 1: "exit" is set twice`},
		{"exit code out of range", "<!-- run: admin; exit: 300 -->" + block, `line 1: exit: "300" is not an exit code`},
		{"negative timeout", "<!-- run: admin; timeout: -1s -->" + block, `line 1: timeout: "-1s" is not a duration`},
		{"block without a language", "'''\n# bulkhead install\n'''", "line 1: the block has no language"},
		{"console block without a command", "'''console\nout\n'''", "line 1: no line of this block is a command"},
		{"console block that begins with output", "<!-- run: admin -->\n'''console\nout\n$ a\n'''",
			"line 2: line 3 is not a command"},
		{"here-document in a console block", "<!-- run: admin -->\n'''console\n$ cat <<EOF\n'''",
			"line 2: line 3 has a here-document"},
		{"prompt of root on this machine", "<!-- run: admin -->\n'''console\n# a\n'''",
			"line 2: line 3 has the prompt of root"},
		{"empty script", "<!-- run: admin -->\n'''bash\n\n'''", "line 2: the block has no command"},
		{"block without an end", "<!-- run: admin -->\n'''bash\na\n", "line 2: the block has no end"},
		{"closing fence is too short", "<!-- run: admin -->\n''''bash\na\n'''\n", "line 2: the block has no end"},
		{"comment without an end", "<!-- run: admin\n'''bash\na\n'''", "line 1: the comment has no end"},
		{"fence behind a list marker", "1. '''bash\n   a\n   '''", "line 1: a block must begin on a line of its own"},
		{"fence in a quote", "> '''bash\n> a\n> '''", "line 1: a block must begin on a line of its own"},
		{"command outside of a block", "    $ rm -rf /", "line 1: a command must be in a block"},
		{"every problem is reported", "'''bash\na\n'''\n\n'''sh\nb\n'''", "line 5: this command block has no mark"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			_, err := Parse(page(tc.page))
			if err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("error %v, want %q", err, tc.want)
			}
		})
	}
}

func FuzzParse(f *testing.F) {
	f.Add("<!-- run: admin -->\n```console\n$ a\nout\n```\n")
	f.Add("```bash\n\x00\xff<!--\r\n~~~~\n\t```")
	f.Add("<!-- run: none; reason")
	f.Fuzz(func(t *testing.T, page string) {
		blocks, err := Parse(page)
		for _, b := range blocks {
			if err == nil && (b.Line < 1 || len(b.Commands) == 0 || b.Mark.Place == None && b.Mark.Reason == "") {
				t.Errorf("invalid block without an error: %+v", b)
			}
			for _, c := range b.Commands {
				_ = compare(c, page)
			}
		}
	})
}

// A block of docs/install.md without a mark fails here, not only on a cluster.
func TestInstallPageHasAllMarks(t *testing.T) {
	const page = "../../docs/install.md"
	blocks, err := parseFile(page)
	if err != nil {
		t.Fatal(err)
	}
	content, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	// Count the fences without the parser.
	fences := 0
	for line := range strings.Lines(string(content)) {
		for _, language := range append([]string{console}, scripts...) {
			if strings.TrimSpace(line) == "```"+language {
				fences++
			}
		}
	}
	if len(blocks) != fences || fences == 0 {
		t.Errorf("%s has %d command blocks, and the parser found %d", page, fences, len(blocks))
	}
	run := 0
	for _, b := range blocks {
		check := exec.CommandContext(t.Context(), "bash", "-n")
		check.Stdin = strings.NewReader(newScript(b, "", "").text)
		if out, err := check.CombinedOutput(); err != nil {
			t.Errorf("line %d: bash cannot parse the block: %v\n%s", b.Line, err, out)
		}
		if b.Mark.Place != None {
			run++
		}
	}
	if run < len(blocks)/2 {
		t.Errorf("only %d of %d blocks of %s run", run, len(blocks), page)
	}
}
