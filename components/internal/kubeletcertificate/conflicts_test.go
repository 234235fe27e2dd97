// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package kubeletcertificate

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// known implements Others with fixed answers: by address, the Node or the Service that has it.
type known struct {
	nodes, services map[string]string
	apiServer       []string
	// fails is the lookup that returns an error.
	fails string
	asked []string
}

func (k *known) ask(question string) error {
	k.asked = append(k.asked, question)
	if question == k.fails {
		return errors.New("timeout")
	}
	return nil
}

func (k *known) NodeWith(_ context.Context, address, but string) (string, error) {
	if owner := k.nodes[address]; owner != but {
		return owner, k.ask("node " + address)
	}
	return "", k.ask("node " + address)
}

func (k *known) ServiceWith(_ context.Context, ip string) (string, error) {
	return k.services[ip], k.ask("service " + ip)
}

func (k *known) APIServer(context.Context) ([]string, error) { return k.apiServer, k.ask("api server") }

func nodeCalled(name string, labels ...string) *corev1.Node {
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{}}}
	for _, label := range labels {
		node.Labels[label] = ""
	}
	return node
}

func asking(names ...string) *x509.CertificateRequest {
	request := &x509.CertificateRequest{}
	for _, name := range names {
		if ip := net.ParseIP(name); ip != nil {
			request.IPAddresses = append(request.IPAddresses, ip)
			continue
		}
		request.DNSNames = append(request.DNSNames, name)
	}
	return request
}

func TestConflictProblem(t *testing.T) {
	const label = " and node %q has no label node-role.kubernetes.io/control-plane"
	for _, tt := range []struct {
		name   string
		node   *corev1.Node
		asks   []string
		others known
		want   string
	}{
		{"its own", nodeCalled("me"), []string{"me", "10.0.0.1"},
			known{nodes: map[string]string{"me": "me", "10.0.0.1": "me"}}, ""},
		{"another's address", nodeCalled("me"), []string{"10.0.0.1"}, known{nodes: map[string]string{"10.0.0.1": "other"}},
			`subjectAltName "10.0.0.1" is that of another node as well`},
		{"another's name", nodeCalled("me"), []string{"other"}, known{nodes: map[string]string{"other": "other"}},
			`subjectAltName "other" is that of another node as well`},
		{"own name that another Node also claims", nodeCalled("me"), []string{"me"},
			known{nodes: map[string]string{"me": "other"}}, ""},
		{"an address that it is called like, and another has", nodeCalled("10.0.0.1"), []string{"10.0.0.1"},
			known{nodes: map[string]string{"10.0.0.1": "other"}}, `subjectAltName "10.0.0.1" is that of another node as well`},
		{"own node name is an IP address that no other Node has", nodeCalled("10.0.0.1"), []string{"10.0.0.1"},
			known{nodes: map[string]string{"10.0.0.1": "10.0.0.1"}}, ""},
		{"a cluster IP", nodeCalled("me"), []string{"10.96.0.1"},
			known{services: map[string]string{"10.96.0.1": "Service default/kubernetes"}},
			"subjectAltName 10.96.0.1 is the cluster IP of Service default/kubernetes"},
		{"a cluster IP, for a control plane", nodeCalled("me", ControlPlaneLabel), []string{"10.96.0.1"},
			known{services: map[string]string{"10.96.0.1": "Service default/kubernetes"}},
			"subjectAltName 10.96.0.1 is the cluster IP of Service default/kubernetes"},
		{"an endpoint", nodeCalled("me"), []string{"10.0.0.1"}, known{apiServer: []string{"10.0.0.1"}},
			`subjectAltName "10.0.0.1" is the API server's,` + fmt.Sprintf(label, "me")},
		{"an endpoint, for a control plane", nodeCalled("me", ControlPlaneLabel), []string{"10.0.0.1"},
			known{apiServer: []string{"10.0.0.1"}}, ""},
		{"its own name, which is the API server's", nodeCalled("me"), []string{"me"}, known{apiServer: []string{"me"}},
			`subjectAltName "me" is the API server's,` + fmt.Sprintf(label, "me")},
		{"its own name, which is the API server's, for a control plane", nodeCalled("me", ControlPlaneLabel), []string{"me"},
			known{apiServer: []string{"me"}}, ""},
		{"another control plane's, for a control plane", nodeCalled("me", ControlPlaneLabel), []string{"10.0.0.2"},
			known{apiServer: []string{"10.0.0.2"}, nodes: map[string]string{"10.0.0.2": "cp-2"}},
			`subjectAltName "10.0.0.2" is that of another node as well`},
		{"an old label of control planes", nodeCalled("me", "node-role.kubernetes.io/master"), []string{"10.0.0.1"},
			known{apiServer: []string{"10.0.0.1"}}, `subjectAltName "10.0.0.1" is the API server's,` + fmt.Sprintf(label, "me")},
		{"in the dress of IPv6", nodeCalled("me"), []string{"::ffff:10.0.0.1"}, known{apiServer: []string{"10.0.0.1"}},
			`subjectAltName "10.0.0.1" is the API server's,` + fmt.Sprintf(label, "me")},
	} {
		got, err := ConflictProblem(t.Context(), asking(tt.asks...), tt.node, &tt.others)
		if err != nil || got != tt.want {
			t.Errorf("%s: %q, %v; want %q", tt.name, got, err, tt.want)
		}
	}
}

// A failed lookup does not mean that an address is free.
func TestConflictProblemAfterFailedLookup(t *testing.T) {
	everything := &known{}
	if problem, err := ConflictProblem(t.Context(), asking("spare", "10.0.0.1"), nodeCalled("me"),
		everything); problem != "" || err != nil || len(everything.asked) != 4 {
		t.Fatalf("%q, %v, asked %q", problem, err, everything.asked)
	}
	for _, question := range everything.asked {
		problem, err := ConflictProblem(t.Context(), asking("spare", "10.0.0.1"), nodeCalled("me"), &known{fails: question})
		if err == nil || problem != "" {
			t.Errorf("%s is not answered: %q, %v", question, problem, err)
		}
	}
}

// The number of lookups is bounded.
func TestTooManyNames(t *testing.T) {
	many := &x509.CertificateRequest{}
	for i := range MaxNames {
		many.DNSNames = append(many.DNSNames, fmt.Sprint("node-", i))
	}
	if problem := NamesProblem(many); problem != "" {
		t.Errorf("%d names: %s", MaxNames, problem)
	}
	many.IPAddresses = []net.IP{net.IPv4(10, 0, 0, 1)}
	if problem := NamesProblem(many); problem != "more than 64 subjectAltNames are not allowed" {
		t.Errorf("one more: %q", problem)
	}
}
