// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package node

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/fake"

	"github.com/bulkhead-k8s/bulkhead/components/install/host"
	"github.com/bulkhead-k8s/bulkhead/components/install/pki"
)

const ourConfigz = `{"kubeletconfig":{"address":"127.0.0.1","serverTLSBootstrap":true,
"authorization":{"mode":"Webhook"},
"authentication":{"anonymous":{"enabled":false},"webhook":{"enabled":false},"x509":{"clientCAFile":"/ours.crt"}}}}`

// testKubelet is a kubelet API with the cluster's CA, and the client certificate of its proxy.
type testKubelet struct {
	address string
	client  pki.Pair
	roots   *x509.CertPool
}

// serveKubelet answers a client with a certificate with configz and the status shown. It answers a
// client without a certificate with the status none.
func serveKubelet(t *testing.T, configz string, shown, none int) testKubelet {
	t.Helper()
	dir := t.TempDir()
	cluster, former := host.PairIn(dir, "cluster"), host.PairIn(dir, "former")
	serving, client := host.PairIn(dir, "serving"), host.PairIn(dir, "client")
	for _, ca := range []pki.Pair{cluster, former} {
		_, err := pki.EnsureCA(ca, "ca", time.Now())
		must(t, err)
	}
	_, err := pki.Rotator{Policy: pki.Policy{Validity: time.Hour, RenewBefore: time.Minute}, Now: time.Now,
		Leaves: []pki.Leaf{
			{Name: "serving", Pair: serving, Signer: cluster, CommonName: "system:node:worker-1",
				Usage: x509.ExtKeyUsageServerAuth, Mode: 0o600},
			{Name: "client", Pair: client, Trust: client.CertFile + ".trust", CommonName: host.KubeletProxyUser,
				Usage: x509.ExtKeyUsageClientAuth, Mode: 0o600},
		}}.Renew(true)
	must(t, err)
	certificate, err := tls.LoadX509KeyPair(serving.CertFile, serving.KeyFile)
	must(t, err)
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if len(r.TLS.PeerCertificates) == 0 {
			w.WriteHeader(none)
			return
		}
		w.WriteHeader(shown)
		_, _ = fmt.Fprint(w, configz)
	}))
	// A kubelet may still send the list of authorities that it read at its start.
	server.TLS = &tls.Config{
		Certificates: []tls.Certificate{certificate}, ClientAuth: tls.RequestClientCert, ClientCAs: pool(t, former.CertFile),
		MinVersion: tls.VersionTLS12,
	}
	server.StartTLS()
	t.Cleanup(server.Close)
	return testKubelet{server.Listener.Addr().String(), client, pool(t, cluster.CertFile)}
}

func pool(t *testing.T, file string) *x509.CertPool {
	t.Helper()
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(read(t, file)) {
		t.Fatal("no certificate")
	}
	return roots
}

func TestClosed(t *testing.T) {
	for _, tc := range []struct {
		name, configz string
		shown, none   int
		kubelet       string
		mentions      string
	}{
		{"configured kubelet", ourConfigz, 200, 401, "worker-1", ""},
		{"kubelet answers without authentication", ourConfigz, 200, 200, "worker-1", "answers 200, not 401"},
		{"it does not let the proxy in", "Forbidden (user=…)", 403, 401, "worker-1", "has `bulkhead install` run"},
		{"it does not know the proxy", "Unauthorized", 401, 401, "worker-1", "answers the proxy 401"},
		{"another kubelet", ourConfigz, 200, 401, "worker-2", `is that of "system:node:worker-1"`},
		{"it takes tokens", strings.Replace(ourConfigz, `"webhook":{"enabled":false}`, `"webhook":{"enabled":true}`, 1), 200,
			401, "worker-1", "another authentication.webhook"},
		{"it listens everywhere", strings.Replace(ourConfigz, "127.0.0.1", "0.0.0.0", 1), 200, 401, "worker-1",
			"another address"},
		{"it trusts another CA", strings.Replace(ourConfigz, "/ours.crt", "/etc/kubernetes/pki/ca.crt", 1), 200, 401,
			"worker-1", "another authentication.x509.clientCAFile"},
		{"kubelet without webhook authorization",
			strings.Replace(ourConfigz, "Webhook", "AlwaysAllow", 1), 200, 401, "worker-1",
			"another authorization.mode"},
		{"response that is not JSON", "{", 200, 401, "worker-1", "reading the kubelet's /configz"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			k := serveKubelet(t, tc.configz, tc.shown, tc.none)
			err := closed(t.Context(), k.address, k.client, expected{LoopbackDeny, "/ours.crt"}, k.roots,
				"system:node:"+tc.kubelet)
			if (err == nil) != (tc.mentions == "") || err != nil && !strings.Contains(err.Error(), tc.mentions) {
				t.Errorf("error is %v, want %q", err, tc.mentions)
			}
		})
	}
}

// With LoopbackAllow, the node's own configuration decides about tokens, anonymous requests and
// authorization.
func TestClosedWithLoopbackClients(t *testing.T) {
	own := strings.NewReplacer(`"enabled":false`, `"enabled":true`, "Webhook", "AlwaysAllow").Replace(ourConfigz)
	for _, tc := range []struct {
		name, configz string
		shown, none   int
		mentions      string
	}{
		{"kubelet with tokens, anonymous requests and its own authorization: accepted", own, 200, 200, ""},
		{"kubelet as with deny, with the other file: accepted", ourConfigz, 200, 401, ""},
		{"it does not know the proxy", "Unauthorized", 401, 401, "answers the proxy 401"},
		{"it listens everywhere", strings.Replace(own, "127.0.0.1", "0.0.0.0", 1), 200, 401, "another address"},
		{"it trusts another CA", strings.Replace(own, "/ours.crt", "/etc/kubernetes/pki/ca.crt", 1), 200, 401,
			"another authentication.x509.clientCAFile"},
		{"it signs its own serving certificate", strings.Replace(own, `"serverTLSBootstrap":true`,
			`"serverTLSBootstrap":false`, 1), 200, 401, "another serverTLSBootstrap"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			k := serveKubelet(t, tc.configz, tc.shown, tc.none)
			mentions(t, closed(t.Context(), k.address, k.client, expected{LoopbackAllow, "/ours.crt"}, k.roots,
				"system:node:worker-1"), tc.mentions)
		})
	}
}

func TestAccepts(t *testing.T) {
	for _, tc := range []struct {
		name     string
		shown    int
		kubelet  string
		mentions string
	}{
		{"it lets the proxy in", 200, "worker-1", ""},
		{"it knows the proxy, and the API server does not answer it", 500, "worker-1", ""},
		{"it knows the proxy, and the proxy has no right", 403, "worker-1", ""},
		{"it does not know the proxy", 401, "worker-1", "answers 401"},
		{"another kubelet", 200, "worker-2", `is that of "system:node:worker-1"`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			k := serveKubelet(t, "", tc.shown, 401)
			client, err := tls.LoadX509KeyPair(k.client.CertFile, k.client.KeyFile)
			must(t, err)
			mentions(t, accepts(t.Context(), k.address, client, k.roots, "system:node:"+tc.kubelet), tc.mentions)
		})
	}
}

func TestACertificateThatIsNotFromTheClusterIsRefused(t *testing.T) {
	k := serveKubelet(t, ourConfigz, 200, 401)
	err := refused(t.Context(), k.address, servedBy(x509.NewCertPool(), "system:node:worker-1"))
	if err == nil || !strings.Contains(err.Error(), "is not from the cluster") {
		t.Errorf("error is %v", err)
	}
	must(t, refused(t.Context(), k.address, servedBy(k.roots, "system:node:worker-1")))
}

func TestFindPod(t *testing.T) {
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "worker-1"}}
	node.Status.Addresses = []corev1.NodeAddress{{Type: corev1.NodeHostName, Address: "worker-1"},
		{Type: corev1.NodeInternalIP, Address: "192.0.2.1"}}
	bare := &corev1.Node{ObjectMeta: node.ObjectMeta}
	pod := func(change func(*corev1.Pod)) *corev1.Pod {
		pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "kube-system", Name: "proxy", Labels: map[string]string{
			"app.kubernetes.io/name": "kubelet-auth-proxy", "app.kubernetes.io/part-of": "bulkhead",
		}}, Spec: corev1.PodSpec{NodeName: "worker-1"}}
		change(pod)
		return pod
	}
	in := func(state corev1.ContainerState) *corev1.Pod {
		return pod(func(p *corev1.Pod) {
			p.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: "kubelet-auth-proxy", State: state}}
		})
	}
	running := in(corev1.ContainerState{Running: &corev1.ContainerStateRunning{}})
	const address, startsNot = "192.0.2.1:10250", "pod kube-system/proxy does not run: "
	for _, tc := range []struct {
		name   string
		client *fake.Clientset
		want   Proxy
		fails  bool
	}{
		{"pod without a process, after a restart of the host", fake.NewClientset(node, running),
			Proxy{Address: address, Starting: startsNot + "it has no process on this host"}, false},
		{"pod that runs", fake.NewClientset(node, running), Proxy{Address: address}, false},
		{"no pod", fake.NewClientset(node), Proxy{}, false},
		{"pod that ends", fake.NewClientset(node, pod(func(p *corev1.Pod) {
			p.DeletionTimestamp, p.Finalizers = &metav1.Time{Time: time.Now()}, []string{"example.test/wait"}
		})), Proxy{}, false},
		{"Node without an address", fake.NewClientset(bare, running), Proxy{}, true},
		{"pod without a status", fake.NewClientset(node, pod(func(*corev1.Pod) {})),
			Proxy{Address: address, Starting: startsNot + "the kubelet has not reported it yet"}, false},
		{"image that cannot be pulled", fake.NewClientset(node, in(corev1.ContainerState{
			Waiting: &corev1.ContainerStateWaiting{Reason: "ErrImagePull", Message: "no such host"}})),
			Proxy{Address: address, Starting: startsNot + "ErrImagePull: no such host"}, false},
		{"container that is created", fake.NewClientset(node, in(corev1.ContainerState{
			Waiting: &corev1.ContainerStateWaiting{Reason: "ContainerCreating"}})),
			Proxy{Address: address, Starting: startsNot + "ContainerCreating"}, false},
		{"container that ended", fake.NewClientset(node, in(corev1.ContainerState{
			Terminated: &corev1.ContainerStateTerminated{ExitCode: 1, Reason: "Error"}})),
			Proxy{Address: address, Starting: startsNot + "it ended with code 1: Error"}, false},
		{"pod of an older version, which waits for the kubelet", fake.NewClientset(node, pod(func(p *corev1.Pod) {
			p.Spec.Volumes = []corev1.Volume{{Name: "kubelet-has-moved"}}
		})), Proxy{Address: address}, false},
		{"pod with the value of the cluster", fake.NewClientset(node, pod(func(p *corev1.Pod) {
			p.Annotations, p.Status = map[string]string{"bulkhead.dev/loopback-clients": "allow"}, running.Status
		})), Proxy{Address: address, LoopbackClients: LoopbackAllow}, false},
		{"pod of another node with another value", fake.NewClientset(node, pod(func(p *corev1.Pod) {
			p.Spec.NodeName, p.Annotations = "worker-2", map[string]string{"bulkhead.dev/loopback-clients": "allow"}
		})), Proxy{}, false},
	} {
		got, err := findPod(t.Context(), tc.client, "worker-1", !strings.Contains(tc.want.Starting, "no process"))
		if got != tc.want || (err != nil) != tc.fails {
			t.Errorf("%s: %+v, %v", tc.name, got, err)
		}
	}
}
