// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package preflight

import (
	"slices"
	"strings"
	"testing"

	"k8s.io/client-go/kubernetes/fake"
)

// guarding returns the input for an installation with kubelet-auth-proxy.
func guarding(server flags, host fakeHost) Input {
	return Input{Client: fake.NewClientset(), Server: server, Host: host, GuardsKubelets: true}
}

func TestAddressesOfKubelets(t *testing.T) {
	const flag = "kubelet-preferred-address-types"
	for _, tt := range []struct {
		name     string
		server   flags
		level    Level
		mentions string
	}{
		{"kubeadm's default", kubeadmFlags(), OK, "InternalIP"},
		{"InternalIP alone", kubeadmFlags(flag, "InternalIP"), OK, "InternalIP"},
		{"Hostname first", kubeadmFlags(flag, "Hostname,InternalIP"), Fail,
			"--" + flag + "=Hostname,InternalIP does not begin with InternalIP"},
		{"ExternalIP first: the remedy is named", kubeadmFlags(flag, "ExternalIP,InternalIP"), Fail,
			"on every control-plane host: --" + flag + "=InternalIP,ExternalIP,Hostname"},
		{"name of a type in lower case", kubeadmFlags(flag, "internalip"), Fail, "does not begin with InternalIP"},
		{"empty list", kubeadmFlags(flag, ""), Fail, "does not begin with InternalIP"},
		{"not set: kube-apiserver's default", without(kubeadmFlags(), flag), Fail,
			"is not set, and kube-apiserver's default begins with Hostname"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			findings, err := compatibilityFindings(t.Context(), guarding(tt.server, fakeHost{}))
			wantOne(t, only(findings, addressCheck), err, tt.level, tt.mentions)
		})
	}
}

func TestCAOfKubelets(t *testing.T) {
	const flag = "kubelet-certificate-authority"
	other := kubeadmFlags(flag, "/other/ca.crt")
	for _, tt := range []struct {
		name     string
		server   flags
		host     fakeHost
		level    Level
		mentions string
	}{
		{"not set", kubeadmFlags(), fakeHost{kubeletCA: "no such file"}, OK, "none"},
		{"empty value", kubeadmFlags(flag, ""), fakeHost{kubeletCA: "no such file"}, OK, "none"},
		{"file with the cluster's CA", other, fakeHost{}, OK, "/other/ca.crt contains the cluster's CA"},
		{"file without it", other, fakeHost{kubeletCA: "it has another CA"}, Fail,
			"--" + flag + "=/other/ca.crt: it has another CA at /host/other/ca.crt"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			findings, err := compatibilityFindings(t.Context(), guarding(tt.server, tt.host))
			wantOne(t, only(findings, kubeletCACheck), err, tt.level, tt.mentions)
		})
	}
}

// kube-apiserver loses the kubelets in every mode, so mode audit does not make the FAIL a WARN.
func TestFlagsForKubeletsFailInAudit(t *testing.T) {
	for _, check := range []string{addressCheck, kubeletCACheck} {
		for _, audit := range []bool{true, false} {
			in := guarding(kubeadmFlags("kubelet-preferred-address-types", "Hostname", "kubelet-certificate-authority", "/ca"),
				fakeHost{kubeletCA: "it has another CA"})
			in.AuditOnly = audit
			findings, err := compatibilityFindings(t.Context(), in)
			wantOne(t, only(findings, check), err, Fail, "")
			in.Accepted = []string{strings.ReplaceAll(check, " ", "-")}
			findings, err = compatibilityFindings(t.Context(), in)
			wantOne(t, only(findings, check), err, Warn, "")
			if strings.HasPrefix(only(findings, check)[0].Detail, "before mode enforce") {
				t.Errorf("%s stops in mode audit, too: %v", check, findings)
			}
			if !slices.Contains(Acceptable(), in.Accepted[0]) {
				t.Errorf("--ignore-preflight-errors does not accept %q", in.Accepted[0])
			}
		}
	}
}

func TestFlagsForKubeletsAreNotCheckedWithoutTheProxy(t *testing.T) {
	in := guarding(kubeadmFlags("kubelet-preferred-address-types", "Hostname", "kubelet-certificate-authority", "/ca"),
		fakeHost{kubeletCA: "it has another CA"})
	in.GuardsKubelets = false
	findings, err := compatibilityFindings(t.Context(), in)
	if err != nil || len(only(findings, addressCheck))+len(only(findings, kubeletCACheck)) > 0 {
		t.Errorf("got %v, %v", findings, err)
	}
}
