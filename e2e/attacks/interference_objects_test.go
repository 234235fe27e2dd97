// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package attacks_test

import (
	"fmt"
	"math/rand/v2"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	certificatesv1 "k8s.io/api/certificates/v1"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/e2e-framework/klient/k8s"

	"github.com/bulkhead-k8s/bulkhead/components/nodescope"
	"github.com/bulkhead-k8s/bulkhead/e2e/fixtures"
	. "github.com/bulkhead-k8s/bulkhead/e2e/framework"
)

// unrelatedWords are the names that objects of a round can have. Each gets the suffix of its round,
// because the deletion of a claim can take longer than the round.
var unrelatedWords = []string{
	"accounts", "billing", "cache", "catalogue", "checkout", "config", "data", "database", "frontend", "gateway",
	"inventory", "ledger", "mail", "metrics", "orders", "payments", "proxy", "queue", "reports", "search", "sessions",
	"shipping", "tokens", "users",
}

// namesInRound is how many of the words one round uses.
const namesInRound = 6

// unrelatedGroup is one object, or an account and its pod. A group is created and removed as a whole.
type unrelatedGroup []k8s.Object

func (g unrelatedGroup) String() string {
	var all []string
	for _, object := range g {
		all = append(all, strings.TrimPrefix(fmt.Sprintf("%T %s/%s", object, object.GetNamespace(), object.GetName()), "*"))
	}
	return strings.Join(all, " and ")
}

// unrelatedGenerator chooses objects of other, a node that is not the node under test.
type unrelatedGenerator struct {
	rng              *rand.Rand
	namespace, other string
	names            []string
}

// newGenerator depends only on its arguments, so that a seed repeats each of its rounds.
func newGenerator(seed, round uint64, namespace, other, suffix string) *unrelatedGenerator {
	g := &unrelatedGenerator{rng: rand.New(rand.NewPCG(seed, round)), namespace: namespace, other: other}
	for _, at := range g.rng.Perm(len(unrelatedWords))[:namesInRound] {
		g.names = append(g.names, unrelatedWords[at]+suffix)
	}
	return g
}

func (g *unrelatedGenerator) oneIn(n int) bool { return g.rng.IntN(n) == 0 }
func (g *unrelatedGenerator) name() string     { return g.names[g.rng.IntN(len(g.names))] }

// namedKinds are the kinds of objects that get a name of the round.
var namedKinds = []func(g *unrelatedGenerator, name string) unrelatedGroup{
	func(g *unrelatedGenerator, name string) unrelatedGroup {
		return unrelatedGroup{fixtures.Secret(g.namespace, name)}
	},
	func(g *unrelatedGenerator, name string) unrelatedGroup {
		return unrelatedGroup{fixtures.ConfigMap(g.namespace, name)}
	},
	func(g *unrelatedGenerator, name string) unrelatedGroup {
		return unrelatedGroup{fixtures.Claim(g.namespace, name, name)}
	},
	func(g *unrelatedGenerator, name string) unrelatedGroup {
		return unrelatedGroup{fixtures.Volume(name, g.namespace, name, g.name())}
	},
	func(g *unrelatedGenerator, name string) unrelatedGroup {
		return unrelatedGroup{fixtures.ResourceClaim(g.namespace, name)}
	},
	func(g *unrelatedGenerator, name string) unrelatedGroup {
		return unrelatedGroup{fixtures.VolumeAttachment(name, g.name(), g.other)}
	},
	func(g *unrelatedGenerator, name string) unrelatedGroup {
		return unrelatedGroup{fixtures.ResourceSlice(name, g.other)}
	},
	(*unrelatedGenerator).account,
	(*unrelatedGenerator).signingRequest,
	func(g *unrelatedGenerator, name string) unrelatedGroup { return unrelatedGroup{g.pod(name)} },
}

// groups returns the objects of a round: some with names of the round, and some of the other node.
func (g *unrelatedGenerator) groups() []unrelatedGroup {
	const least, most = 8, 16
	var all []unrelatedGroup
	for _, object := range []k8s.Object{g.node(), fixtures.Lease(fixtures.LeaseNamespace, g.other),
		fixtures.CSINode(g.other)} {
		if g.oneIn(2) {
			all = append(all, unrelatedGroup{object})
		}
	}
	count := least + g.rng.IntN(most-least+1)
	for _, at := range g.rng.Perm(len(namedKinds) * len(g.names))[:count] {
		all = append(all, namedKinds[at/len(g.names)](g, g.names[at%len(g.names)]))
	}
	return all
}

// node is like the Nodes of [Env.Node].
func (g *unrelatedGenerator) node() *corev1.Node {
	node := fixtures.Node(g.other)
	node.Labels = map[string]string{FakeNodeLabel: "true"}
	node.Spec.Unschedulable = true
	node.Spec.Taints = []corev1.Taint{{Key: corev1.TaintNodeNotReady, Effect: corev1.TaintEffectNoSchedule}}
	return node
}

// pod may name objects that do not exist.
func (g *unrelatedGenerator) pod(name string, tweaks ...fixtures.PodTweak) *corev1.Pod {
	return fixtures.Pod(g.namespace, name, g.other, append(tweaks, fixtures.WithSecret(g.name()),
		fixtures.WithConfigMap(g.name()), fixtures.WithClaim(g.name()))...)
}

// account returns an account, with or without a pod and a node scope.
func (g *unrelatedGenerator) account(name string) unrelatedGroup {
	account := fixtures.ServiceAccount(g.namespace, name)
	if g.oneIn(3) {
		account.Annotations = map[string]string{nodescope.ScopeAnnotation: scope}
	}
	if g.oneIn(2) {
		return unrelatedGroup{account}
	}
	return unrelatedGroup{account, g.pod(name+"-agent", fixtures.As(name))}
}

// signingRequest has a signer that no controller serves.
func (g *unrelatedGenerator) signingRequest(name string) unrelatedGroup {
	GinkgoHelper()
	request, _, err := fixtures.SigningRequest(name, fixtures.Signer, certificatesv1.UsageClientAuth,
		fixtures.NodeSubject("system:node:"+g.other))
	Expect(err).NotTo(HaveOccurred())
	return unrelatedGroup{request}
}
