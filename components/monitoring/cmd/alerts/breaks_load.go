// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
)

// webhooks are the addresses of the webhooks on the control-plane node, by job.
var webhooks = map[string]string{
	jobAuthorizer:  "https://127.0.0.1:10461/authorize",
	jobRestriction: "https://127.0.0.1:10463/review",
}

// callWebhook returns a script that sends the file $f to a webhook, with the certificate of kube-apiserver.
func callWebhook(job string) string {
	const client = bulkheadDir + "/apiserver/node-authorizer-client"
	return fmt.Sprintf("curl -sk -o /dev/null --max-time 10 --cert %[1]s.crt --key %[1]s.key -H 'Content-Type: "+
		"application/json' --data-binary @$f %[2]s\n", client, webhooks[job])
}

func unreadableReviews(c *cluster) *breakage {
	return &breakage{
		causes: both("BulkheadUnreadableReviews", jobAuthorizer, jobRestriction),
		broken: "A program sends `{}` to both webhooks, with the client certificate of kube-apiserver.",
		again: c.script("f=$(mktemp); echo '{}' >$f; " + callWebhook(jobAuthorizer) + callWebhook(jobRestriction) +
			"rm $f"),
		repaired: "The program stops.",
	}
}

// largeReview writes a review to $f that is larger than one of a node can be.
const largeReview = `{ printf '{"apiVersion":"authorization.k8s.io/v1","kind":"SubjectAccessReview",` +
	`"spec":{"user":"system:node:x","extra":{"a":["'; head -c 5000000 /dev/zero | tr '\0' a; printf '"]}}}'; } >$f; `

func requestsLimited(c *cluster) *breakage {
	return &breakage{
		causes: []cause{{"BulkheadRequestsLimited", map[string]string{"job": jobAuthorizer}}},
		broken: "A program sends reviews of 5 MB to node-authorizer, with the client certificate of kube-apiserver.",
		again:  c.script("f=$(mktemp); " + largeReview + callWebhook(jobAuthorizer) + "rm $f"),

		repaired: "The program stops.",
	}
}

// requestedSecrets is a script in which the worker's credential requests secrets. The names are a
// pattern of curl.
func (c *cluster) requestedSecrets(names string) string {
	const clientFile = "/var/lib/kubelet/pki/kubelet-client-current.pem"
	return fmt.Sprintf("curl -sk -o /dev/null --max-time 20 --cert %[1]s --key %[1]s "+
		"'https://%[2]s:6443/api/v1/namespaces/kube-system/secrets/%[3]s' || true", clientFile, c.serverAddress, names)
}

// deniedRequests is a script in which the worker's credential requests secrets that no pod of it
// uses. node-authorizer reads each of them live before it denies.
func (c *cluster) deniedRequests(number int) string {
	return c.requestedSecrets(fmt.Sprintf("bulkhead-alerts-[1-%d]", number))
}

func denialsRise(c *cluster) *breakage {
	return &breakage{
		causes: []cause{{"BulkheadDenialsRise", map[string]string{"job": jobAuthorizer, "rule": "NA-SECRET-1"}}},
		broken: "The credential of the worker's kubelet requests secrets that no pod of its node uses, " +
			"several each second.",
		repaired: "The requests stop.",
		again:    func(ctx context.Context) error { return c.onWorker(ctx, c.deniedRequests(6)) },
	}
}

// etcdPauses is a script that stops etcd for more than half of some seconds.
const etcdPauses = `for i in 1 2 3 4 5; do
kill -STOP $(pgrep -x etcd); sleep 0.6; kill -CONT $(pgrep -x etcd); sleep 0.4
done`

func decisionsSlow(c *cluster) *breakage {
	return &breakage{
		causes: []cause{{"BulkheadDecisionsSlow", map[string]string{"job": jobAuthorizer}}},
		also:   []string{"BulkheadDenialsRise", "BulkheadLookupsFail"},
		broken: "etcd is stopped with SIGSTOP for 0.6 s of each second. The credential of the worker's kubelet requests " +
			"secrets that no pod of its node uses, which node-authorizer reads live before it denies.",
		repaired: "etcd continues with SIGCONT, and the requests stop.",
		again: func(ctx context.Context) error {
			done := make(chan error, 1)
			go func() { done <- c.onControlPlane(ctx, etcdPauses) }()
			denied := c.onWorker(ctx, c.deniedRequests(20))
			if err := <-done; err != nil {
				return err
			}
			return denied
		},
		repair: c.script("kill -CONT $(pgrep -x etcd) || true"),
	}
}
