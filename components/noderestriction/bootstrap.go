// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package noderestriction

import (
	"context"
	"errors"
	"fmt"
	"strings"

	certificatesv1 "k8s.io/api/certificates/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apiserver/pkg/admission"

	"github.com/bulkhead-k8s/bulkhead/components/internal/kubeletcertificate"
	"github.com/bulkhead-k8s/bulkhead/components/internal/nodeidentity"
	"github.com/bulkhead-k8s/bulkhead/components/rules"
)

var (
	bootstrapSigner = rules.Rule{
		ID: "NR-BOOT-1",
		Description: "A user in system:bootstrappers requests certificates only from the signer " +
			"kubernetes.io/kube-apiserver-client-kubelet.",
		Source: "Bulkhead: a kubelet that joins requests no other certificate; " +
			"the ClusterRole system:node-bootstrapper allows a request to every signer",
		Extension: true,
		Optional:  true,
	}
	bootstrapCertificate = rules.Rule{
		ID: "NR-BOOT-2",
		Description: "A user in system:bootstrappers requests only a kubelet's client certificate: subject O=system:nodes " +
			"and CN=system:node:<valid node name>, nothing else, no subjectAltNames and no other extensions.",
		Source:    "Bulkhead: upstream leaves it to the approver; pkg/apis/certificates/helpers.go ValidateKubeletClientCSR",
		Extension: true,
		Optional:  true,
	}
	bootstrapFreeName = rules.Rule{
		ID:          "NR-BOOT-3",
		Description: "A user in system:bootstrappers requests no certificate for the name of an existing Node.",
		Source: "Bulkhead: upstream lets every bootstrap token have the certificate of every node, the control " +
			"plane's too",
		Extension: true,
		Optional:  true,
	}
	bootstrapAllowedName = rules.Rule{
		ID: "NR-BOOT-4",
		Description: "If the configuration has bootstrapNodeNames, a user in system:bootstrappers requests a " +
			"certificate only for a node name that it lists for the user or for one of the user's groups.",
		Source:    "Bulkhead: docs/configuration.md",
		Extension: true,
		Optional:  true,
	}
)

var bootstrapRules = []rules.Rule{bootstrapSigner, bootstrapCertificate, bootstrapFreeName, bootstrapAllowedName}

// reviewBootstrapper decides on a write of a user who is not a node. The only write with rules is
// the creation of a CertificateSigningRequest by a user in system:bootstrappers.
func (r *Restriction) reviewBootstrapper(ctx context.Context, a admission.Attributes) rules.Decision {
	if a.GetOperation() != admission.Create || resourceKindOf(a.GetResource()) != ofCertificateSigningRequests ||
		!nodeidentity.IsBootstrapper(a.GetUserInfo()) {
		return rules.Decision{Effect: rules.Allow}
	}
	q := request{Attributes: a}
	if r.config.Configuration != nil {
		q.configuration = r.config.Configuration()
	}
	return q.decision(r.reviewBootstrapRequest(ctx, &q))
}

// reviewBootstrapRequest reads from the cluster last, because the other rules need no API call.
func (r *Restriction) reviewBootstrapRequest(ctx context.Context, q *request) *rules.Decision {
	asked, ok := typed[certificatesv1.CertificateSigningRequest](q.GetObject())
	if !ok {
		return r.optional(q, bootstrapSigner, func() *rules.Decision { return q.unexpected(bootstrapSigner, q.GetObject()) })
	}
	if asked.Spec.SignerName != certificatesv1.KubeAPIServerClientKubeletSignerName {
		return r.optional(q, bootstrapSigner, func() *rules.Decision { return q.otherBootstrapSigner(asked.Spec.SignerName) })
	}
	name, err := bootstrapNodeName(&asked.Spec)
	for _, check := range []struct {
		by   rules.Rule
		free func() *rules.Decision
	}{
		{bootstrapCertificate, func() *rules.Decision { return nil }},
		{bootstrapAllowedName, func() *rules.Decision { return q.checkBootstrapName(name) }},
		{bootstrapFreeName, func() *rules.Decision { return r.checkFreeName(ctx, q, name) }},
	} {
		refused := r.optional(q, check.by, func() *rules.Decision {
			if err != nil {
				// Each rule fails closed by itself, because the others may be off.
				return q.forbid(check.by, err.Error())
			}
			return check.free()
		})
		if refused != nil {
			return refused
		}
	}
	return nil
}

func (q *request) otherBootstrapSigner(signer string) *rules.Decision {
	return q.forbid(bootstrapSigner,
		fmt.Sprintf("user %q can only request certificates from the signer %s, not from %.253q",
			q.GetUserInfo().GetName(), certificatesv1.KubeAPIServerClientKubeletSignerName, signer))
}

// bootstrapNodeName returns the node name in a request for a kubelet's client certificate. The
// error says how the request differs from the request of a kubelet.
func bootstrapNodeName(asked *certificatesv1.CertificateSigningRequestSpec) (string, error) {
	parsed, err := kubeletcertificate.ParseRequest(asked.Request)
	if err != nil {
		return "", fmt.Errorf("unable to parse csr: %w", err)
	}
	name, isNode := strings.CutPrefix(parsed.Subject.CommonName, nodeidentity.Prefix)
	if wrong := validation.IsDNS1123Subdomain(name); !isNode || len(wrong) > 0 {
		return "", errors.New("subject common name is not system:node: and a valid node name")
	}
	if problem := kubeletcertificate.SubjectProblem(parsed, name); problem != "" {
		return "", errors.New(problem)
	}
	if !kubeletcertificate.UsedFor(certificatesv1.UsageClientAuth, asked.Usages) {
		return "", errors.New("usages must be digital signature, client auth and, for an RSA key, key encipherment")
	}
	if len(parsed.Extensions) > 0 {
		return "", errors.New("subjectAltNames and other extensions are not allowed")
	}
	return name, nil
}

// checkBootstrapName compares the name with the operator's list.
func (q *request) checkBootstrapName(name string) *rules.Decision {
	who := q.GetUserInfo()
	if q.configuration.AllowsBootstrap(who.GetName(), who.GetGroups(), name) {
		return nil
	}
	return q.forbid(bootstrapAllowedName,
		fmt.Sprintf("bootstrapNodeNames in the configuration does not allow the node name %q for user %q",
			name, who.GetName()))
}

// checkFreeName reads the Node from the API server and not from a cache, so that a Node created
// just now counts.
func (r *Restriction) checkFreeName(ctx context.Context, q *request, name string) *rules.Decision {
	switch _, err := r.config.Cluster.Node(ctx, name); {
	case err == nil:
		return q.forbid(bootstrapFreeName,
			fmt.Sprintf("node %q exists: its kubelet renews the certificate with the one that it has; "+
				"if that is lost, an administrator deletes the Node first", name))
	case apierrors.IsNotFound(err):
		return nil
	default:
		return q.raw(bootstrapFreeName, err)
	}
}
