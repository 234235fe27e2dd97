// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package kubeletauth_test

import (
	"context"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	corev1 "k8s.io/api/core/v1"

	"github.com/bulkhead-k8s/bulkhead/e2e/fixtures"
	. "github.com/bulkhead-k8s/bulkhead/e2e/framework"
)

// Files in a pod of [newInsider]: its token for the API server, which every pod has by default, and its
// token for kubelets.
const (
	tokenFile        = "/var/run/secrets/kubernetes.io/serviceaccount/token"
	kubeletTokenFile = "/token/token"
)

// insider is a pod on the [target], with the credentials of its own service account.
type insider struct {
	pod *corev1.Pod
	// own has the pod's token for the API server. forKubelets has its token for kubelets.
	own, forKubelets Caller
}

// newInsider starts a pod of a new service account with only these rights. Both tokens are read in the
// pod.
func newInsider(ctx context.Context, has rights) insider {
	GinkgoHelper()
	made := account(ctx)
	i := insider{pod: running(ctx, suite.Env().Pod(ctx, target(), fixtures.As(made.Name), fixtures.WithAccount,
		fixtures.WithTokenFor(kubeletAudience), withShell(tickScript)))}
	i.own = Account(made.Namespace, made.Name, i.read(ctx, tokenFile))
	i.forKubelets = Account(made.Namespace, made.Name, i.read(ctx, kubeletTokenFile))
	if len(has) > 0 {
		suite.Env().Grant(ctx, i.own.User, has...)
	}
	return i
}

// read returns the content of a file in the pod, without spaces at its ends.
func (i insider) read(ctx context.Context, file string) string {
	GinkgoHelper()
	return strings.TrimSpace(must(suite.Exec(ctx, i.pod, "/bin/cat", file)))
}

// to returns the port with connections that leave from the pod.
func (i insider) to(port *Port) *Port { return port.From(suite.FromPodTo(i.pod, port.Address)) }

// identity returns the pod's account for requests to the API server, which leave from the pod.
func (i insider) identity(ctx context.Context) *Identity {
	GinkgoHelper()
	return suite.AsBearer(must(suite.ReadToken(ctx, i.own.Token))).From(suite.FromPod(i.pod))
}
