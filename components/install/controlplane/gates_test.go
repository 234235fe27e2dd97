// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package controlplane

import (
	"fmt"
	"strings"
	"testing"

	"github.com/bulkhead-k8s/bulkhead/components/install/apiserver"
	"github.com/bulkhead-k8s/bulkhead/components/install/host"
	"github.com/bulkhead-k8s/bulkhead/components/nodeauthorizer"
)

func TestGatesOf(t *testing.T) {
	features := nodeauthorizer.DefaultFeatures()
	const manifest = `apiVersion: v1
kind: Pod
metadata: {name: kube-apiserver, namespace: kube-system}
spec:
  containers:
  - name: kube-apiserver
    command: [kube-apiserver%s]
`
	for _, tc := range []struct{ name, flag, want string }{
		{"a server without gates has none", "", ""},
		{"gates that change no decision are left out", ", --feature-gates=SidecarContainers=true", ""},
		{"those that do are kept, in one order",
			`, "--feature-gates=PodCertificateRequest=false,X=true,CSIVolumeHealth=true"`,
			"CSIVolumeHealth=true,PodCertificateRequest=false"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			server, err := apiserver.Parse([]byte(fmt.Sprintf(manifest, tc.flag)))
			if err != nil {
				t.Fatal(err)
			}
			if got := gatesOf(server, features.ByGate()); got != tc.want {
				t.Errorf("got %q, want %q", got, tc.want)
			}
			pod, err := nodeAuthorizerPod(host.DefaultLayout(), Options{Profile: Hardened, Image: "i"}, server)
			if err != nil {
				t.Fatal(err)
			}
			if has := strings.Contains(string(pod), "--feature-gates="+tc.want); has != (tc.want != "") {
				t.Errorf("the node authorizer's pod:\n%s", pod)
			}
		})
	}
}
