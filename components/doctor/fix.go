// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package doctor

import (
	"context"
	"errors"
	"fmt"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	coordinationclient "k8s.io/client-go/kubernetes/typed/coordination/v1"

	"github.com/bulkhead-k8s/bulkhead/components/install/hosts"
)

// Fix is a repair that is safe without access to a host. It can be applied twice.
type Fix struct {
	Name string
	// Steps say what Apply does, one line each.
	Steps []string
	// Apply does nothing, and returns an error, if the cluster has changed since the check.
	Apply func(context.Context) error
}

// The fixes.
const (
	fixLease   = "lease"
	fixObjects = "objects"
)

// FixNames are the names of all fixes.
var FixNames = []string{fixLease, fixObjects}

// leaseClient is the part of a client that the Lease needs.
type leaseClient interface {
	CoordinationV1() coordinationclient.CoordinationV1Interface
}

// expired is true once a Lease is over for as long as it was valid. The clocks of the host and of this
// machine can differ a little.
func expired(lease *coordinationv1.Lease, now time.Time) bool {
	end, known := hosts.LeaseEnd(lease, now)
	return known && now.After(end.Add(end.Sub(lease.Spec.RenewTime.Time)))
}

// leaseFix deletes a Lease that no installer renews. If its installer runs after all, without a
// connection to the API, it creates the Lease again.
func leaseFix(client leaseClient, lease *coordinationv1.Lease, now func() time.Time) *Fix {
	return &Fix{Name: fixLease, Steps: []string{"delete Lease kube-system/" + lease.Name + ", which has expired"},
		Apply: func(ctx context.Context) error {
			if !expired(lease, now()) {
				return errors.New("cannot delete the Lease: it is valid")
			}
			uid, version := lease.UID, lease.ResourceVersion
			err := client.CoordinationV1().Leases(metav1.NamespaceSystem).Delete(ctx, lease.Name, metav1.DeleteOptions{
				Preconditions: &metav1.Preconditions{UID: &uid, ResourceVersion: &version}})
			if err != nil && !apierrors.IsNotFound(err) {
				return fmt.Errorf("cannot delete Lease %s: %w; run `bulkhead doctor` again", lease.Name, err)
			}
			return nil
		}}
}

// objectsFix applies objects as `bulkhead install` does.
type objectsFix struct {
	server Server
	wanted []*unstructured.Unstructured
}

func (o *objectsFix) fix(client leaseClient, now func() time.Time) *Fix {
	f := &Fix{Name: fixObjects, Apply: func(ctx context.Context) error { return o.apply(ctx, client, now()) }}
	for _, object := range o.wanted {
		f.Steps = append(f.Steps, fmt.Sprintf("apply %s %s, as `bulkhead install` writes it", object.GetKind(),
			object.GetName()))
	}
	return f
}

// apply does nothing while an installer runs: that may be another version, or an uninstallation.
func (o *objectsFix) apply(ctx context.Context, client leaseClient, now time.Time) error {
	lease, err := readLease(ctx, client)
	if err != nil {
		return err
	}
	if lease != nil {
		if end, known := hosts.LeaseEnd(lease, now); known && now.Before(end) {
			return errors.New("cannot apply objects: `bulkhead install` or `bulkhead uninstall` runs now; run this again when " +
				"it has ended")
		}
	}
	for _, object := range o.wanted {
		if err := o.server.Apply(ctx, object); err != nil {
			return fmt.Errorf("cannot apply %s %s: %w; run `bulkhead install` on a control-plane host", object.GetKind(),
				object.GetName(), err)
		}
	}
	return nil
}
