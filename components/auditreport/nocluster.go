// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package auditreport

import (
	"context"
	"errors"
	"time"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/bulkhead-k8s/bulkhead/components/noderestriction"
)

// noCluster knows nothing of the cluster. A rule that needs a lookup gets an error, and is not among
// [withoutLookup].
type noCluster struct {
	// uid is the UID of every Node.
	uid string
}

var errNoCluster = errors.New("an audit log does not show the cluster")

// Node returns a Node with the UID that the mirror pod names, so that NR-POD-2 checks all else.
func (c noCluster) Node(_ context.Context, name string) (*corev1.Node, error) {
	return &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID(c.uid)}}, nil
}

// History returns no taint. An error would end the checks of a new Node early.
func (noCluster) History(context.Context, string) (noderestriction.NodeHistory, error) {
	return noderestriction.NodeHistory{}, nil
}

func (noCluster) Pod(context.Context, string, string) (*corev1.Pod, error) { return nil, errNoCluster }

func (noCluster) Namespace(context.Context, string) (*corev1.Namespace, error) {
	return nil, errNoCluster
}

func (noCluster) ServiceAccount(context.Context, string, string) (*corev1.ServiceAccount, error) {
	return nil, errNoCluster
}

func (noCluster) PersistentVolumeClaim(context.Context, string, string) (*corev1.PersistentVolumeClaim, error) {
	return nil, errNoCluster
}

func (noCluster) PersistentVolume(context.Context, string) (*corev1.PersistentVolume, error) {
	return nil, errNoCluster
}

func (noCluster) PodsOn(context.Context, string) ([]*corev1.Pod, error) { return nil, errNoCluster }

func (noCluster) CSIDriver(context.Context, string) (*storagev1.CSIDriver, error) {
	return nil, errNoCluster
}

func (noCluster) BoundTo(context.Context, string, string, types.UID) (string, error) {
	return "", errNoCluster
}

func (noCluster) Count(context.Context, noderestriction.Counted, string, int) (int, error) {
	return 0, errNoCluster
}

func (noCluster) PoolUser(context.Context, string, string, string) (string, error) {
	return "", errNoCluster
}

func (noCluster) SigningRequests(string, noderestriction.Signers, int, bool) int { return 0 }

func (noCluster) AddressOwner(context.Context, string, string) (string, error) {
	return "", errNoCluster
}

func (noCluster) ServiceWith(context.Context, string) (string, error) { return "", errNoCluster }

func (noCluster) APIServer(context.Context) ([]string, error) { return nil, errNoCluster }

func (noCluster) LastReported(context.Context, string) (noderestriction.Reported, error) {
	return noderestriction.Reported{}, errNoCluster
}

func (noCluster) LastJoined(context.Context, string) (time.Time, error) {
	return time.Time{}, errNoCluster
}

func (noCluster) ProviderIDOwner(context.Context, string, string) (string, error) {
	return "", errNoCluster
}
