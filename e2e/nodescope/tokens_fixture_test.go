// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package nodescope_test

import (
	"cmp"
	"context"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	. "github.com/bulkhead-k8s/bulkhead/e2e/framework"
)

// tokensOnDisk prints the UID and the token of each pod on a host whose UID is an argument. It does
// not use the link next to the data directory. With fs.protected_symlinks, the kernel lets no user,
// root included, follow a link in a world-writable directory that another user owns. The exception
// is a link of the directory's owner.
const tokensOnDisk = `for uid in "$@"; do
  for file in /var/lib/kubelet/pods/$uid/volumes/kubernetes.io~projected/kube-api-access-*/..data/token; do
    if test -e "$file"; then echo "$uid $(cat "$file")"; fi
  done
done
`

// steal reads the tokens of running pods from the disks of their nodes, as an attacker on the node
// does. It records the user that the API server authenticates each token as.
//
// Without access to the nodes it requests tokens that are bound to the pods, as a kubelet does.
func steal(ctx context.Context, pods map[string]*corev1.Pod) {
	GinkgoHelper()
	if suite.Host.Missing() != "" {
		requestTokens(ctx, pods)
		return
	}
	for _, node := range []string{suite.Worker, suite.ControlPlane} {
		names := map[types.UID]string{}
		var uids []string
		for name, pod := range pods {
			if uid := stage.UIDs[name]; pod.Spec.NodeName == node && *pod.Spec.AutomountServiceAccountToken {
				names[uid], uids = name, append(uids, string(uid))
			}
		}
		if len(uids) == 0 {
			continue
		}
		found := must(suite.Host.Run(ctx, node, "set -- "+strings.Join(uids, " ")+"\n"+tokensOnDisk))
		for line := range strings.Lines(found) {
			uid, token, _ := strings.Cut(strings.TrimSpace(line), " ")
			stage.Bearers[names[types.UID(uid)]] = must(suite.ReadToken(ctx, token))
			delete(names, types.UID(uid))
		}
		Expect(names).To(BeEmpty(), "pods whose tokens are not on the disk of %s", node)
	}
}

func requestTokens(ctx context.Context, pods map[string]*corev1.Pod) {
	GinkgoHelper()
	for name, pod := range pods {
		if !*pod.Spec.AutomountServiceAccountToken {
			continue
		}
		request := &authenticationv1.TokenRequest{}
		request.Spec.BoundObjectRef = &authenticationv1.BoundObjectReference{
			APIVersion: "v1", Kind: "Pod", Name: pod.Name, UID: stage.UIDs[name],
		}
		account := cmp.Or(pod.Spec.ServiceAccountName, "default")
		made := must(suite.Client.CoreV1().ServiceAccounts(pod.Namespace).CreateToken(ctx, account, request,
			metav1.CreateOptions{}))
		stage.Bearers[name] = must(suite.ReadToken(ctx, made.Status.Token))
	}
}

// actor returns an identity. A spec calls it when it runs.
type actor func() *Identity

// podOf returns the identity with the token of a pod of the stage.
func podOf(name string) actor {
	return func() *Identity {
		GinkgoHelper()
		return suite.AsBearer(bearerOf(name))
	}
}

func bearerOf(name string) Bearer {
	GinkgoHelper()
	b, ok := stage.Bearers[name]
	Expect(ok).To(BeTrue(), "there is no pod %s with a token", name)
	return b
}

// forged returns an identity with the changed claims of an agent's token, by impersonation as the
// administrator.
func forged(changed change) actor {
	return func() *Identity {
		GinkgoHelper()
		return suite.AsForged(changed(bearerOf(agent)))
	}
}
