// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package staticpod

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

const manifest = `kind: Pod
metadata: {annotations: {a: b}}
spec:
  containers:
  - name: side
    image: side:1
  - name: main
    image: main:1
    command: [main, --x=1, --mode=Node, --x=2]
    volumeMounts: [{name: pki, mountPath: /pki}]
  volumes: [{name: pki, hostPath: {path: /pki}}]
`

func parse(t *testing.T, text string) *Pod {
	t.Helper()
	p, err := Parse([]byte(text), "main")
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestArgs(t *testing.T) {
	for _, tc := range []struct {
		name   string
		change func(*Pod)
		want   []string
	}{
		{"no edits: unchanged", func(*Pod) {}, []string{"--x=1", "--mode=Node", "--x=2"}},
		{"a flag is set where it stood, once", func(p *Pod) { p.SetArg("x", "3") }, []string{"--x=3", "--mode=Node"}},
		{"a new flag goes to the end", func(p *Pod) { p.SetArg("y", "3") },
			[]string{"--x=1", "--mode=Node", "--x=2", "--y=3"}},
		{"a flag takes another's place", func(p *Pod) { p.ReplaceArg("mode", "config", "f") },
			[]string{"--x=1", "--config=f", "--x=2"}},
		{"all of a flag are deleted", func(p *Pod) { p.DeleteArg("x") }, []string{"--mode=Node"}},
		{"a flag with a longer name stays", func(p *Pod) { p.DeleteArg("mod") }, []string{"--x=1", "--mode=Node", "--x=2"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			p := parse(t, manifest)
			tc.change(p)
			if diff := cmp.Diff(tc.want, p.Args()); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

func TestTheLastOfAFlagCounts(t *testing.T) {
	p := parse(t, manifest)
	if value, set := p.Arg("x"); value != "2" || !set {
		t.Errorf("%q, %v", value, set)
	}
	if value, set := p.Arg("y"); value != "" || set {
		t.Errorf("%q, %v", value, set)
	}
}

func TestOnlyTheNamedContainerChanges(t *testing.T) {
	p := parse(t, manifest)
	p.SetImage("main:2")
	want := parse(t, manifest)
	want.list("spec", "containers")[1].(map[string]any)["image"] = "main:2"
	if diff := cmp.Diff(want.Object(), p.Object()); diff != "" || p.Image() != "main:2" {
		t.Errorf("image %s; -want +got:\n%s", p.Image(), diff)
	}
}

func TestMountAndUnmountIsNothing(t *testing.T) {
	p := parse(t, manifest)
	p.MountDir("ours", "/ours")
	p.MountDir("ours", "/ours")
	if got := len(p.list("spec", "volumes")); got != 2 {
		t.Errorf("%d volumes, want 2", got)
	}
	p.UnmountDir("ours", "/ours")
	if diff := cmp.Diff(parse(t, manifest).Object(), p.Object()); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func TestHostPath(t *testing.T) {
	p := parse(t, `kind: Pod
spec:
  containers:
  - name: main
    volumeMounts:
    - {name: etc, mountPath: /etc}
    - {name: config, mountPath: /etc/config/}
    - {name: part, mountPath: /part, subPath: a/b}
    - {name: scratch, mountPath: /etc/config/scratch}
    - {name: file, mountPath: /one.yaml}
    - {name: absent, mountPath: /etc/absent}
    - {name: etc, mountPath: /etc/expanded, subPathExpr: $(POD_NAME)}
  volumes:
  - {name: etc, hostPath: {path: /host/etc}}
  - {name: config, hostPath: {path: /host/config}}
  - {name: part, hostPath: {path: /host/part}}
  - {name: scratch, emptyDir: {}}
  - {name: file, hostPath: {path: /host/two.yaml}}
`)
	for inside, want := range map[string]string{
		"/etc/file.yaml":        "/host/etc/file.yaml",
		"/etc/config/file.yaml": "/host/config/file.yaml",
		"/etc/configuration":    "/host/etc/configuration",
		"/part/file.yaml":       "/host/part/a/b/file.yaml",
		"/one.yaml":             "/host/two.yaml",
		"/etc/../one.yaml":      "/host/two.yaml",
		// These are not on a volume of the host.
		"/etc/config/scratch/file.yaml": "",
		"/etc/expanded/file.yaml":       "",
		"/etc/absent/file.yaml":         "",
		"/image/file.yaml":              "",
	} {
		if got := p.HostPath(inside); got != want {
			t.Errorf("%s: %s, want %s", inside, got, want)
		}
	}
}

func TestAnnotations(t *testing.T) {
	p := parse(t, "kind: Pod\nspec: {containers: [{name: main}]}")
	before := parse(t, "kind: Pod\nmetadata: {}\nspec: {containers: [{name: main}]}")
	if err := p.SetAnnotation("a", "b"); err != nil || p.Annotation("a") != "b" {
		t.Errorf("%q, %v", p.Annotation("a"), err)
	}
	if err := p.SetAnnotation("a", ""); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(before.Object(), p.Object()); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}
