// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package preflight

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/version"
	fakediscovery "k8s.io/client-go/discovery/fake"
	"k8s.io/client-go/kubernetes/fake"
)

func TestPreflight(t *testing.T) {
	for _, tc := range []struct {
		name    string
		profile string
		flags   flags
		version string
		host    fakeHost
		objects []runtime.Object

		ignoreFailures, denyUnknown, auditOnly bool

		level Level
		// mentions must be in the one finding that is not OK.
		mentions string
	}{
		{name: "a fresh kubeadm cluster passes for hardened"},
		{name: "a fresh kubeadm cluster passes for parity", profile: "parity"},
		{name: "existing Bulkhead installation passes",
			flags: without(kubeadmFlags("authorization-config", "/ours.yaml"), "authorization-mode")},
		{name: "RBAC before Node passes", flags: kubeadmFlags("authorization-mode", "RBAC,Node")},
		{name: "no Node authorizer fails", flags: kubeadmFlags("authorization-mode", "RBAC"), level: Fail,
			mentions: "make it Node,RBAC"},
		{name: "AlwaysAllow beside them fails", flags: kubeadmFlags("authorization-mode", "Node,RBAC,AlwaysAllow"),
			level: Fail, mentions: "AlwaysAllow"},
		{name: "no authorizer at all fails", flags: without(kubeadmFlags(), "authorization-mode"), level: Fail,
			mentions: "every request is allowed"},
		{name: "foreign authorization file fails", flags: kubeadmFlags("authorization-config", "/theirs.yaml"),
			level: Fail, mentions: "go back to --authorization-mode=Node,RBAC"},
		{name: "a webhook in the old form fails", flags: kubeadmFlags("authorization-webhook-config-file", "/w"), level: Fail,
			mentions: "names a webhook"},
		{name: "no NodeRestriction is a warning", flags: kubeadmFlags("enable-admission-plugins", "PodSecurity"), level: Warn,
			mentions: "the profile switches it on"},
		{name: "NodeRestriction that is disabled is a warning",
			flags: kubeadmFlags("disable-admission-plugins", "NodeRestriction"), level: Warn,
			mentions: "the profile switches it on"},
		{name: "for parity too", profile: "parity", flags: kubeadmFlags("disable-admission-plugins", "NodeRestriction"),
			level: Warn, mentions: "node-restriction will"},
		{name: "NodeRestriction replaced by Bulkhead passes",
			flags: kubeadmFlags("disable-admission-plugins", "NodeRestriction", "admission-control-config-file",
				"/admission.yaml")},
		{name: "foreign admission file passes", flags: kubeadmFlags("admission-control-config-file", "/theirs.yaml"),
			host: fakeHost{}},
		{name: "foreign admission file that cannot be merged fails", host: fakeHost{admission: "it has two of a plugin"},
			flags: kubeadmFlags("admission-control-config-file", "/theirs.yaml"), level: Fail,
			mentions: "Bulkhead's cannot keep what is in it: it has two of a plugin"},
		{name: "no webhook plugin fails", flags: kubeadmFlags("disable-admission-plugins", "X,ValidatingAdmissionWebhook"),
			level: Fail, mentions: "would not call node-restriction"},
		{name: "the old flag for plugins fails", flags: kubeadmFlags("admission-control", "NodeRestriction"), level: Fail,
			mentions: "--admission-control=NodeRestriction"},
		{name: "server without static webhooks is a warning", flags: kubeadmFlags("from-disk", "no"), level: Warn,
			mentions: "registered through the API"},
		{name: "server without static webhooks fails for parity",
			profile: "parity", flags: kubeadmFlags("from-disk", "no"), level: Fail,
			mentions: "use hardened"},
		{name: "static tokens are a warning", flags: kubeadmFlags("token-auth-file", "/t"), level: Warn,
			mentions: "system:nodes"},
		{name: "1.33 fails", version: "v1.33.9", level: Fail, mentions: "older than 1.34"},
		{name: "1.34 is a warning", version: "v1.34.0", level: Warn, mentions: "tested against 1.37"},
		{name: "patch of the tested minor passes", version: "v1.37.9"},
		{name: "newer minor is a warning: unknown resources are reported", version: "v1.38.0", level: Warn,
			mentions: "is not denied: it is reported under NA-DEFAULT, and the in-tree Node authorizer and RBAC decide"},
		{name: "newer minor with --unknown-resources=deny is a warning", version: "v1.38.0", denyUnknown: true, level: Warn,
			mentions: "is denied (--unknown-resources=deny)"},
		{name: "newer minor is a warning for parity", version: "v1.38.0-beta.0", profile: "parity", level: Warn,
			mentions: "is left to RBAC, as in every version"},
		{name: "newer minor that emulates an older one is a warning", version: "v1.38.0",
			flags: kubeadmFlags("emulated-version", "1.37"), level: Warn, mentions: "newer than 1.37"},
		{name: "failure policy Ignore is a warning", ignoreFailures: true, level: Warn,
			mentions: "only in-tree NodeRestriction checks the writes of nodes"},
		{name: "failure policy Ignore fails for parity", profile: "parity", ignoreFailures: true, level: Fail,
			mentions: "--node-restriction-failure-policy=Fail"},
		{name: "failure policy Ignore in audit mode passes", ignoreFailures: true, auditOnly: true},
		{name: "an emulated version is a warning", flags: kubeadmFlags("emulated-version", "1.33"), level: Warn,
			mentions: "emulating 1.33"},
		{name: "a CA without its key fails", host: fakeHost{signer: "ca.key is missing"}, level: Fail, mentions: "ca.key"},
		{name: "port in use fails", host: fakeHost{port: "10461 is taken"}, level: Fail, mentions: "10461"},
		{name: "two control-plane nodes are a warning", objects: []runtime.Object{controlPlane("cp-1")}, level: Warn,
			mentions: "every one of them"},
		{name: "a subject of system:node is a warning for hardened", level: Warn,
			mentions: `sneaky gives Group "ops" the role system:node`,
			objects:  []runtime.Object{clusterBinding("sneaky", "ClusterRole", "system:node", group("ops"))}},
		{name: "a subject of system:node fails for parity", profile: "parity", level: Fail, mentions: "remove the subject",
			objects: []runtime.Object{clusterBinding("sneaky", "ClusterRole", "system:node", group("system:nodes"))}},
		{name: "a binding of one node fails for hardened", level: Fail,
			mentions: `User "system:node:worker" the ClusterRole view`,
			objects: []runtime.Object{clusterBinding("left-over", "ClusterRole", "view",
				rbacv1.Subject{Kind: "User", Name: "system:node:worker"})}},
		{name: "a binding of all nodes is a warning for parity", profile: "parity", level: Warn,
			mentions: "in addition to Bulkhead's",
			objects:  []runtime.Object{clusterBinding("left-over", "ClusterRole", "view", group("system:nodes"))}},
		{name: "Role named system:node is ignored", objects: []runtime.Object{
			&rbacv1.RoleBinding{ObjectMeta: metav1.ObjectMeta{Namespace: "a", Name: "b"},
				RoleRef: rbacv1.RoleRef{Kind: "Role", Name: "system:node"}, Subjects: []rbacv1.Subject{group("ops")}}}},
		{name: "a user among nodes without a name is a warning", level: Warn,
			mentions: `user "kubelet", who made request csr-odd`,
			objects:  []runtime.Object{request("csr-odd", "kubelet", "system:nodes", "system:node:worker")}},
		{name: "a request for a node without a name is a warning", level: Warn,
			mentions: `request csr-odd is for user "system:node:"`,
			objects:  []runtime.Object{request("csr-odd", "admin", "ops", "system:node:")}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			in := Input{Profile: tc.profile, Server: tc.flags, Host: tc.host, AuthorizationConfig: "/ours.yaml",
				AdmissionConfig: "/admission.yaml", IgnoreFailures: tc.ignoreFailures, DenyUnknown: tc.denyUnknown,
				AuditOnly: tc.auditOnly}
			if in.Profile == "" {
				in.Profile = "hardened"
			}
			if tc.flags == nil {
				in.Server = kubeadmFlags()
			}
			client := fake.NewClientset(kubeadmObjects(tc.objects...)...)
			client.Discovery().(*fakediscovery.FakeDiscovery).FakedServerVersion = &version.Info{GitVersion: "v1.37.1"}
			if tc.version != "" {
				client.Discovery().(*fakediscovery.FakeDiscovery).FakedServerVersion.GitVersion = tc.version
			}
			in.Client = client
			findings, err := Run(t.Context(), in)
			if err != nil {
				t.Fatal(err)
			}
			var bad []Finding
			for _, f := range findings {
				if f.Level != OK {
					bad = append(bad, f)
				}
			}
			switch {
			case tc.level == "" && len(bad) > 0:
				t.Errorf("it does not pass: %v", bad)
			case tc.level != "" && (len(bad) != 1 || bad[0].Level != tc.level || !strings.Contains(bad[0].Detail, tc.mentions)):
				t.Errorf("want one %s that mentions %q: %v", tc.level, tc.mentions, bad)
			}
			if Failed(findings) != (tc.level == Fail) {
				t.Errorf("Failed is %v", Failed(findings))
			}
		})
	}
}

// The error tells the user what to do.
func TestSeveralServersWithoutWebhooksFromDisk(t *testing.T) {
	for hosts, want := range map[int]string{
		1: "",
		3: "v1.36.2 on 3 control-plane hosts: it takes no admission webhook from disk (it does from 1.37 on), and a " +
			"registration through the API is for one host. " +
			"Upgrade the control plane to 1.37 first, or switch the feature gate ManifestBasedAdmissionControlConfig on where " +
			"it is off",
	} {
		var objects []runtime.Object
		for i := range hosts {
			objects = append(objects, controlPlane(fmt.Sprint("cp-", i)))
		}
		got, err := severalWithoutManifests(t.Context(),
			Input{Server: kubeadmFlags("from-disk", "no"), Client: fake.NewClientset(objects...)}, "v1.36.2")
		if got != want || err != nil {
			t.Errorf("of %d hosts: %q, %v", hosts, got, err)
		}
	}
}

func TestPreflightRemindsOfAJoin(t *testing.T) {
	for _, tc := range []struct {
		name, config string
		reminds      bool
	}{
		{"where kubeadm names our file", "value: /ours.yaml", true},
		{"not where it does not", "value: other", false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			client := fake.NewClientset(
				&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "kube-system", Name: "kubeadm-config"},
					Data: map[string]string{"ClusterConfiguration": tc.config}})
			client.Discovery().(*fakediscovery.FakeDiscovery).FakedServerVersion = &version.Info{GitVersion: "v1.37.1"}
			findings, err := Run(t.Context(),
				Input{Profile: "hardened", Server: kubeadmFlags(), Client: client, AuthorizationConfig: "/ours.yaml",
					AdmissionConfig: "/admission.yaml"})
			if err != nil {
				t.Fatal(err)
			}
			var out bytes.Buffer
			if err := Print(&out, findings); err != nil || strings.Contains(out.String(), "bulkhead prepare") != tc.reminds {
				t.Errorf("%v:\n%s", err, &out)
			}
		})
	}
}

func TestPrint(t *testing.T) {
	var out bytes.Buffer
	if err := Print(&out, []Finding{{OK, "one", "fine"}, {Fail, "another", "not\x1b[2K\nfine"}}); err != nil {
		t.Fatal(err)
	}
	want := "OK    one      fine\nFAIL  another  not\ufffd[2K; fine\n"
	if diff := cmp.Diff(want, out.String()); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// An operator of several control planes chooses what an outage of node-restriction on one of them does.
func TestFailurePolicyOfSeveralControlPlanes(t *testing.T) {
	const choice = "With --node-restriction-failure-policy=Ignore"
	for _, tc := range []struct {
		name  string
		in    Input
		nodes []runtime.Object
		want  bool
	}{
		{"Fail", Input{Profile: "hardened"}, []runtime.Object{controlPlane("cp-1"), controlPlane("cp-2")}, true},
		{"Ignore", Input{Profile: "hardened", IgnoreFailures: true},
			[]runtime.Object{controlPlane("cp-1"), controlPlane("cp-2")}, false},
		{"mode audit", Input{Profile: "hardened", AuditOnly: true},
			[]runtime.Object{controlPlane("cp-1"), controlPlane("cp-2")}, false},
		{"parity, where Fail is the only one", Input{Profile: "parity"},
			[]runtime.Object{controlPlane("cp-1"), controlPlane("cp-2")}, false},
		{"one host", Input{Profile: "hardened"}, []runtime.Object{controlPlane("cp-1")}, false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			tc.in.Client = fake.NewClientset(tc.nodes...)
			findings, err := nodeFindings(t.Context(), tc.in)
			if err != nil || len(findings) != 1 {
				t.Fatalf("%v, %v", findings, err)
			}
			if got := strings.Contains(findings[0].Detail, choice); got != tc.want {
				t.Errorf("it names the choice: %v, want %v: %s", got, tc.want, findings[0].Detail)
			}
		})
	}
}
