// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

// Package approving watches the CSRs for serving certificates of kubelets, and approves those that
// are allowed.
package approving

import (
	"context"
	"fmt"
	"time"

	certificatesv1 "k8s.io/api/certificates/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/scheme"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"
	certificateslisters "k8s.io/client-go/listers/certificates/v1"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/record"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/klog/v2"

	"github.com/bulkhead-k8s/bulkhead/components/internal/clusteraddress"
	"github.com/bulkhead-k8s/bulkhead/components/kubeletapprover"
)

// resync is how often a CSR that was not approved is checked again: the Node may have the address
// by then.
const resync = time.Minute

// left is the reason of the event for a CSR that is not approved.
const left = "LeftToAdministrator"

// Approver approves CSRs one after another. Several approvers may run at the same time, one on each
// control-plane host. A CSR is approved only once.
type Approver struct {
	Client kubernetes.Interface
	// Serving returns the certificate that an API server presents. If it is nil, the certificates
	// presented to Client are used.
	Serving clusteraddress.Certificate

	others *others
	events record.EventRecorder
	// told has the last logged problem for each CSR.
	told map[string]string
}

// Run works until ctx is done. It returns an error if it cannot set up the watches.
func (a *Approver) Run(ctx context.Context) error {
	a.told = map[string]string{}
	nodes, watched, err := watchNodes(a.Client)
	if err != nil {
		return err
	}
	a.others = &others{client: a.Client, nodes: watched.GetIndexer(), serving: a.Serving}
	if a.Serving == nil {
		a.others.serving = clusteraddress.ServedTo(a.Client)
	}
	defer a.tell(ctx)()
	factory := informers.NewSharedInformerFactoryWithOptions(a.Client, resync,
		informers.WithTweakListOptions(func(o *metav1.ListOptions) {
			o.FieldSelector = fields.OneTermEqualSelector("spec.signerName", certificatesv1.KubeletServingSignerName).String()
		}))
	requests := factory.Certificates().V1().CertificateSigningRequests()
	queue := workqueue.NewTypedRateLimitingQueue(workqueue.DefaultTypedControllerRateLimiter[string]())
	add := func(object any) {
		if name, err := cache.DeletionHandlingMetaNamespaceKeyFunc(object); err == nil {
			queue.Add(name)
		}
	}
	if _, err := requests.Informer().AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc: add, UpdateFunc: func(_, now any) { add(now) }, DeleteFunc: add,
	}); err != nil {
		return err
	}
	for _, started := range []informers.SharedInformerFactory{nodes, factory} {
		started.Start(ctx.Done())
		defer started.Shutdown()
	}
	defer context.AfterFunc(ctx, queue.ShutDown)()
	if !cache.WaitForCacheSync(ctx.Done(), watched.HasSynced) {
		return nil // ctx ended before the cache was synced
	}
	for a.next(ctx, queue, requests.Lister()) {
	}
	return nil
}

// tell starts to write events. stop ends that.
func (a *Approver) tell(ctx context.Context) (stop func()) {
	broadcaster := record.NewBroadcaster(record.WithContext(ctx))
	broadcaster.StartRecordingToSink(&typedcorev1.EventSinkImpl{Interface: a.Client.CoreV1().Events("")})
	a.events = broadcaster.NewRecorder(scheme.Scheme, corev1.EventSource{Component: "bulkhead-kubelet-approver"})
	return broadcaster.Shutdown
}

func (a *Approver) next(ctx context.Context, queue workqueue.TypedRateLimitingInterface[string],
	lister certificateslisters.CertificateSigningRequestLister) bool {
	name, stopped := queue.Get()
	if stopped {
		return false
	}
	defer queue.Done(name)
	request, err := lister.Get(name)
	if apierrors.IsNotFound(err) {
		delete(a.told, name)
		queue.Forget(name)
		return true
	}
	if err == nil {
		err = a.consider(ctx, request)
	}
	if err != nil {
		klog.FromContext(ctx).Error(err, "Looking at a certificate signing request; the next try follows", "name", name)
		queue.AddRateLimited(name)
		return true
	}
	queue.Forget(name)
	return true
}

// consider approves a CSR or leaves it to an administrator. It returns an error if it cannot
// decide.
func (a *Approver) consider(ctx context.Context, request *certificatesv1.CertificateSigningRequest) error {
	name, waiting := kubeletapprover.Asking(request)
	if !waiting {
		return nil
	}
	// A live read: the Node may have got its address just before its kubelet created the CSR.
	node, err := a.Client.CoreV1().Nodes().Get(ctx, name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		node, err = nil, nil
	}
	if err != nil {
		return fmt.Errorf("reading node %s: %w", name, err)
	}
	problem, err := kubeletapprover.Problem(ctx, request, name, node, a.others)
	switch {
	case err != nil:
		return err
	case problem != "":
		a.leave(ctx, request, name, problem)
		return nil
	}
	return a.approve(ctx, request, name)
}

// leave reports why a CSR is not approved, once for each problem: in the log, and in an event that
// `kubectl describe csr` shows. It does not deny the CSR. If two Nodes claim the same address, an
// administrator can decide.
func (a *Approver) leave(ctx context.Context, request *certificatesv1.CertificateSigningRequest, node, problem string) {
	if a.told[request.Name] == problem {
		return
	}
	a.told[request.Name] = problem
	klog.FromContext(ctx).Info("Left to an administrator", "request", request.Name, "node", node, "problem", problem)
	a.events.Eventf(request, corev1.EventTypeWarning, left, "Not approved for node %s: %s", node, problem)
}

func (a *Approver) approve(ctx context.Context, request *certificatesv1.CertificateSigningRequest, node string) error {
	decided := request.DeepCopy()
	decided.Status.Conditions = append(decided.Status.Conditions, certificatesv1.CertificateSigningRequestCondition{
		Type: certificatesv1.CertificateApproved, Status: corev1.ConditionTrue, Reason: "BulkheadApproved",
		Message: "The node asks for a serving certificate with its own names and addresses. [KA-CSR-1]",
	})
	_, err := a.Client.CertificatesV1().CertificateSigningRequests().UpdateApproval(ctx, request.Name, decided,
		metav1.UpdateOptions{})
	if apierrors.IsConflict(err) || apierrors.IsNotFound(err) {
		// Another client has changed or deleted the CSR. The watch will show the change.
		return nil
	}
	if err == nil {
		klog.FromContext(ctx).Info("Approved", "request", request.Name, "node", node)
	}
	return err
}
