// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package approving

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	certificatesv1 "k8s.io/api/certificates/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
)

func ask(t *testing.T, name, node, dns string) *certificatesv1.CertificateSigningRequest {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	der, err := x509.CreateCertificateRequest(rand.Reader, &x509.CertificateRequest{
		Subject:  pkix.Name{CommonName: "system:node:" + node, Organization: []string{"system:nodes"}},
		DNSNames: []string{dns},
	}, key)
	if err != nil {
		t.Fatal(err)
	}
	return &certificatesv1.CertificateSigningRequest{ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: certificatesv1.CertificateSigningRequestSpec{
			Request:    pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE REQUEST", Bytes: der}),
			SignerName: certificatesv1.KubeletServingSignerName, Username: "system:node:" + node,
			Groups: []string{"system:nodes"},
			Usages: []certificatesv1.KeyUsage{certificatesv1.UsageDigitalSignature, certificatesv1.UsageServerAuth},
		}}
}

func nodeCalled(name string) *corev1.Node {
	return &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}, Status: corev1.NodeStatus{
		Addresses: []corev1.NodeAddress{{Type: corev1.NodeHostName, Address: name}},
	}}
}

// certificate is the API server's serving certificate.
func certificate(context.Context, string) (*x509.Certificate, error) {
	return &x509.Certificate{DNSNames: []string{"kubernetes", "api.example"}}, nil
}

// withApprover runs an approver until test returns.
func withApprover(t *testing.T, client *fake.Clientset, test func(*testing.T)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- (&Approver{Client: client, Serving: certificate}).Run(ctx) }()
		time.Sleep(10 * time.Second)
		test(t)
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
}

func approvals(t *testing.T, client *fake.Clientset, name string) int {
	t.Helper()
	request, err := client.CertificatesV1().CertificateSigningRequests().Get(t.Context(), name, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	count := 0
	for _, c := range request.Status.Conditions {
		if c.Type == certificatesv1.CertificateApproved {
			count++
		}
	}
	return count
}

func TestOnlyItsOwnNameIsApproved(t *testing.T) {
	client := fake.NewClientset(nodeCalled("worker-1"), ask(t, "own", "worker-1", "worker-1"),
		ask(t, "other", "worker-1", "worker-2"))
	withApprover(t, client, func(t *testing.T) {
		if own, other := approvals(t, client, "own"), approvals(t, client, "other"); own != 1 || other != 0 {
			t.Errorf("own %d, other %d", own, other)
		}
	})
}

func TestALateAddressIsSeenWithinAMinute(t *testing.T) {
	client := fake.NewClientset(ask(t, "early", "worker-1", "worker-1"))
	withApprover(t, client, func(t *testing.T) {
		if got := approvals(t, client, "early"); got != 0 {
			t.Errorf("approved before the Node is there: %d", got)
		}
		if _, err := client.CoreV1().Nodes().Create(t.Context(), nodeCalled("worker-1"), metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
		time.Sleep(resync + time.Second)
		if got := approvals(t, client, "early"); got != 1 {
			t.Errorf("afterwards: %d", got)
		}
	})
}

func TestAnAPIServerThatIsAwayIsAskedAgain(t *testing.T) {
	client := fake.NewClientset(nodeCalled("worker-1"), ask(t, "own", "worker-1", "worker-1"))
	failures := 3
	client.PrependReactor("get", "nodes", func(clienttesting.Action) (bool, runtime.Object, error) {
		failures--
		return failures >= 0, nil, errors.New("connection refused")
	})
	withApprover(t, client, func(t *testing.T) {
		if got := approvals(t, client, "own"); got != 1 || failures > 0 {
			t.Errorf("%d approvals with %d failures to come", got, failures)
		}
	})
}

// A CSR for an address that another Node also has is left to an administrator, with one event. It
// is approved after the other Node has lost the address. Meanwhile, CSRs for the node's own names
// are approved.
func TestConflictingAddressNeedsManualApproval(t *testing.T) {
	both := nodeCalled("worker-1")
	both.Status.Addresses = append(both.Status.Addresses,
		corev1.NodeAddress{Type: corev1.NodeInternalDNS, Address: "shared"})
	other := nodeCalled("worker-2")
	other.Status.Addresses = append(other.Status.Addresses,
		corev1.NodeAddress{Type: corev1.NodeInternalDNS, Address: "Shared"})
	client := fake.NewClientset(both, other, ask(t, "own", "worker-1", "worker-1"), ask(t, "taken", "worker-1", "shared"))
	withApprover(t, client, func(t *testing.T) {
		time.Sleep(3 * resync)
		if own, taken := approvals(t, client, "own"), approvals(t, client, "taken"); own != 1 || taken != 0 {
			t.Errorf("own %d, taken %d", own, taken)
		}
		events, err := client.CoreV1().Events("default").List(t.Context(), metav1.ListOptions{})
		if err != nil || len(events.Items) != 1 {
			t.Fatalf("%v, events %v", err, events.Items)
		}
		const want = `Not approved for node worker-1: subjectAltName "shared" is that of another node as well [KA-CSR-1]`
		if e := events.Items[0]; e.Message != want || e.Reason != left || e.Type != corev1.EventTypeWarning || e.Count > 1 ||
			e.InvolvedObject.Name != "taken" {
			t.Errorf("%+v", e)
		}
		if err := client.CoreV1().Nodes().Delete(t.Context(), "worker-2", metav1.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
		time.Sleep(resync + time.Second)
		if taken := approvals(t, client, "taken"); taken != 1 {
			t.Errorf("after the other Node is gone: %d", taken)
		}
	})
}

func TestTheAPIServersNamesAreForControlPlanes(t *testing.T) {
	named := func(name string, labels map[string]string) *corev1.Node {
		node := nodeCalled(name)
		node.Labels = labels
		node.Status.Addresses = append(node.Status.Addresses,
			corev1.NodeAddress{Type: corev1.NodeExternalDNS, Address: "api.example"})
		return node
	}
	for _, tt := range []struct {
		name   string
		labels map[string]string
		want   int
	}{{"a worker", nil, 0}, {"a control plane", map[string]string{"node-role.kubernetes.io/control-plane": ""}, 1}} {
		client := fake.NewClientset(named("node-1", tt.labels), ask(t, "api", "node-1", "api.example"))
		withApprover(t, client, func(t *testing.T) {
			if got := approvals(t, client, "api"); got != tt.want {
				t.Errorf("%s: %d approvals, want %d", tt.name, got, tt.want)
			}
		})
	}
}

// No CSR is approved before all Nodes are known.
func TestNothingIsApprovedBeforeTheNodesAreKnown(t *testing.T) {
	client := fake.NewClientset(nodeCalled("worker-1"), ask(t, "own", "worker-1", "worker-1"))
	var seeing atomic.Bool
	client.PrependReactor("list", "nodes", func(clienttesting.Action) (bool, runtime.Object, error) {
		// For most other errors, client-go sleeps until one interval after the previous error of
		// the process. That error may have a real time, which synthetic time cannot reach.
		return !seeing.Load(), nil, apierrors.NewResourceExpired("away")
	})
	withApprover(t, client, func(t *testing.T) {
		if got := approvals(t, client, "own"); got != 0 {
			t.Errorf("%d approvals", got)
		}
		seeing.Store(true)
		time.Sleep(2 * resync)
		if got := approvals(t, client, "own"); got != 1 {
			t.Errorf("%d approvals when they are known", got)
		}
	})
}
