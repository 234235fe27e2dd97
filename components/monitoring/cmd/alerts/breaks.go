// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
)

// Paths on the nodes.
const (
	bulkheadDir    = "/etc/kubernetes/bulkhead"
	manifestsDir   = "/etc/kubernetes/manifests"
	authorizerPod  = manifestsDir + "/bulkhead-node-authorizer.yaml"
	restrictionPod = manifestsDir + "/bulkhead-node-restriction.yaml"
	// The kernel shortens the names of processes to 15 characters.
	authorizerPID  = "$(pgrep -x node-authorizer)"
	restrictionPID = "$(pgrep -x node-restrictio)"
	// authorizerPort and restrictionPort are the health ports.
	authorizerPort, restrictionPort = 10462, 10464
)

// allPhases are all breaks. Those of the first phases affect other components too. In the last phase,
// the tracks are about different components.
func allPhases(c *cluster) phases {
	return phases{
		{{authorizerDead(c), panics(c)}, {restrictionDead(c)}},
		{{lookupsFail(c), decisionsSlow(c), metricsAbsent(c)}},
		{
			{viewStale(c), scopesBeyondShare(c), scopeUnread(c), scopeViewStale(c)},
			{
				kubeletNotGuarded(c), crlExpires(c), crlFailed(c), streamsShared(c), auditLogBlocked(c), kubeletStopped(c),
				// It changes the same ConfigMap as kubeletStopped.
				revocationListFailed(c),
			},
			{
				scopeSyncStopped(c), approverEnds(c), configurationInvalid(c), certificateExpires(c), historyNotWritten(c),
			},
			{registrationInvalid(c), unreadableReviews(c), requestsLimited(c), denialsRise(c)},
		},
	}
}

// one returns a cause without labels.
func one(alert string) []cause { return []cause{{alert: alert}} }

// both returns a cause for each of two jobs.
func both(alert, job, other string) []cause {
	return []cause{{alert, map[string]string{"job": job}}, {alert, map[string]string{"job": other}}}
}

// script returns a step that runs a script on the control-plane node.
func (c *cluster) script(text string) step {
	return func(ctx context.Context) error { return c.onControlPlane(ctx, text) }
}

// steps returns a step that runs others one after the other, until one fails.
func steps(all ...step) step {
	return func(ctx context.Context) error {
		for _, s := range all {
			if err := s(ctx); err != nil {
				return err
			}
		}
		return nil
	}
}

// every returns a step that runs others one after the other, also after one fails.
func every(all ...step) step {
	return func(ctx context.Context) error {
		var failed []error
		for _, s := range all {
			failed = append(failed, s(ctx))
		}
		return errors.Join(failed...)
	}
}

// ready returns a step that waits until a component on the control-plane node is ready.
func (c *cluster) ready(port int) step {
	return func(ctx context.Context) error { return c.awaitReady(ctx, port) }
}

func authorizerDead(c *cluster) *breakage {
	return &breakage{
		causes: []cause{
			{"BulkheadComponentDown", map[string]string{"job": jobAuthorizer}}, {alert: "BulkheadNodeAuthorizerFailOpen"},
		},
		also:     []string{"BulkheadScopeSyncNotReady"},
		broken:   "The manifest of node-authorizer is removed and the process is killed.",
		repaired: "The manifest is restored.",
		begin:    c.script(removed(authorizerPod) + "kill -9 " + authorizerPID),
		repair:   c.script(restored(authorizerPod)),
		ready:    c.ready(authorizerPort),
	}
}

// restrictionRegistration is the registration of node-restriction with kube-apiserver.
const restrictionRegistration = bulkheadDir + "/apiserver/static/node-restriction.yaml"

func restrictionDead(c *cluster) *breakage {
	return &breakage{
		causes: []cause{
			{"BulkheadComponentDown", map[string]string{"job": jobRestriction}}, {alert: "BulkheadNodeRestrictionFailOpen"},
		},
		broken: "The registration gets the failure policy Ignore. Then the manifest of node-restriction is removed and " +
			"the process is killed. The kubelet requests a token.",
		repaired: "The manifest and the registration are restored.",
		begin: c.script(saved(restrictionRegistration) +
			replaced(restrictionRegistration, "sed -i 's/failurePolicy: .*/failurePolicy: Ignore/' $f") +
			removed(restrictionPod) + "kill -9 " + restrictionPID),
		again:  c.requestToken,
		repair: c.script(restored(restrictionPod) + restored(restrictionRegistration)),
		ready:  c.ready(restrictionPort),
	}
}

func registrationInvalid(c *cluster) *breakage {
	return &breakage{
		causes:   one("BulkheadRegistrationNotReloaded"),
		broken:   "The registration of node-restriction is cut to half of its bytes.",
		repaired: "The file is restored.",
		begin: c.script(saved(restrictionRegistration) +
			replaced(restrictionRegistration, "truncate -s $(($(stat -c %s $f) / 2)) $f; printf '\\n: {' >>$f")),
		repair: c.script(restored(restrictionRegistration)),
	}
}

// requestToken requests a token for the pod of Prometheus, with the credential of the worker's
// kubelet. The request may fail.
func (c *cluster) requestToken(ctx context.Context) error {
	uid, err := podUID(ctx, c)
	if err != nil {
		return err
	}
	return c.onWorker(ctx, fmt.Sprintf("kubectl --kubeconfig=/etc/kubernetes/kubelet.conf --request-timeout=10s create "+
		"token %s -n %s --bound-object-kind=Pod --bound-object-name=%s --bound-object-uid=%s >/dev/null || true",
		promAccount, promNamespace, promPod, uid))
}

// scopeSyncPID finds the process of scope-sync, not that of its probes.
const scopeSyncPID = "$(pgrep -f '^/scope-sync --kubeconfig')"

func scopeSyncStopped(c *cluster) *breakage {
	return &breakage{
		causes:   one("BulkheadScopeSyncNotReady"),
		broken:   "The process of scope-sync is stopped with SIGSTOP.",
		repaired: "The process continues with SIGCONT.",
		begin:    c.script("kill -STOP " + scopeSyncPID),
		repair:   c.script("kill -CONT " + scopeSyncPID + " || true"),
	}
}

const (
	// approverPod begins the name of the pod. The name of the Node follows.
	approverPod        = "bulkhead-kubelet-approver-"
	approverKubeconfig = bulkheadDir + "/kubelet-approver/kubeconfig"
	// approverPID finds the process by the first 15 characters of its name.
	approverPID = "$(pgrep -x kubelet-csr-app)"
)

// approverEnds lets the process end. The pod has no readiness probe, so one that is stopped with
// SIGSTOP stays ready.
func approverEnds(c *cluster) *breakage {
	return &breakage{
		causes: []cause{{"BulkheadPodNotReady", map[string]string{"pod": approverPod + c.controlPlane}}},
		broken: "The kubeconfig of kubelet-csr-approver is removed and the process is killed. It ends again after " +
			"each start.",
		repaired: "The file is restored.",
		begin:    c.script(removed(approverKubeconfig) + "kill -9 " + approverPID),
		repair:   c.script(restored(approverKubeconfig)),
	}
}

// metricsAbsent is about Prometheus itself.
func metricsAbsent(c *cluster) *breakage {
	const file = promFolder + "/scrape/scrape.yaml"
	const away = promFolder + "/scrape.yaml"
	return &breakage{
		causes:   one("BulkheadMetricsAbsent"),
		broken:   "scrape.yaml is removed from the configuration of Prometheus.",
		repaired: "The file is restored.",
		begin: func(ctx context.Context) error {
			if err := c.onWorker(ctx, "mv "+file+" "+away); err != nil {
				return err
			}
			return reload(ctx, c)
		},
		repair: func(ctx context.Context) error {
			out, err := c.sh(ctx, c.worker, "test ! -e "+away+" || { mv "+away+" "+file+" && echo restored; }")
			if err != nil || out == "" {
				return err
			}
			return reload(ctx, c)
		},
	}
}
