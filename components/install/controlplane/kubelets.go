// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package controlplane

import (
	"cmp"
	"context"
	"errors"
	"os"
	"path"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/bulkhead-k8s/bulkhead/components/install/apiserver"
	"github.com/bulkhead-k8s/bulkhead/components/install/engine"
	"github.com/bulkhead-k8s/bulkhead/components/install/host"
	"github.com/bulkhead-k8s/bulkhead/components/install/pki"
	"github.com/bulkhead-k8s/bulkhead/components/install/scope"
)

const (
	// kubeadmKubeletClient is the user name of kubeadm's kube-apiserver at kubelets
	// (cmd/kubeadm/app/constants APIServerKubeletClientCertCommonName).
	kubeadmKubeletClient = "kube-apiserver-kubelet-client"
	// kubeletClientRole is bound to that user.
	kubeletClientRole = "bulkhead:kube-apiserver-kubelet-client"
)

// planKubelets finds the user name of kube-apiserver at kubelets, and whether kube-apiserver can
// require serving certificates of the cluster from them. Once kube-apiserver requires them, this
// stays, even if a kubelet is unreachable. An installation that only audits does not require them:
// a kubelet without one, such as that of a new node, would lose its logs.
func (p *plan) planKubelets(ctx context.Context, server *apiserver.Manifest) error {
	p.kubeletClient = KubeletClient(p.Layout, server)
	if !p.GuardsKubelets() || p.NodesOnly || p.Extensions.AuditOnly {
		return nil
	}
	if p.before != nil && p.before.VerifyKubelets {
		p.record.VerifyKubelets = true
		return nil
	}
	p.unserved = errors.New("no kubelet has been checked")
	if p.Kubelets != nil {
		p.unserved = p.Kubelets(ctx)
	}
	p.record.VerifyKubelets = p.unserved == nil
	return ctx.Err()
}

// printNodes prints what to do next on the nodes.
func (p *plan) printNodes() {
	if !p.GuardsKubelets() || p.record.VerifyKubelets {
		return
	}
	if p.Extensions.AuditOnly {
		p.Logf("Mode audit: requests that Bulkhead would deny are only reported.\n" +
			"On the host of every node, one after the other, as root: bulkhead node install\n" +
			"After a week, on this host, as root: bulkhead audit -o installation >enforce.yaml, and check each setting in it." +
			"\nThen, on every control-plane host: bulkhead install --config=enforce.yaml, and on every node bulkhead node " +
			"install again")
		return
	}
	p.Logf("kube-apiserver accepts any serving certificate of a kubelet until all kubelets have one of the cluster:\n%v\n"+
		"On the host of every node, one after the other, as root: bulkhead node install\n"+
		"Then run this again. Until then those kubelets are not protected.\n"+
		"`bulkhead kubelet-access` lists the access that users lose by it. To leave it out: bulkhead install "+
		"--kubelet-api=false",
		p.unserved)
}

// KubeletClient returns the common name in --kubelet-client-certificate. If the file cannot be read
// on this host, it returns kubeadm's default.
func KubeletClient(l host.Layout, server *apiserver.Manifest) string {
	file, _ := server.Arg("kubelet-client-certificate")
	if name, ok := strings.CutPrefix(file, "/etc/kubernetes/pki/"); ok {
		file = path.Join(l.KubePKI, name)
	}
	data, err := os.ReadFile(file) //nolint:gosec // the path is kube-apiserver's own flag
	if err != nil {
		return kubeadmKubeletClient
	}
	cert, err := pki.ParseCert(data)
	if err != nil {
		return kubeadmKubeletClient
	}
	return cmp.Or(cert.Subject.CommonName, kubeadmKubeletClient)
}

// objects returns Bulkhead's API objects for this cluster.
func (p *plan) objects() ([]*unstructured.Unstructured, error) {
	objects, err := apiObjects()
	if err != nil {
		return nil, err
	}
	if p.NodeScope.On {
		scope, err := scope.Objects(p.NodeScope)
		if err != nil {
			return nil, err
		}
		objects = append(objects, scope...)
	}
	if !p.GuardsKubelets() {
		return objects, nil
	}
	guard, err := guardObjects()
	if err != nil {
		return nil, err
	}
	objects = append(objects, guard...)
	for _, object := range guard {
		if object.GetKind() != "ClusterRoleBinding" || object.GetName() != kubeletClientRole {
			continue
		}
		subjects, _, err := unstructured.NestedSlice(object.Object, "subjects")
		if err != nil {
			return nil, err
		}
		for _, s := range subjects {
			if subject, ok := s.(map[string]any); ok {
				subject["name"] = p.kubeletClient
			}
		}
		if err := unstructured.SetNestedSlice(object.Object, subjects, "subjects"); err != nil {
			return nil, err
		}
	}
	return objects, nil
}

// nodesOnlySteps are the steps that `bulkhead node install` depends on.
func (p *plan) nodesOnlySteps() []engine.Step {
	return []engine.Step{
		{Name: "make certificates", Apply: p.makeCertificates},
		{Name: "apply the components' RBAC", Apply: p.applyRBAC},
		{Name: "open namespace kube-system to mirror pods", Apply: p.openNamespace},
		{Name: "run the certificate renewal (static pod)", Apply: p.runCerts},
		{Name: "run the approver of kubelets' serving certificates (static pod)", Apply: p.runApprover},
		{Name: "run kubelet-auth-proxy on the nodes (DaemonSet)", Apply: p.runProxy},
	}
}

func (p *plan) runApprover(ctx context.Context) (bool, error) {
	if p.approverPod == nil {
		return p.journal.RemoveFile(p.Layout.KubeletApproverManifest())
	}
	return p.runHelper(ctx, p.Layout.KubeletApproverManifest(), p.approverPod, ApproverContainer,
		"kubelets get no serving certificate until it runs")
}
