// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package framework

import (
	"context"
	"encoding/json"

	"github.com/onsi/ginkgo/v2"
	"github.com/onsi/gomega"

	"github.com/bulkhead-k8s/bulkhead/components/why"
)

// WhyKubectlFails runs kubectl as a node on the control-plane host, gives everything that it prints to
// `bulkhead why`, and returns the answer. input is kubectl's standard input. kubectl must fail.
func (s *Suite) WhyKubectlFails(ctx context.Context, node, command, input string) why.Answer {
	ginkgo.GinkgoHelper()
	out := s.OnControlPlane(ctx, `export KUBECONFIG=/etc/kubernetes/admin.conf
printed=$(kubectl --as=system:node:`+node+" --as-group=system:nodes --as-group=system:authenticated "+command+
		" 2>&1 <<'INPUT'\n"+input+`
INPUT
) && exit 1
echo "$printed" >&2
echo "$printed" | bulkhead why -o json - || test $? = 2`)
	var answer why.Answer
	gomega.Expect(json.Unmarshal([]byte(out), &answer)).To(gomega.Succeed(), out)
	return answer
}
