// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package noderestriction

import (
	"context"
	"errors"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/authentication/user"

	"github.com/bulkhead-k8s/bulkhead/components/rules"
)

// fakeCluster is a Cluster of maps, by name or by namespace/name. What is not in a
// map is not found.
type fakeCluster struct {
	nodes           map[string]*corev1.Node
	pods            map[string]*corev1.Pod
	namespaces      map[string]*corev1.Namespace
	serviceAccounts map[string]*corev1.ServiceAccount
	claims          map[string]*corev1.PersistentVolumeClaim
	volumes         map[string]*corev1.PersistentVolume
	drivers         map[string]*storagev1.CSIDriver
	boundTo         map[types.UID]string
	counts          map[counted]int
	// signing counts only where a test has made the map.
	signing map[askedOf]int
	// addresses are the names of the nodes that have them.
	addresses map[string]string
	// services have cluster IPs, and apiServer is what the API server is reached at.
	services  map[string]string
	apiServer []string
	// pools are the users of a driver and a pool.
	pools    map[string]string
	memories map[string]Memory
	reported map[string]Reported
	// claimErr and poolErr, if they are set, are the answers about claims and pools.
	claimErr, poolErr error
	// err, if it is set, is the answer to everything.
	err error
}

// askedOf is what one node has asked of some signers.
type askedOf struct {
	node string
	of   Signers
}

// counted is what one node has of one kind.
type counted struct {
	what Counted
	node string
}

func find[T any](c *fakeCluster, objects map[string]*T, group, resource, key string) (*T, error) {
	if c.err != nil {
		return nil, c.err
	}
	if found := objects[key]; found != nil {
		return found, nil
	}
	name := key[strings.LastIndexByte(key, '/')+1:]
	return nil, apierrors.NewNotFound(schema.GroupResource{Group: group, Resource: resource}, name)
}

func (c *fakeCluster) Node(_ context.Context, name string) (*corev1.Node, error) {
	return find(c, c.nodes, "", "nodes", name)
}

func (c *fakeCluster) Pod(_ context.Context, namespace, name string) (*corev1.Pod, error) {
	return find(c, c.pods, "", "pods", namespace+"/"+name)
}

func (c *fakeCluster) Namespace(_ context.Context, name string) (*corev1.Namespace, error) {
	return find(c, c.namespaces, "", "namespaces", name)
}

func (c *fakeCluster) ServiceAccount(_ context.Context, namespace, name string) (*corev1.ServiceAccount, error) {
	return find(c, c.serviceAccounts, "", "serviceaccounts", namespace+"/"+name)
}

func (c *fakeCluster) PersistentVolumeClaim(_ context.Context, namespace, name string) (*corev1.PersistentVolumeClaim, error) {
	if c.claimErr != nil {
		return nil, c.claimErr
	}
	return find(c, c.claims, "", "persistentvolumeclaims", namespace+"/"+name)
}

func (c *fakeCluster) PersistentVolume(_ context.Context, name string) (*corev1.PersistentVolume, error) {
	return find(c, c.volumes, "", "persistentvolumes", name)
}

func (c *fakeCluster) CSIDriver(_ context.Context, name string) (*storagev1.CSIDriver, error) {
	return find(c, c.drivers, "storage.k8s.io", "csidrivers", name)
}

func (c *fakeCluster) BoundTo(_ context.Context, namespace, name string, uid types.UID) (string, error) {
	if c.err != nil {
		return "", c.err
	}
	if node, known := c.boundTo[uid]; known {
		return node, nil
	}
	if pod := c.pods[namespace+"/"+name]; pod != nil && pod.UID == uid {
		return pod.Spec.NodeName, nil
	}
	return "", apierrors.NewNotFound(corev1.Resource("pods"), name)
}

// PodsOn are in no order.
func (c *fakeCluster) PodsOn(_ context.Context, node string) (pods []*corev1.Pod, err error) {
	for _, pod := range c.pods {
		if pod.Spec.NodeName == node {
			pods = append(pods, pod)
		}
	}
	return pods, c.err
}

func (c *fakeCluster) PoolUser(_ context.Context, driver, pool, but string) (string, error) {
	if err := errors.Join(c.err, c.poolErr); err != nil {
		return "", err
	}
	if user := c.pools[driver+" "+pool]; user != but {
		return user, nil
	}
	return "", nil
}

func (c *fakeCluster) Count(_ context.Context, what Counted, node string, limit int) (int, error) {
	if c.err != nil {
		return 0, c.err
	}
	return min(c.counts[counted{what, node}], limit), nil
}

// SigningRequests never fails: it is asked of a count that is there.
func (c *fakeCluster) SigningRequests(node string, of Signers, limit int, adds bool) int {
	key := askedOf{node, of}
	n := min(c.signing[key], limit)
	if adds && n < limit && c.signing != nil {
		c.signing[key]++
	}
	return n
}

func (c *fakeCluster) AddressOwner(_ context.Context, address, but string) (string, error) {
	if c.err != nil {
		return "", c.err
	}
	if owner := c.addresses[address]; owner != but {
		return owner, nil
	}
	return "", nil
}

func (c *fakeCluster) ProviderIDOwner(_ context.Context, id, but string) (string, error) {
	if c.err != nil {
		return "", c.err
	}
	for name, node := range c.nodes {
		if name != but && node.Spec.ProviderID == id {
			return name, nil
		}
	}
	return "", nil
}

func (c *fakeCluster) ServiceWith(_ context.Context, ip string) (string, error) {
	return c.services[ip], c.err
}

func (c *fakeCluster) APIServer(context.Context) ([]string, error) { return c.apiServer, c.err }

func (c *fakeCluster) Remembered(_ context.Context, node string) (Memory, error) {
	if c.err != nil {
		return Memory{}, c.err
	}
	return c.memories[node], nil
}

func (c *fakeCluster) LastReported(_ context.Context, node string) (Reported, error) {
	if c.err != nil {
		return Reported{}, c.err
	}
	return c.reported[node], nil
}

// restrict is a Restriction with the gates of 1.37 and no optional rule, unless an
// edit says otherwise.
func restrict(c *fakeCluster, edits ...func(*Config)) *Restriction {
	config := Config{Cluster: c, Features: DefaultFeatures()}
	for _, edit := range edits {
		edit(&config)
	}
	return New(config)
}

// enforce has the given rules refuse.
func enforce(ids ...rules.ID) func(*Config) { return inMode(rules.Enforce, ids...) }

// inMode puts the given rules in a mode.
func inMode(mode rules.Mode, ids ...rules.ID) func(*Config) {
	return func(c *Config) {
		if c.Modes == nil {
			c.Modes = map[rules.ID]rules.Mode{}
		}
		for _, id := range ids {
			c.Modes[id] = mode
		}
	}
}

// attributes are those of a request before it is made.
type attributes struct {
	kind            schema.GroupVersionKind
	resource        schema.GroupVersionResource
	namespace, name string
	dryRun          bool
	user            user.Info
}

// kinds are the resources that write knows by their plural.
var kinds = map[string]schema.GroupVersionKind{
	"pods":                       {Version: "v1", Kind: "Pod"},
	"nodes":                      {Version: "v1", Kind: "Node"},
	"persistentvolumeclaims":     {Version: "v1", Kind: "PersistentVolumeClaim"},
	"serviceaccounts":            {Version: "v1", Kind: "ServiceAccount"},
	"secrets":                    {Version: "v1", Kind: "Secret"},
	"events":                     {Version: "v1", Kind: "Event"},
	"events.events.k8s.io":       {Group: "events.k8s.io", Version: "v1", Kind: "Event"},
	"leases":                     {Group: "coordination.k8s.io", Version: "v1", Kind: "Lease"},
	"csinodes":                   {Group: "storage.k8s.io", Version: "v1", Kind: "CSINode"},
	"resourceslices":             {Group: "resource.k8s.io", Version: "v1", Kind: "ResourceSlice"},
	"podcertificaterequests":     {Group: "certificates.k8s.io", Version: "v1", Kind: "PodCertificateRequest"},
	"certificatesigningrequests": {Group: "certificates.k8s.io", Version: "v1", Kind: "CertificateSigningRequest"},
}

// write is what the API server asks about a write of a node: the name and the
// namespace are those of the objects, and on create there is no name when the
// object asks for a generated one. A resource is named as in kinds. For an object
// that is not there, pass nil.
func write(node string, op admission.Operation, resource, subresource string, object, old runtime.Object, edits ...func(*attributes)) admission.Attributes {
	kind := kinds[resource]
	plural, _, _ := strings.Cut(resource, ".")
	a := &attributes{
		kind:     kind,
		resource: kind.GroupVersion().WithResource(plural),
		user:     &user.DefaultInfo{Name: "system:node:" + node, Groups: []string{"system:nodes", "system:authenticated"}},
	}
	for _, o := range []runtime.Object{old, object} {
		if accessor, err := meta.Accessor(present(o)); err == nil {
			a.namespace, a.name = accessor.GetNamespace(), accessor.GetName()
			if op == admission.Create && accessor.GetGenerateName() != "" {
				a.name = ""
			}
		}
	}
	for _, edit := range edits {
		edit(a)
	}
	return admission.NewAttributesRecord(object, old, a.kind, a.namespace, a.name, a.resource, subresource, op, nil, a.dryRun, a.user)
}

// named gives a request a name that is not that of its objects.
func named(name string) func(*attributes) { return func(a *attributes) { a.name = name } }

// in gives a request a namespace that is not that of its objects.
func in(namespace string) func(*attributes) { return func(a *attributes) { a.namespace = namespace } }

// dry makes a request one that changes nothing.
func dry(a *attributes) { a.dryRun = true }

// as has somebody else make the request.
func as(who user.Info) func(*attributes) { return func(a *attributes) { a.user = who } }

// row is one write and the answer to it.
type row struct {
	name  string
	write admission.Attributes
	// by is the rule that refuses; empty admits.
	by rules.ID
	// code is that of a refusal, 0 for 403.
	code int32
	// says is the whole message.
	says string
}

var reasons = map[int32]metav1.StatusReason{
	403: metav1.StatusReasonForbidden, 404: metav1.StatusReasonNotFound, 500: metav1.StatusReasonInternalError,
}

func run(t *testing.T, r *Restriction, rows []row) {
	t.Helper()
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			t.Helper()
			row.check(t, r.Review(t.Context(), row.write))
		})
	}
}

func (row row) check(t *testing.T, got rules.Decision) {
	t.Helper()
	if row.by == "" {
		if !got.Allowed() || got.Rule != "" {
			t.Errorf("refused by %s: %v", got.Rule, got.Reason())
		}
		return
	}
	if got.Allowed() {
		t.Fatalf("admitted, want a refusal by %s", row.by)
	}
	code := row.code
	if code == 0 {
		code = 403
	}
	status := got.Status
	if got.Rule != row.by || status.Code != code || status.Reason != reasons[code] {
		t.Errorf("got rule %s, code %d, reason %s; want %s, %d, %s", got.Rule, status.Code, status.Reason, row.by, code, reasons[code])
	}
	if status.Message != row.says {
		t.Errorf("the message is\n  %s\nwant\n  %s", status.Message, row.says)
	}
	if code == 403 {
		checkUpstreamText(t, row.by, status.Message)
	}
}
