// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package doctor

import (
	"crypto/x509"
	"crypto/x509/pkix"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	certificatesv1 "k8s.io/api/certificates/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/bulkhead-k8s/bulkhead/components/install/apiserver"
	"github.com/bulkhead-k8s/bulkhead/components/install/controlplane"
	"github.com/bulkhead-k8s/bulkhead/components/install/hosts"
	"github.com/bulkhead-k8s/bulkhead/components/internal/testpki"
)

var subject0 = pkix.Name{CommonName: "kubernetes"}

func lasts(until time.Time) func(*x509.Certificate) {
	return func(c *x509.Certificate) { c.NotAfter = until }
}

// row is a change of a cluster in which everything is as it should be, and the findings after it. A row
// without findings is the healthy case of the row before it: it differs in one field.
type row struct {
	name   string
	change func(*testCluster)
	want   []string
}

func testRows(t *testing.T, rows []row) {
	t.Helper()
	for _, r := range rows {
		t.Run(r.name, func(t *testing.T) {
			c := newTestCluster(t)
			r.change(c)
			expect(t, c.run(t), r.want...)
		})
	}
}

func TestHealthyClusterHasNoFinding(t *testing.T) {
	r := newTestCluster(t).run(t)
	expect(t, r)
	if !r.Healthy() || r.Summary() != "0 urgent, 0 soon, 0 notes" {
		t.Errorf("%q", r.Summary())
	}
}

func TestServer(t *testing.T) {
	testRows(t, []row{
		{"too old", func(c *testCluster) { c.version = "v1.33.9" }, []string{"urgent|version||kube-apiserver v1.33.9 is older"}},
		{"newer", func(c *testCluster) { c.version = "v1.38.0" }, []string{"soon|version||kube-apiserver v1.38.0 is newer"}},
		{"not tested", func(c *testCluster) { c.version = "v1.36.0" }, []string{"note|version||kube-apiserver is v1.36.0"}},
		{"tested, another patch", func(c *testCluster) { c.version = "v1.37.9+k3s1" }, nil},
		{"no version", func(c *testCluster) { c.version = "devel" },
			[]string{"soon|version|version|not checked: cannot read the version"}},
		{"images differ", func(c *testCluster) { c.pods["kube-apiserver-cp2"].Spec.Containers[0].Image = server + "1" },
			[]string{"note|version||API servers have different images: " + server + " on cp1; "}},
		{"the in-tree authorizer decides", func(c *testCluster) { c.decision.Reason = "no relationship found" },
			[]string{`urgent|authorizer||node-authorizer does not decide: the API server answers "no relationship found"`}},
		{"node-authorizer abstains", func(c *testCluster) { c.decision.Reason = "no view [NA-UNREADY]" },
			[]string{"urgent|authorizer||node-authorizer is not ready"}},
		{"writes without the webhook", func(c *testCluster) { c.process.Skipped = "3" },
			[]string{"soon|webhook||kube-apiserver has admitted 3 writes"}},
		{"no such writes", func(c *testCluster) { c.process.Skipped = "0" }, nil},
		{"another authorization file", file("ff"), []string{"urgent|webhook||kube-apiserver uses another authorization file"}},
		{"the file of the installer", file("aa"), nil},
		{"old tokens", func(c *testCluster) { c.metrics = "serviceaccount_stale_tokens_total 12\n" },
			[]string{"note|tokens||12 requests"}},
		{"no metric", func(c *testCluster) { c.metrics = "other 1\n" },
			[]string{"soon|tokens|tokens|not checked: cannot read the metric"}},
	})
}

// file sets the authorization file in force. The installer has written aa.
func file(inForce string) func(*testCluster) {
	return func(c *testCluster) {
		for _, node := range []string{"cp1", "cp2"} {
			c.pods["kube-apiserver-"+node].Annotations[apiserver.HashAnnotation] = "aa"
		}
		c.process.AuthorizationHash = inForce
	}
}

func TestStatus(t *testing.T) {
	testRows(t, []row{
		{"host without Bulkhead", func(c *testCluster) {
			c.addNode("cp3")
			c.nodes["cp3"].Labels["node-role.kubernetes.io/control-plane"] = ""
		},
			[]string{"urgent|hosts|cp3|Bulkhead is not installed", "urgent|kubeadm||ConfigMap kubeadm-config names"}},
		{"pod not ready on both hosts: one finding", func(c *testCluster) {
			for _, node := range []string{"cp1", "cp2"} {
				c.pods["bulkhead-certs-"+node].Status.Conditions = nil
			}
		}, []string{"urgent|hosts|cp1,cp2|certs is not ready"}},
		{"drift", func(c *testCluster) { c.entries["cp2"].ConfigHash = "ee" },
			[]string{"urgent|drift||hosts differ in configuration"}},
		{"kubeadm", func(c *testCluster) {
			c.configs["kubeadm-config"]["ClusterConfiguration"] = "kind: ClusterConfiguration\n"
		},
			[]string{"urgent|kubeadm||ConfigMap kubeadm-config does not name"}},
		{"certificate expired", func(c *testCluster) { c.certificates["cp1"][0].NotAfter = c.now },
			[]string{"urgent|certificates|cp1|certificate apiserver-client expired"}},
		{"certificate due", func(c *testCluster) { c.certificates["cp1"][0].Due = "it has 1h left" },
			[]string{"soon|certificates|cp1|certificate apiserver-client is due"}},
		{"certificates unknown", func(c *testCluster) { delete(c.certificates, "cp1") },
			[]string{"soon|certificates|cp1|not checked: certificates: container not found"}},
		{"certificates left out", func(c *testCluster) { c.noExec = true },
			[]string{"note|certificates|certificates|not checked: --no-certificates"}},
		{"restarts today", restarted(3, time.Hour), []string{"soon|restarts|cp1|bulkhead-node-authorizer has restarted 3 times"}},
		{"fewer restarts", restarted(2, time.Hour), nil},
		{"restarts two days ago", restarted(3, 48*time.Hour), nil},
	})
}

func restarted(count int32, ago time.Duration) func(*testCluster) {
	return func(c *testCluster) {
		status := &c.pods["bulkhead-node-authorizer-cp1"].Status.ContainerStatuses[0]
		status.RestartCount = count
		status.LastTerminationState.Terminated = &corev1.ContainerStateTerminated{FinishedAt: metav1.NewTime(c.now.Add(-ago))}
	}
}

func TestKubelets(t *testing.T) {
	testRows(t, []row{
		{"20 nodes without a proxy: one finding", func(c *testCluster) {
			for i := range 20 {
				c.addNode(fmt.Sprintf("x%02d", i))
			}
			c.proxied = []string{"cp1", "cp2", "w1"}
		}, []string{"urgent|kubelets|x00,x01,x02,x03,x04,x05,x06,x07,x08,x09,x10,x11,x12,x13,x14,x15,x16,x17,x18,x19|the kubelet"}},
		{"kubelets that do not answer", func(c *testCluster) { c.proxied = []string{"cp1", "cp2 (timeout)", "w1 (refused)"} },
			[]string{"soon|kubelets|cp2,w1|not checked: the kubelet does not answer"}},
		{"not verified, no DaemonSet: as chosen", func(c *testCluster) {
			c.daemonSet, c.proxied = nil, nil
			c.entries["cp1"].VerifyKubelets, c.entries["cp2"].VerifyKubelets = false, false
		}, []string{"note|kubelets||no kubelet is guarded"}},
		{"rollout not finished", func(c *testCluster) { c.daemonSet.Status.UpdatedNumberScheduled = 2 },
			[]string{"soon|rollout||the rollout of kubelet-auth-proxy is not finished: 2 of 3"}},
		{"last change not seen", func(c *testCluster) { c.daemonSet.Generation = 2 },
			[]string{"soon|rollout||the rollout of kubelet-auth-proxy is not finished: 3 of 3"}},
		{"proxy not ready", func(c *testCluster) {
			c.daemonSet.Status.NumberReady = 2
			c.pods["proxy-w1"].Status.Conditions = nil
		}, []string{"urgent|rollout|w1|kubelet-auth-proxy is not ready"}},
		{"request waits", request(6 * time.Minute), []string{"soon|requests|w1|a request for a kubelet's serving certificate waits"}},
		{"new request", request(4 * time.Minute), nil},
		{"request approved, but not signed", request(6*time.Minute, certificatesv1.CertificateApproved),
			[]string{"soon|requests|csr1|a request for a kubelet's serving certificate is approved"}},
		{"request denied", request(6*time.Minute, certificatesv1.CertificateDenied), nil},
	})
}

func request(age time.Duration, conditions ...certificatesv1.RequestConditionType) func(*testCluster) {
	return func(c *testCluster) {
		r := &certificatesv1.CertificateSigningRequest{ObjectMeta: metav1.ObjectMeta{Name: "csr1",
			CreationTimestamp: metav1.NewTime(c.now.Add(-age))}, Spec: certificatesv1.CertificateSigningRequestSpec{
			SignerName: certificatesv1.KubeletServingSignerName, Username: "system:node:w1", Groups: []string{"system:nodes"}}}
		for _, condition := range conditions {
			r.Status.Conditions = append(r.Status.Conditions,
				certificatesv1.CertificateSigningRequestCondition{Type: condition})
		}
		c.more = append(c.more, r)
	}
}

func TestAudit(t *testing.T) {
	audits := func(age time.Duration, plan *metav1.Duration) func(*testCluster) {
		return func(c *testCluster) {
			for _, h := range c.entries {
				h.AuditFor, h.AuditSince = plan, map[string]metav1.Time{"--rule-mode=NA-CSR-1=audit": metav1.NewTime(c.now.Add(-age))}
			}
		}
	}
	testRows(t, []row{
		{"longer than the default", audits(8*day, nil), []string{"soon|audit|cp1,cp2|--rule-mode=NA-CSR-1=audit since "}},
		{"within the default", audits(6*day, nil), []string{"note|audit|cp1,cp2|--rule-mode=NA-CSR-1=audit since "}},
		{"longer than planned", audits(6*day, &metav1.Duration{Duration: day}), []string{"soon|audit|cp1,cp2|"}},
		{"within the plan", audits(8*day, &metav1.Duration{Duration: 9 * day}), []string{"note|audit|cp1,cp2|"}},
		{"entry of an older version", func(c *testCluster) { c.entries["cp1"].Modes = "enforce, NA-CSR-1=audit" },
			[]string{"note|audit|cp1|settings only audit, since a time"}},
		{"entry of an older version without audit", func(c *testCluster) { c.entries["cp1"].Modes = "enforce, NA-CSR-1=off" }, nil},
	})
}

func TestScopes(t *testing.T) {
	testRows(t, []row{
		{"pending", func(c *testCluster) {
			c.scopes = []Scope{{Account: "a/b", Pending: true}, {Account: "a/c", Pending: true}}
		},
			[]string{"soon|scopes|a/b,a/c|the node scope of these accounts is pending"}},
		{"live", func(c *testCluster) { c.scopes = []Scope{{Account: "a/b"}} }, nil},
		{"host without a report", func(c *testCluster) { c.scopes = []Scope{{Host: "cp1", Problem: "its scope-sync is quiet"}} },
			[]string{"soon|scopes|cp1|its scope-sync is quiet"}},
	})
}

func TestBindings(t *testing.T) {
	binding := func(subject rbacv1.Subject) func(*testCluster) {
		return func(c *testCluster) {
			c.more = append(c.more, &rbacv1.ClusterRoleBinding{ObjectMeta: metav1.ObjectMeta{Name: "system:node"},
				RoleRef:  rbacv1.RoleRef{Kind: "ClusterRole", Name: "system:node"},
				Subjects: []rbacv1.Subject{subject}})
		}
	}
	group := rbacv1.Subject{Kind: "Group", Name: "system:nodes"}
	parity := func(c *testCluster) {
		for _, h := range c.entries {
			h.Profile = "parity"
		}
		binding(group)(c)
	}
	testRows(t, []row{
		{"system:node bound to all nodes", binding(group), []string{`soon|bindings||system:node gives Group "system:nodes"`}},
		{"the same in parity", parity, []string{`urgent|bindings||system:node gives Group "system:nodes"`}},
		{"all accounts may write ServiceAccounts", editors("bulkhead-scope-sync"),
			[]string{"soon|bindings|ClusterRoleBinding all|all accounts may write ServiceAccounts"}},
		{"the same without node scope", editors("other"), nil},
		{"no subject", func(c *testCluster) {
			binding(group)(c)
			c.more[0].(*rbacv1.ClusterRoleBinding).Subjects = nil
		}, nil},
	})
}

func editors(pod string) func(*testCluster) {
	return func(c *testCluster) {
		for _, node := range []string{"cp1", "cp2"} {
			c.addMirror(pod, "scope-sync", node, image)
		}
		c.more = append(c.more, &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: "edit-accounts"},
			Rules: []rbacv1.PolicyRule{{APIGroups: []string{""}, Resources: []string{"serviceaccounts"}, Verbs: []string{"patch"}}}},
			&rbacv1.ClusterRoleBinding{ObjectMeta: metav1.ObjectMeta{Name: "all"},
				RoleRef:  rbacv1.RoleRef{Kind: "ClusterRole", Name: "edit-accounts"},
				Subjects: []rbacv1.Subject{{Kind: "Group", Name: "system:serviceaccounts"}}})
	}
}

func TestAuthorities(t *testing.T) {
	published := func(config, key string, left time.Duration) func(*testCluster) {
		return func(c *testCluster) {
			pair := testpki.NewCA(t, "kubernetes").Issue(t, subject0, 0, lasts(c.now.Add(left)))
			c.configs[config][key] = string(pair.Certificate)
		}
	}
	testRows(t, []row{
		{"client CA ends in 89 days", published("extension-apiserver-authentication", "client-ca-file", 89*day),
			[]string{"soon|authorities||the CA of client certificates ends at"}},
		{"client CA ends in 91 days", published("extension-apiserver-authentication", "client-ca-file", 91*day), nil},
		{"server CA ends in 13 days", published("kube-root-ca.crt", "ca.crt", 13*day),
			[]string{"urgent|authorities||the CA of API servers ends at"}},
		{"the successor is there", func(c *testCluster) {
			long := c.configs["kube-root-ca.crt"]["ca.crt"]
			published("kube-root-ca.crt", "ca.crt", 13*day)(c)
			c.configs["kube-root-ca.crt"]["ca.crt"] += long
		}, nil},
		{"no CA", func(c *testCluster) { delete(c.configs, "kube-root-ca.crt") },
			[]string{"soon|authorities|authorities|not checked: the CA of API servers is not published"}},
		{"Bulkhead's CA ends in 80 days", func(c *testCluster) { c.certificates["cp2"][1].NotAfter = c.now.Add(80 * day) },
			[]string{"soon|authorities|cp2|Bulkhead's CA ends at"}},
	})
}

func TestRevocations(t *testing.T) {
	revoked := func(key string, text func(*testpki.CA) string) func(*testCluster) {
		return func(c *testCluster) {
			ca := testpki.NewCA(t, "kubernetes")
			c.configs["extension-apiserver-authentication"]["client-ca-file"] += string(ca.PEM())
			c.configs["bulkhead-revocations"] = map[string]string{key: text(ca)}
		}
	}
	ids := func(text string) func(*testpki.CA) string { return func(*testpki.CA) string { return text } }
	list := func(valid time.Duration) func(*testpki.CA) string {
		return func(ca *testpki.CA) string {
			return string(testpki.CRLPEM(ca.CRL(t, nil, func(l *x509.RevocationList) {
				l.ThisUpdate = time.Now().Add(-2 * time.Hour)
				l.NextUpdate = l.ThisUpdate.Add(valid)
			})))
		}
	}
	good := "X509SHA256=" + strings.Repeat("a", 64) + "\n"
	testRows(t, []row{
		{"a line that is no ID", revoked("credential-ids", ids(good+"serial 7\n")),
			[]string{"urgent|revocations||ConfigMap bulkhead-revocations has lines that revoke nothing: line 2"}},
		{"valid lines", revoked("credential-ids", ids(good)), nil},
		{"invalid list", revoked("a.crl", ids("not a list")), []string{"urgent|revocations|a.crl|a certificate revocation list cannot"}},
		{"valid list", revoked("a.crl", list(3*time.Hour)), nil},
		{"list to be updated", revoked("a.crl", list(time.Hour)), []string{"soon|revocations|a.crl|the revocation list of kubernetes"}},
	})
}

func TestRegistrationInTheAPI(t *testing.T) {
	register := func(field, value string) func(*testCluster) {
		return func(c *testCluster) {
			c.process.AdmissionHash = ""
			object := registration(t)
			if field != "" {
				webhooks, _, _ := unstructured.NestedSlice(object.Object, "webhooks")
				webhooks[0].(map[string]any)[field] = value
				_ = unstructured.SetNestedSlice(object.Object, webhooks, "webhooks")
			}
			c.objects[keyOf(object)] = object
		}
	}
	testRows(t, []row{
		{"as installed", register("", ""), nil},
		{"failure policy Ignore", register("failurePolicy", "Ignore"),
			[]string{"note|webhook||node-restriction is registered with failure policy Ignore"}},
		{"another scope", register("matchPolicy", "Exact"), []string{"urgent|webhook||ValidatingWebhookConfiguration"}},
		{"not registered", func(c *testCluster) { c.process.AdmissionHash = "" },
			[]string{"urgent|webhook||node-restriction is not registered"}},
	})
}

func registration(t *testing.T) *unstructured.Unstructured {
	t.Helper()
	object, err := controlplane.RegistrationInAPI(controlplane.Hardened, []byte("CA"))
	if err != nil {
		t.Fatal(err)
	}
	return object
}

func TestObjects(t *testing.T) {
	const role = "ClusterRole/bulkhead:node-authorizer"
	testRows(t, []row{
		{"deleted", func(c *testCluster) { delete(c.objects, role) },
			[]string{"urgent|objects|ClusterRole bulkhead:node-authorizer|the API lacks"}},
		{"changed", func(c *testCluster) {
			changed := c.objects[role].DeepCopy()
			_ = unstructured.SetNestedSlice(changed.Object, nil, "rules")
			c.objects[role] = changed
		}, []string{"urgent|objects|ClusterRole bulkhead:node-authorizer|these objects of Bulkhead are not"}},
		{"installed by another version", func(c *testCluster) {
			for _, h := range c.entries {
				h.Version = "v0"
			}
			delete(c.objects, role)
		}, []string{"soon|objects|objects|not checked: this program is version v1, but host cp1 has v0"}},
	})
}

func lease(age time.Duration) func(*testCluster) {
	return func(c *testCluster) {
		c.more = append(c.more, &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: "kube-system",
			Name: hosts.LeaseName, UID: "1", ResourceVersion: "5"}, Spec: coordinationv1.LeaseSpec{
			HolderIdentity: new("cp1/7-ABC"), LeaseDurationSeconds: new(int32(180)),
			RenewTime: new(metav1.NewMicroTime(c.now.Add(-age)))}})
	}
}

func TestLease(t *testing.T) {
	testRows(t, []row{
		{"valid", lease(179 * time.Second), []string{"note|lease|cp1|`bulkhead install` or `bulkhead uninstall` runs now"}},
		{"expired", lease(181 * time.Second), []string{"soon|lease|cp1|the Lease bulkhead-installer of an interrupted run"}},
	})
}

func TestWhatCannotBeReadIsNotHealthy(t *testing.T) {
	c := newTestCluster(t)
	c.denied = []string{"nodes"}
	r := c.run(t)
	if len(r.Findings) != 1 || !r.Findings[0].NotChecked || r.Healthy() {
		t.Fatalf("findings are %q, want one that was not checked", lines(r))
	}
	for _, id := range []string{"hosts", "kubelets", "audit", "objects"} {
		if !slices.Contains(r.Findings[0].Names, id) {
			t.Errorf("%s is not among the checks that were not done: %v", id, r.Findings[0].Names)
		}
	}
	for _, denied := range []string{"leases", "certificatesigningrequests", "clusterrolebindings"} {
		c := newTestCluster(t)
		c.denied = []string{denied}
		if r := c.run(t); r.Healthy() || !strings.Contains(strings.Join(lines(r), "\n"), "not checked: ") {
			t.Errorf("%s denied: findings are %q", denied, lines(r))
		}
	}
}

func TestServerThatDoesNotAnswerIsAnError(t *testing.T) {
	c := newTestCluster(t)
	c.version = ""
	if _, err := Run(t.Context(), c.options()); err == nil || !strings.Contains(err.Error(), "connection refused; check") {
		t.Errorf("error is %v", err)
	}
}

func TestChecksHaveIDsAndTexts(t *testing.T) {
	seen := map[string]error{}
	for _, c := range Checks() {
		if seen[c.ID] != nil || c.ID == "" || c.Description == "" || c.Means == "" || c.run == nil {
			t.Errorf("check %q is incomplete, or there twice", c.ID)
		}
		seen[c.ID] = errors.New("seen")
	}
}
