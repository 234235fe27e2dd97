// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package crawler_test

import (
	"context"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/rand"

	"github.com/bulkhead-k8s/bulkhead/components/nodescope"
	"github.com/bulkhead-k8s/bulkhead/e2e/fixtures"
	. "github.com/bulkhead-k8s/bulkhead/e2e/framework"
)

// Accounts of the stage.
const (
	// app and elsewhere have no rights, like most applications. Pods of app are on the worker, pods
	// of elsewhere on the other node.
	app       = fixtures.Account
	elsewhere = "app-elsewhere"
	// idle has no pod.
	idle = "idle"
	// collector is like a DaemonSet that collects logs: it has a pod on both nodes, and its owner
	// has annotated it for node scope.
	collector = "log-collector"
	// scraper is like metrics-server. Its pod is on the other node, and sends its token to the
	// kubelet of the worker.
	scraper = "scraper"
	// tenant has the ClusterRole edit in the stage's namespace, and no other right.
	tenant = "tenant"
	// minter may create tokens of every ServiceAccount, and is annotated for node scope.
	minter = "token-minter"
)

const (
	// foreign is an audience other than the API server's.
	foreign = "e2e.bulkhead.dev/vault"
	// scopeTimeout bounds how long node scope may take to apply to an annotated account.
	scopeTimeout = time.Minute
)

// The names of the objects of each node, and of objects without a node.
const (
	ofOwnNode   = "ours"
	ofOtherNode = "theirs"
	unused      = "unused"
)

// stage holds the objects that the suite creates in its own namespace, so that an object of each
// kind exists.
type stage struct {
	namespace string
	// pods are by name. nodes are the worker and the other node.
	pods  map[string]*corev1.Pod
	nodes map[relation]*corev1.Node
	// scoped is true where node scope is installed.
	scoped bool
	// bootstrap is a bootstrap token.
	bootstrap string
}

func right(verbs, resources string) rbacv1.PolicyRule {
	return rbacv1.PolicyRule{APIGroups: []string{""}, Verbs: strings.Fields(verbs), Resources: strings.Fields(resources)}
}

// setStage makes the stage and waits until all of its pods run.
func setStage(ctx context.Context, e *Env) stage {
	GinkgoHelper()
	st := stage{
		namespace: e.Namespace(ctx), pods: map[string]*corev1.Pod{}, nodes: map[relation]*corev1.Node{},
		bootstrap: rand.String(6) + "." + rand.String(16),
	}
	installed, err := suite.ReadInstallation(ctx)
	Expect(err).NotTo(HaveOccurred())
	st.scoped = installed.NodeScope.On
	for _, name := range []string{elsewhere, idle, collector, scraper, tenant, minter} {
		account := fixtures.ServiceAccount(st.namespace, name)
		if name == collector || name == minter {
			account.Annotations = map[string]string{nodescope.ScopeAnnotation: "pods, nodes"}
		}
		e.Put(ctx, account)
	}
	e.Grant(ctx, st.user(collector), right("get list watch", "pods"), right("get", "nodes"), right("list", "services"))
	e.Grant(ctx, st.user(scraper), right("get", "nodes/metrics"), right("get list watch", "pods nodes"))
	e.Grant(ctx, st.user(minter), right("create", "serviceaccounts/token"))
	e.Put(ctx, st.editing(tenant), joiningToken(st.bootstrap), service(st.namespace))
	st.store(ctx, e, unused)
	st.furnish(ctx, e, own, suite.Worker, ofOwnNode, app)
	st.furnish(ctx, e, other, suite.ControlPlane, ofOtherNode, elsewhere)
	st.requestCertificates(ctx, e)
	st.put(ctx, e, unused, "", fixtures.As(idle), fixtures.Unscheduled)
	// Events of kubelets are invalid in the newer API group, and an invalid object does not reach
	// admission. These events are valid in both groups, and come first.
	e.Put(ctx, fixtures.NewEventAbout(st.pods[ofOwnNode], "0-"+ofOwnNode, suite.Worker),
		fixtures.NewEventAbout(st.pods[ofOtherNode], "0-"+ofOtherNode, suite.ControlPlane),
		fixtures.NewEventAbout(st.pods[unused], "0-"+unused, missingName))
	st.put(ctx, e, scraper, suite.ControlPlane, fixtures.As(scraper), fixtures.WithAccount,
		fixtures.WithShell(scraper, scrape(ctx)))
	st.put(ctx, e, tenant, suite.Worker, fixtures.As(tenant), fixtures.WithAccount)
	st.put(ctx, e, minter, suite.Worker, fixtures.As(minter), fixtures.WithAccount)
	st.await(ctx)
	return st
}

// editing gives an account of the stage the ClusterRole edit in the stage's namespace.
func (st stage) editing(account string) *rbacv1.RoleBinding {
	binding := &rbacv1.RoleBinding{
		Subjects: []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: st.namespace, Name: account}},
		RoleRef:  rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "edit"},
	}
	binding.Namespace, binding.Name = st.namespace, account
	return binding
}

// joiningToken returns a bootstrap token as `kubeadm token create` makes it. The token that kind
// leaves on each node expires after a day.
func joiningToken(token string) *corev1.Secret {
	id, value, _ := strings.Cut(token, ".")
	secret := fixtures.Secret(metav1.NamespaceSystem, "bootstrap-token-"+id)
	secret.Type = corev1.SecretTypeBootstrapToken
	secret.StringData = map[string]string{
		"token-id": id, "token-secret": value, "usage-bootstrap-authentication": "true",
		"auth-extra-groups": "system:bootstrappers:kubeadm:default-node-token",
		"expiration":        time.Now().Add(time.Hour).UTC().Format(time.RFC3339),
	}
	return secret
}

func (st stage) user(account string) string {
	return "system:serviceaccount:" + st.namespace + ":" + account
}

// furnish creates one object of every kind that a pod on the node can use.
func (st stage) furnish(ctx context.Context, e *Env, whose relation, node, name, account string) {
	GinkgoHelper()
	volume := st.store(ctx, e, name)
	e.Put(ctx, fixtures.VolumeAttachment(e.NewName("attachment"), volume, node),
		fixtures.ResourceSlice(e.NewName("slice"), node))
	st.put(ctx, e, name, node, fixtures.As(account), fixtures.WithAccount, fixtures.WithSecret(name),
		fixtures.WithConfigMap(name),
		fixtures.WithClaim(name), fixtures.WithTokenFor(foreign))
	st.put(ctx, e, collector+"-"+name, node, fixtures.As(collector), fixtures.WithAccount)
	var err error
	st.nodes[whose], err = suite.Client.CoreV1().Nodes().Get(ctx, node, metav1.GetOptions{})
	Expect(err).NotTo(HaveOccurred())
	its, err := suite.Client.CoreV1().ServiceAccounts(st.namespace).Get(ctx, account, metav1.GetOptions{})
	Expect(err).NotTo(HaveOccurred())
	request, err := fixtures.PodCertificateRequest(e.NewName("certificate"), st.pods[name], its, st.nodes[whose])
	Expect(err).NotTo(HaveOccurred())
	e.Put(ctx, request)
}

// store creates what a pod can mount, and returns the volume's name. The volume needs no driver, so
// that the pod starts.
func (st stage) store(ctx context.Context, e *Env, name string) string {
	GinkgoHelper()
	volume := fixtures.Volume(e.NewName(name), st.namespace, name, name)
	volume.Spec.PersistentVolumeSource = corev1.PersistentVolumeSource{
		HostPath: &corev1.HostPathVolumeSource{Path: "/var/tmp"},
	}
	e.Put(ctx, volume, fixtures.Claim(st.namespace, name, volume.Name), fixtures.Secret(st.namespace, name),
		fixtures.ConfigMap(st.namespace, name))
	return volume.Name
}

// put creates a pod. The node of an unscheduled pod is empty.
func (st stage) put(ctx context.Context, e *Env, name, node string, tweaks ...fixtures.PodTweak) {
	GinkgoHelper()
	pod := fixtures.Pod(st.namespace, name, node, tweaks...)
	e.Put(ctx, pod)
	st.pods[name] = pod
}

// service returns a service without endpoints.
func service(namespace string) *corev1.Service {
	service := &corev1.Service{Spec: corev1.ServiceSpec{Ports: []corev1.ServicePort{{Port: 80}}}}
	service.Namespace, service.Name = namespace, "nobody"
	return service
}

// scrape returns a script that does what metrics-server does: it repeatedly sends its token to a
// kubelet.
func scrape(ctx context.Context) string {
	GinkgoHelper()
	port, err := suite.KubeletPort(ctx, suite.Worker)
	Expect(err).NotTo(HaveOccurred())
	return `while :; do curl --silent --insecure --max-time 10 --output /dev/null --write-out 'answered %{http_code}\n' \
  --header "Authorization: Bearer $(cat /var/run/secrets/kubernetes.io/serviceaccount/token)" ` +
		`https://` + port.Address + `/metrics/resource; sleep 1; done`
}

// await waits until the pods run, the kubelet has answered the scraper, and node scope applies to
// the annotated accounts, where it is installed.
func (st stage) await(ctx context.Context) {
	GinkgoHelper()
	Eventually(ctx, func() ([]string, error) {
		list, err := suite.Client.CoreV1().Pods(st.namespace).List(ctx, metav1.ListOptions{})
		var waiting []string
		for _, pod := range list.Items {
			if pod.Spec.NodeName != "" && pod.Status.Phase != corev1.PodRunning {
				waiting = append(waiting, pod.Name+": "+string(pod.Status.Phase))
			}
		}
		return waiting, err
	}).WithTimeout(2 * PodStart).WithPolling(500 * time.Millisecond).Should(BeEmpty())
	Eventually(ctx, func() (string, error) {
		log, err := suite.Client.CoreV1().Pods(st.namespace).GetLogs(scraper, &corev1.PodLogOptions{}).DoRaw(ctx)
		return string(log), err
	}).WithTimeout(PodStart).WithPolling(500*time.Millisecond).Should(ContainSubstring("answered 200"),
		"the scraper reads the worker's metrics")
	if !st.scoped {
		return
	}
	// Wait until node scope knows the annotations, which takes seconds by design. Before that, no
	// status shows that it applies to the account.
	for account, pod := range map[string]*corev1.Pod{collector: st.pods[collector+"-"+ofOwnNode],
		minter: st.pods[minter]} {
		bearer, err := suite.ReadToken(ctx, tokenOf(ctx, suite.Worker, pod))
		Expect(err).NotTo(HaveOccurred())
		Eventually(ctx, func() (string, error) {
			_, message, err := suite.AsBearer(bearer).Send(ctx, List(api.Pods))
			return message, err
		}).WithTimeout(scopeTimeout).WithPolling(500*time.Millisecond).Should(ContainSubstring("[NS-"),
			"node scope denies requests of "+account)
	}
}
