// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// run runs a page on this machine, which stands for all places, and returns what docsrun prints.
func run(t *testing.T, ctx context.Context, text string) (string, error) {
	t.Helper()
	blocks, err := Parse(page(text))
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	first, second := local(), local()
	first.name, second.name = "first", "second"
	r := &runner{out: &out, page: "page.md", shells: map[Place][]shell{
		Admin: {local()}, ControlPlane: {first}, EachNode: {first, second},
	}}
	err = r.run(ctx, blocks)
	return out.String(), err
}

func TestRun(t *testing.T) {
	t.Chdir(t.TempDir())
	for _, tc := range []struct {
		name, page string
		want       []string
		fails      bool
	}{
		{"output as on the page", "<!-- run: admin -->\n'''console\n$ echo a\na\n$ echo b >&2\nb\n'''\n",
			[]string{"[1/1] page.md:2 on admin: echo a", "1 blocks run, 0 failed, 0 marked as not run"}, false},
		{"other output", "<!-- run: admin -->\n'''console\n$ echo a\na\n$ echo c\nb\n'''\n",
			[]string{"FAILED", "line 6: the output has no such line", "    | c", "1 blocks run, 1 failed"}, true},
		{"command fails", "<!-- run: admin -->\n'''bash\necho before\nfalse\necho after\n'''\n",
			[]string{"exit code 1, want 0", "    | before"}, true},
		{"pipe fails", "<!-- run: admin -->\n'''bash\nfalse | cat\n'''\n", []string{"exit code 1, want 0"}, true},
		{"variable is not set", "<!-- run: admin -->\n'''bash\necho $NO_SUCH\n'''\n",
			[]string{"NO_SUCH: unbound variable"}, true},
		{"syntax error: nothing runs", "<!-- run: admin -->\n'''bash\ntouch syntax-error\nif\n'''\n",
			[]string{"exit code 2, want 0"}, true},
		{"expected exit code", "<!-- run: admin; exit: 3 -->\n'''console\n$ echo a\na\n$ echo b; exit 3\nb\n'''\n",
			[]string{"1 blocks run, 0 failed"}, false},
		{"expected exit code of an earlier command", "<!-- run: admin; exit: 1 -->\n'''console\n$ false\n$ echo b\n'''\n",
			[]string{"the block ended with 1 before its last command"}, true},
		{"success instead of the expected exit code", "<!-- run: admin; exit: 1 -->\n'''bash\ntrue\n'''\n",
			[]string{"exit code 0, want 1"}, true},
		{"command reads its input: the script goes on", "<!-- run: admin -->\n'''console\n$ cat\n$ echo b\nb\n'''\n",
			[]string{"1 blocks run, 0 failed"}, false},
		{"output without a line end", "<!-- run: admin -->\n'''console\n$ printf a\na\n$ printf b\nb\n'''\n",
			[]string{"1 blocks run, 0 failed"}, false},
		{"variables: kept for the machine",
			"<!-- run: admin -->\n'''bash\nNAME='a  \"b'\nlower=x\n'''\n\n" +
				"<!-- run: admin -->\n'''console\n$ echo \"$NAME ${lower:-none}\"\na \"b none\n'''\n",
			[]string{"2 blocks run, 0 failed"}, false},
		{"variables: not on another machine",
			"<!-- run: control-plane -->\n'''bash\nNAME=a\n'''\n\n<!-- run: admin -->\n'''bash\necho $NAME\n'''\n",
			[]string{"2 blocks run, 1 failed"}, true},
		{"each node", "<!-- run: each-node -->\n'''bash\necho x >>each\n'''\n\n" +
			"<!-- run: admin -->\n'''console\n$ grep -c x each\n2\n'''\n",
			[]string{"2 blocks run, 0 failed"}, false},
		{"a block that does not run", "<!-- run: none; reason: no registry -->\n'''bash\nfalse\n'''\n",
			[]string{"page.md:2 not run: no registry", "0 blocks run, 0 failed, 1 marked as not run"}, false},
		{"the next block runs after a failure",
			"<!-- run: admin -->\n'''bash\nfalse\n'''\n\n<!-- run: admin -->\n'''bash\ntrue\n'''\n",
			[]string{"2 blocks run, 1 failed"}, true},
		{"retry until the output is right",
			"<!-- run: admin; retry: 1m -->\n'''console\n$ echo x >>tries\n$ wc -l <tries\n2\n'''\n",
			[]string{"1 blocks run, 0 failed"}, false},
		{"before: once, although the block is retried",
			"<!-- run: admin; retry: 1m; before: echo x >>once; echo y >>once -->\n" +
				"'''console\n$ echo x >>again; wc -l <again\n2\n'''\n\n" +
				"<!-- run: admin -->\n'''console\n$ wc -l <once\n2\n'''\n",
			[]string{"2 blocks run, 0 failed"}, false},
		{"before fails: the block does not run",
			"<!-- run: admin; exit: 1; before: false -->\n'''bash\ntouch ran\nfalse\n'''\n\n" +
				"<!-- run: admin; exit: 1 -->\n'''bash\ntest -e ran\n'''\n",
			[]string{"before the block: exit code 1, want 0", "2 blocks run, 1 failed"}, true},
		{"instead: this script runs, not the block",
			"<!-- run: admin; instead: echo x >other -->\n'''bash\ntouch ran\n'''\n\n" +
				"<!-- run: admin -->\n'''bash\ntest -e other\n! test -e ran || exit 1\n'''\n",
			[]string{"page.md:2 on admin: echo x >other", "2 blocks run, 0 failed"}, false},
		{"instead fails", "<!-- run: admin; instead: false -->\n'''bash\ntrue\n'''\n",
			[]string{"exit code 1, want 0", "1 blocks run, 1 failed"}, true},
		{"timeout", "<!-- run: admin; timeout: 100ms -->\n'''bash\nsleep 60\n'''\n", []string{"no end within 100ms"}, true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			out, err := run(t, t.Context(), tc.page)
			if (err != nil) != tc.fails {
				t.Errorf("error %v, want one: %t\n%s", err, tc.fails, out)
			}
			for _, want := range tc.want {
				if !strings.Contains(out, want) {
					t.Errorf("the output does not contain %q:\n%s", want, out)
				}
			}
		})
	}
	if _, err := os.Stat("syntax-error"); err == nil {
		t.Error("a block with a syntax error ran in part")
	}
}

// After Ctrl-C, the command gets SIGINT and may roll back. No later block runs.
func TestInterrupt(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		for ctx.Err() == nil {
			if _, err := os.Stat(filepath.Join(dir, "started")); err == nil {
				cancel()
			}
			time.Sleep(10 * time.Millisecond)
		}
	}()
	out, err := run(t, ctx, "<!-- run: admin -->\n'''bash\n"+
		"bash -c 'trap \"sleep 0.2; touch rolled-back; exit 1\" INT; touch started; "+
		"for i in $(seq 600); do sleep 0.1; done'\n"+
		"'''\n\n<!-- run: admin -->\n'''bash\ntouch second\n'''\n")
	if err == nil || !strings.Contains(out, "1 blocks run, 1 failed") {
		t.Errorf("error %v\n%s", err, out)
	}
	if _, err := os.Stat("rolled-back"); err != nil {
		t.Error("the command was not interrupted, or could not roll back")
	}
	if _, err := os.Stat("second"); err == nil {
		t.Error("a block ran after the interrupt")
	}
}

// fakeDocker is a docker whose containers are this machine.
const fakeDocker = `#!/bin/sh
[ "$1" = exec ] || exit 1
shift
while [ "${1#--}" != "$1" ]; do shift; done
shift
exec "$@"
`

// `docker exec` does not pass on a signal, so docsrun sends it to the process group in the container.
func TestInterruptInContainer(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	if err := os.WriteFile("docker", []byte(fakeDocker), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", dir+":"+os.Getenv("PATH"))
	s := containerShell("node", filepath.Join(dir, "pid"))
	program := newScript(Block{Commands: []Command{{Text: "trap 'touch rolled-back; exit 1' INT\n" +
		"touch started\nfor i in $(seq 600); do sleep 0.1; done"}}}, "", s.pidFile)
	ctx, cancel := context.WithCancel(t.Context())
	begin := time.Now()
	go func() {
		for ctx.Err() == nil {
			if _, err := os.Stat(filepath.Join(dir, "started")); err == nil {
				cancel()
			}
			time.Sleep(10 * time.Millisecond)
		}
	}()
	if _, _, err := s.run(ctx, program.text); err == nil {
		t.Error("no error")
	}
	if took := time.Since(begin); took > 30*time.Second {
		t.Errorf("the interrupt took %s", took)
	}
	if _, err := os.Stat("rolled-back"); err != nil {
		t.Error("the script in the container was not interrupted")
	}
}

func TestExitCodeInContainer(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	if err := os.WriteFile("docker", []byte(fakeDocker), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", dir+":"+os.Getenv("PATH"))
	s := containerShell("node", filepath.Join(dir, "pid"))
	program := newScript(Block{Commands: []Command{{Text: "echo a; exit 7"}}}, "", s.pidFile)
	output, code, err := s.run(t.Context(), program.text)
	if output != "a\n" || code != 7 || err != nil {
		t.Errorf("output %q, exit code %d, error %v", output, code, err)
	}
}
