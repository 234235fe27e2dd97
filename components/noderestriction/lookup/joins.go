// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package lookup

import (
	"context"
	"slices"
	"time"

	certificatesv1 "k8s.io/api/certificates/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apiserver/pkg/authentication/user"

	"github.com/bulkhead-k8s/bulkhead/components/internal/kubeletcertificate"
	"github.com/bulkhead-k8s/bulkhead/components/internal/nodeidentity"
)

// LastJoined implements [noderestriction.Cluster]. It reads the requests for client certificates of
// kubelets, at most [MaxCounted].
func (v *Cluster) LastJoined(ctx context.Context, node string) (time.Time, error) {
	return look(ctx, v, question{kind: "joins", name: node}, func(ctx context.Context) (time.Time, error) {
		return v.findLastJoin(ctx, node)
	})
}

func (v *Cluster) findLastJoin(ctx context.Context, node string) (last time.Time, err error) {
	if err := v.lists.Acquire(ctx, 1); err != nil {
		return time.Time{}, err
	}
	defer v.lists.Release(1)
	signer := fields.OneTermEqualSelector("spec.signerName", certificatesv1.KubeAPIServerClientKubeletSignerName)
	options := metav1.ListOptions{FieldSelector: signer.String(), Limit: pageSize}
	for seen := 0; seen < MaxCounted; seen += pageSize {
		page, err := v.client.CertificatesV1().CertificateSigningRequests().List(ctx, options)
		if err != nil {
			return time.Time{}, withoutStatus(err)
		}
		for i := range page.Items {
			if at := page.Items[i].CreationTimestamp.Time; at.After(last) && joins(&page.Items[i], node) {
				last = at
			}
		}
		if page.Continue == "" {
			return last, nil
		}
		options.Continue = page.Continue
	}
	return time.Time{}, errTooMany
}

// joins reports whether a bootstrapper requested the first certificate of a kubelet of that name, and
// the request was approved. A kubelet renews its certificate as a node.
func joins(asked *certificatesv1.CertificateSigningRequest, node string) bool {
	who := &user.DefaultInfo{Name: asked.Spec.Username, Groups: asked.Spec.Groups}
	isApproval := func(c certificatesv1.CertificateSigningRequestCondition) bool {
		return c.Type == certificatesv1.CertificateApproved && c.Status == corev1.ConditionTrue
	}
	approved := slices.ContainsFunc(asked.Status.Conditions, isApproval)
	if !approved || !nodeidentity.IsBootstrapper(who) {
		return false
	}
	parsed, err := kubeletcertificate.ParseRequest(asked.Spec.Request)
	return err == nil && parsed.Subject.CommonName == nodeidentity.Prefix+node
}
