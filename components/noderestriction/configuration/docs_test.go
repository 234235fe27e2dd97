// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package configuration

import (
	"net/netip"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
)

const page = "../../../docs/configuration.md"

var example = regexp.MustCompile("(?s)```(?:yaml|json)\n(.*?)```")

func examples(t *testing.T) []string {
	t.Helper()
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	var all []string
	for _, found := range example.FindAllStringSubmatch(string(text), -1) {
		all = append(all, found[1])
	}
	return all
}

// TestEveryFieldHasAnExampleThatLoads loads the examples of the page and compares them with what
// the page says about them.
func TestEveryFieldHasAnExampleThatLoads(t *testing.T) {
	with := func(edit func(c *Configuration)) *Configuration {
		c := Defaults()
		edit(c)
		return c
	}
	want := []*Configuration{
		Defaults(),
		with(func(c *Configuration) {
			c.AllowedLabels = newKeys([]string{"example.com/rack", "csi.kubernetes.io.*"}, centrallySet)
		}),
		with(func(c *Configuration) {
			c.ChangeableLabels = newKeys([]string{"topology.csi.example.com/*", "example.com/rack"}, centrallySet)
		}),
		with(func(c *Configuration) {
			c.AllowedLabels = newKeys([]string{"*"}, centrallySet)
			c.AllowedTaints = newKeys([]string{"foo", "insecure.*"}, centrallySet)
		}),
		with(func(c *Configuration) {
			c.AllowedTaints = newKeys([]string{"example.com/agent-not-ready"}, centrallySet)
			c.ChangeableTaints = newKeys([]string{"example.com/agent-not-ready"}, setByOthers)
		}),
		with(func(c *Configuration) {
			c.StickyTaints = newKeys([]string{"example.com/compromised", "dedicated"}, ofTheControlPlane)
		}),
		with(func(c *Configuration) {
			const pool = "node-restriction.kubernetes.io/pool"
			c.Machines = []Machine{
				{"pii-*", map[string]string{pool: "pii"},
					[]corev1.Taint{{Key: "dedicated", Value: "pii", Effect: corev1.TaintEffectNoSchedule}}, nil},
				{
					"pii-07", map[string]string{pool: "pii-test"}, nil,
					[]netip.Prefix{netip.MustParsePrefix("192.0.2.7/32"), netip.MustParsePrefix("2001:db8:7::/64")},
				},
				{"*", map[string]string{pool: "general"}, nil, nil},
			}
		}),
		with(func(c *Configuration) {
			c.MirrorPods = MirrorPods{
				Gate: Enforce, RequireNamespace: true, UnrestrictedPrefix: true,
				AllowedLabelKeys:   NewKeys("example.com/rack"),
				DeniedLabelKeys:    NewKeys("k8s-app", "example.com/selected-by-*"),
				AllowedAnnotations: NewKeys("example.com/checksum", "prometheus.io/*"),
			}
		}),
		with(func(c *Configuration) {
			c.MirrorPods = MirrorPods{Gate: Enforce, AllowedLabelKeys: NewKeys("*"),
				DeniedLabelKeys: NewKeys("restricted.node.kubernetes.io/*")}
		}),
		with(func(c *Configuration) {
			c.Annotations = NewKeys("volumes.kubernetes.io/controller-managed-attach-detach", "example.com/*")
		}),
		with(func(c *Configuration) { c.Caps = Caps{50, 0, 500, 20} }),
		with(func(c *Configuration) { c.MaxTokenSeconds = 3607 }),
		with(func(c *Configuration) {
			c.BootstrapNames = []BootstrapNames{
				{Group: "system:bootstrappers:kubeadm:default-node-token", Names: NewKeys("worker-*")},
				{User: "system:bootstrap:abcdef", Names: NewKeys("control-plane-2")},
			}
		}),
		with(func(c *Configuration) {
			c.AllowedLabels, c.AllowedTaints = newKeys(nil, centrallySet), newKeys(nil, centrallySet)
			c.ChangeableLabels, c.ChangeableTaints = newKeys(nil, centrallySet), newKeys(nil, setByOthers)
			c.StickyTaints, c.Annotations = newKeys([]string{"*"}, ofTheControlPlane), NewKeys("*")
			c.Machines = []Machine{{Name: "gpu-*", Taints: []corev1.Taint{{Key: "gpu", Effect: corev1.TaintEffectNoExecute}}}}
			c.MirrorPods.Gate, c.Caps.MirrorPods, c.MaxTokenSeconds = Warn, 20, 86400
			c.BootstrapNames = []BootstrapNames{{Group: "system:bootstrappers", Names: NewKeys("*")}}
		}),
	}
	got := examples(t)
	if len(got) != len(want) {
		t.Fatalf("%d examples, want %d", len(got), len(want))
	}
	for i, text := range got {
		c, err := Parse([]byte(text))
		if err != nil {
			t.Errorf("%s\n%v", text, err)
			continue
		}
		if diff := cmp.Diff(want[i], c, cmp.Comparer(equal),
			cmp.Comparer(func(a, b netip.Prefix) bool { return a == b })); diff != "" {
			t.Errorf("%s\n%s", text, diff)
		}
	}
}

// equal compares the content of two sets.
func equal(a, b *Keys) bool {
	if a == nil || b == nil {
		return a == b
	}
	return cmp.Equal(a.exact, b.exact) && cmp.Equal(a.beginnings, b.beginnings) && cmp.Equal(a.naming, b.naming) &&
		(a.reserved.matches == nil) == (b.reserved.matches == nil)
}

// TestThePageHasEveryField checks the last example of the page, which must have all fields.
func TestThePageHasEveryField(t *testing.T) {
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	last := examples(t)[len(examples(t))-1]
	for _, name := range []string{
		"allowedLabels", "changeableLabels", "allowedTaints", "changeableTaints", "stickyTaints", "machines", "mirrorPods",
		"nodeAnnotations", "caps", "maxTokenSeconds",
		"bootstrapNodeNames",
	} {
		if !strings.Contains(string(text), "\n## "+name+"\n") || !strings.Contains(last, `"`+name+`"`) {
			t.Errorf("%s has no section, or is not in the last example", name)
		}
	}
}
