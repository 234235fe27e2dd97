// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package bench

import (
	"context"
	"crypto/x509"
	"encoding/pem"
	"fmt"

	certificatesv1 "k8s.io/api/certificates/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/authentication/user"

	"github.com/bulkhead-k8s/bulkhead/components/noderestriction"
	"github.com/bulkhead-k8s/bulkhead/components/noderestriction/againstupstream/sides"
	"github.com/bulkhead-k8s/bulkhead/components/noderestriction/againstupstream/world"
)

// Case is one write, with the answer that both sides have to give.
type Case struct {
	// Family is the rules that decide, Name what is written.
	Family, Name string
	Admitted     bool
	write        *world.Write
}

// Me is the node that writes.
var Me = &user.DefaultInfo{Name: "system:node:" + me, Groups: []string{user.NodesGroup, user.AllAuthenticated}}

// write is one of the node me. The resource is in full: plural.version.group.
func write(op admission.Operation, resource, subresource string, object, old runtime.Object) *world.Write {
	parsed, _ := schema.ParseResourceArg(resource)
	w := &world.Write{User: Me, Operation: op, Resource: *parsed, Subresource: subresource, Object: object, Old: old, Defaulted: true}
	for _, o := range []runtime.Object{object, old} {
		if accessor, err := meta.Accessor(o); err == nil {
			w.Namespace, w.Name = accessor.GetNamespace(), accessor.GetName()
		}
	}
	return w
}

func admitted(family, name string, w *world.Write) Case { return Case{family, name, true, w} }
func refused(family, name string, w *world.Write) Case  { return Case{family, name, false, w} }

// Timed is a case ready to be asked about.
type Timed struct {
	Case
	// Ours and Upstream answer once; Hardened is ours with the rules beyond upstream.
	Ours, Hardened, Upstream func() (admitted bool)
	// besides does once what both sides do alike: it asks for the objects that Ours asks
	// for, and decodes what is in the object once more.
	besides func() bool
}

func newPair() (*sides.Pair, error) {
	pair, err := sides.NewPair(map[string]bool{"CSIVolumeHealth": true})
	if err != nil {
		return nil, err
	}
	return pair, pair.Show(newWorld())
}

// Hardened is our policy with all optional rules enforced, in the world of the cases.
func Hardened() (*noderestriction.Restriction, error) {
	pair, err := newPair()
	if err != nil {
		return nil, err
	}
	return pair.Hardened(), nil
}

// Prepare has both sides look at the same world, and fails if one answers otherwise
// than it has to.
func Prepare(cases []Case) ([]Timed, error) {
	pair, err := newPair()
	if err != nil {
		return nil, err
	}
	ctx, ours, hardened := context.Background(), pair.Restriction(), pair.Hardened()
	timed := make([]Timed, 0, len(cases))
	for _, c := range cases {
		asked, err := sides.Ask(c.write, nil)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", c.Name, err)
		}
		t := Timed{
			Case:     c,
			Ours:     func() bool { return ours.Review(ctx, asked.Ours).Allowed() },
			Hardened: func() bool { return hardened.Review(ctx, asked.Ours).Allowed() },
			Upstream: func() bool { return pair.Admit(ctx, asked.Upstream) == nil },
			besides:  besides(pair.Lookups(ctx, asked.Ours), c.write.Object),
		}
		if t.Ours() != c.Admitted || t.Upstream() != c.Admitted {
			return nil, fmt.Errorf("%s, %s: ours: %v, upstream: %v", c.Family, c.Name, pair.Ours(ctx, asked.Ours), pair.Upstream(ctx, asked.Upstream))
		}
		timed = append(timed, t)
	}
	return timed, nil
}

// besides looks up, and decodes a request for a certificate as both sides do.
func besides(lookUp func() bool, object runtime.Object) func() bool {
	asked, isRequest := object.(*certificatesv1.CertificateSigningRequest)
	if !isRequest {
		return lookUp
	}
	return func() bool {
		block, _ := pem.Decode(asked.Spec.Request)
		_, err := x509.ParseCertificateRequest(block.Bytes)
		return lookUp() && err == nil
	}
}
