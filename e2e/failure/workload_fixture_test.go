// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package failure_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/bulkhead-k8s/bulkhead/components/nodescope"
	"github.com/bulkhead-k8s/bulkhead/e2e/fixtures"
	. "github.com/bulkhead-k8s/bulkhead/e2e/framework"
)

const (
	// scopedAccount has a node scope.
	scopedAccount = "scoped"
	// shell is the container in which a command runs.
	shell = "shell"
	// tokenLife is longer than the longest disruption.
	tokenLife = 6 * time.Hour
	// stateOfScopes is the config map where scope-sync records which scopes are in force.
	stateOfScopes = "bulkhead-node-scope"
)

// workload is what runs in the cluster during all disruptions: a pod with a secret on each node, and
// a pod with a node scope on the worker.
type workload struct {
	own, other, scoped *corev1.Pod
	// kubelet is the worker's kubelet, with its own certificate. pod has the token of scoped.
	kubelet, pod, admin *Identity
	// worker and controlPlane are the ports of the kubelets, server is that of the API server.
	worker, controlPlane, server *Port
}

// startWorkload creates the workload until the end of the container whose BeforeAll calls this.
func startWorkload(ctx context.Context) *workload {
	GinkgoHelper()
	env := suite.Env()
	namespace := env.Namespace(ctx)
	ownSecret, otherSecret := fixtures.Secret(namespace, "mine"), fixtures.Secret(namespace, "another")
	account := fixtures.ServiceAccount(namespace, scopedAccount)
	account.Annotations = map[string]string{nodescope.ScopeAnnotation: "pods, nodes"}
	env.Put(ctx, ownSecret, otherSecret, account)
	env.Grant(ctx, "system:serviceaccount:"+namespace+":"+scopedAccount,
		rbacv1.PolicyRule{Verbs: []string{"list"}, APIGroups: []string{""}, Resources: []string{"pods"}},
		rbacv1.PolicyRule{Verbs: []string{"patch"}, APIGroups: []string{""}, Resources: []string{"nodes"}})
	w := &workload{
		own: env.Pod(ctx, suite.Worker, fixtures.WithSecret(ownSecret.Name),
			fixtures.WithShell(shell, "while true; do sleep 1; done")),
		other:  env.Pod(ctx, suite.ControlPlane, fixtures.WithSecret(otherSecret.Name)),
		scoped: env.Pod(ctx, suite.Worker, fixtures.As(scopedAccount)),
	}
	for _, pod := range []*corev1.Pod{w.own, w.other, w.scoped} {
		Eventually(ctx, phaseOf(pod)).WithTimeout(2 * PodStart).WithPolling(time.Second).Should(Equal(corev1.PodRunning))
	}
	w.findCallers(ctx)
	Eventually(ctx, func() (bool, error) { return scopeInForce(ctx, namespace, scopedAccount) }).
		WithTimeout(2 * time.Minute).WithPolling(time.Second).Should(BeTrue())
	return w
}

// findCallers finds the credentials and the ports of the workload.
func (w *workload) findCallers(ctx context.Context) {
	GinkgoHelper()
	var err error
	w.admin = suite.AsAdmin()
	w.kubelet, err = suite.RealKubelet(ctx, suite.Worker)
	Expect(err).NotTo(HaveOccurred())
	request := fixtures.TokenRequest(w.scoped)
	request.Spec.ExpirationSeconds = ptr.To(int64(tokenLife.Seconds()))
	token, err := suite.Client.CoreV1().ServiceAccounts(w.scoped.Namespace).CreateToken(ctx, scopedAccount,
		&authenticationv1.TokenRequest{Spec: request.Spec}, metav1.CreateOptions{})
	Expect(err).NotTo(HaveOccurred())
	bearer, err := suite.ReadToken(ctx, token.Status.Token)
	Expect(err).NotTo(HaveOccurred())
	w.pod = suite.AsBearer(bearer)
	w.worker, err = suite.KubeletPort(ctx, suite.Worker)
	Expect(err).NotTo(HaveOccurred())
	w.controlPlane, err = suite.KubeletPort(ctx, suite.ControlPlane)
	Expect(err).NotTo(HaveOccurred())
	w.server, err = suite.ServerPort()
	Expect(err).NotTo(HaveOccurred())
}

// probes returns a probe for every kind of call, and for every attack. They have not started.
func (w *workload) probes() []*probe {
	GinkgoHelper()
	admin, err := w.admin.Caller()
	Expect(err).NotTo(HaveOccurred())
	kubelet, err := w.kubelet.Caller()
	Expect(err).NotTo(HaveOccurred())
	pods, exec := Calling(http.MethodGet, "/pods"), fmt.Sprintf("/api/v1/namespaces/%s/pods/%s/exec?container=%s&"+
		"command=true&stdout=true", w.own.Namespace, w.own.Name, shell)
	on := func(node string) Request { return List(api.Pods).Where("spec.nodeName=" + node) }
	all := []*probe{
		{name: string(kubeletReads), send: sending(w.kubelet, secretOf(w.own))},
		{name: string(kubeletWrites), send: sending(w.kubelet, messageOf(w.own))},
		{name: string(scopedReads), send: sending(w.pod, on(suite.Worker))},
		{name: string(adminReads), send: sending(w.admin, GetPath("/api/v1/namespaces/kube-system"))},
		{name: string(adminExec), send: executing(w.server, admin, exec)},

		{name: "kubelet reads the secret of another node's pod", attack: true, denied: "[NA-SECRET-1]",
			send: sending(w.kubelet, secretOf(w.other))},
		{name: "kubelet writes the status of another node's pod", attack: true,
			send: sending(w.kubelet, messageOf(w.other))},
		{name: "kubelet sets a label of its Node that only administrators may set", attack: true, denied: "[NR-LABEL-2]",
			send: sending(w.kubelet, labelling(suite.Worker, "table"))},
		{name: "scoped pod lists the pods of another node", attack: true, denied: "[NS-POD-1]",
			send: sending(w.pod, on(suite.ControlPlane))},
		{name: "scoped pod changes the taints of its node", attack: true, denied: "[NR-NODE-4]",
			send: sending(w.pod, taintOf(suite.Worker))},
		{name: "anonymous user lists the pods of a kubelet", attack: true,
			send: calling(w.worker, Anonymous(), pods)},
		{name: "kubelet lists the pods of another kubelet", attack: true, denied: "[KA-",
			send: calling(w.controlPlane, kubelet, pods)},
	}
	for _, p := range all {
		p.calls.Name, p.calls.Attack = p.name, p.attack
	}
	return all
}

// secretOf reads the secret that a pod mounts.
func secretOf(pod *corev1.Pod) Request {
	for _, volume := range pod.Spec.Volumes {
		if volume.Secret != nil {
			return Get(api.Secrets).In(pod.Namespace).Named(volume.Secret.SecretName)
		}
	}
	Fail("the pod has no secret")
	return Request{}
}

// taintOf adds a taint to a Node.
func taintOf(node string) Request {
	return Patch(api.Nodes).Named(node).With(map[string]any{"spec": map[string]any{"taints": []any{
		map[string]any{"key": "e2e.bulkhead.dev/taint", "effect": corev1.TaintEffectNoExecute}}}})
}

// scopeInForce reports whether scope-sync has recorded that the account's scope is in force on every
// host.
func scopeInForce(ctx context.Context, namespace, account string) (bool, error) {
	config, err := suite.Client.CoreV1().ConfigMaps(metav1.NamespaceSystem).Get(ctx, stateOfScopes, metav1.GetOptions{})
	if err != nil || len(config.Data) == 0 {
		return false, err
	}
	for host, text := range config.Data {
		var record struct {
			Accounts map[string]map[string][]string `json:"accounts"`
		}
		if err := json.Unmarshal([]byte(text), &record); err != nil {
			return false, fmt.Errorf("reading the scopes of %s: %w", host, err)
		}
		if !slices.Contains(record.Accounts["live"][namespace], account) {
			return false, nil
		}
	}
	return true, nil
}

// restarts returns how often the containers of the workload on the worker were restarted.
func (w *workload) restarts(ctx context.Context) (int32, error) {
	var all int32
	for _, pod := range []*corev1.Pod{w.own, w.scoped} {
		got, err := suite.Client.CoreV1().Pods(pod.Namespace).Get(ctx, pod.Name, metav1.GetOptions{})
		if err != nil {
			return 0, err
		}
		for _, status := range got.Status.ContainerStatuses {
			all += status.RestartCount
		}
	}
	return all, nil
}
